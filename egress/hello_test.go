package egress

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/bellglass/bellglass/policy"
)

// extension is one extension of a ClientHello.
type extension struct {
	kind uint16
	body []byte
}

func u16(b []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) }

// serverName returns a server_name extension.
func serverName(names ...string) extension {
	var list []byte
	for _, n := range names {
		list = append(append(list, nameTypeHost), u16([]byte(n))...)
	}
	return extension{extServerName, u16(list)}
}

// handshake returns a ClientHello message with the given extensions.
func handshake(extensions ...extension) []byte {
	b := append([]byte{3, 3}, make([]byte, 32)...) // version, random
	b = append(b, 0)                               // session id
	b = append(b, 0, 2, 0x13, 0x01)                // cipher suites
	b = append(b, 1, 0)                            // compression
	var all []byte
	for _, e := range extensions {
		all = append(binary.BigEndian.AppendUint16(all, e.kind), u16(e.body)...)
	}
	b = append(b, u16(all)...)
	return append([]byte{typeClientHello, 0, byte(len(b) >> 8), byte(len(b))}, b...)
}

// records wraps a message into records of at most size bytes.
func records(msg []byte, size int) []byte {
	var b []byte
	for len(msg) > 0 {
		n := min(size, len(msg))
		b = append(append(b, recordHandshake, 3, 1), u16(msg[:n])...)
		msg = msg[n:]
	}
	return b
}

// clientHello returns a small ClientHello for a name.
func clientHello(name string) []byte { return records(handshake(serverName(name)), maxRecordSize) }

func TestServerNameIsFound(t *testing.T) {
	grease := extension{0xfe0d, bytes.Repeat([]byte{1}, 200)} // what Chromium sends for ECH
	for _, tt := range []struct {
		id   string
		b    []byte
		want string
	}{
		{"plain", clientHello("allowed.test"), "allowed.test"},
		{"case", clientHello("Allowed.TEST"), "Allowed.TEST"},
		{"TLS-002", records(handshake(), maxRecordSize), ""},
		{"TLS-003 records of one byte", records(handshake(serverName("allowed.test")), 1), "allowed.test"},
		{"TLS-003 records of seven", records(handshake(grease, serverName("allowed.test"), grease), 7), "allowed.test"},
		{"TLS-004 outer name", records(handshake(grease, serverName("other.test")), maxRecordSize), "other.test"},
		{"more after it", append(clientHello("allowed.test"), "early data"...), "allowed.test"},
	} {
		name, err := new(hello).scan(tt.b)
		if err != nil || name != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.id, name, err, tt.want)
		}
	}
}

func TestGoAndChromiumHellosAreUnderstood(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		tls.Client(client, &tls.Config{ServerName: "allowed.test"}).Handshake()
		client.Close()
	}()
	var scan hello
	var b []byte
	for {
		buf := make([]byte, 100)
		n, err := server.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, buf[:n]...)
		name, err := scan.scan(b)
		if errors.Is(err, errMoreHello) {
			continue
		}
		if err != nil || name != "allowed.test" {
			t.Errorf("got %q, %v", name, err)
		}
		return
	}
}

// TestNotAHello: PRX-039 and malformed TLS. Each must be recognised from the
// bytes there are, without waiting for more.
func TestNotAHello(t *testing.T) {
	valid := clientHello("allowed.test")
	change := func(at int, to byte) []byte {
		b := bytes.Clone(valid)
		b[at] = to
		return b
	}
	for id, b := range map[string][]byte{
		"http":                     []byte("GET / HTTP/1.1\r\n"),
		"ssh":                      []byte("SSH-2.0-OpenSSH_9.9\r\n"),
		"smtp":                     []byte("EHLO x\r\n"),
		"sslv2":                    {0x80, 0x2e, 1, 3, 1},
		"alert record":             change(0, 21),
		"application data record":  change(0, 23),
		"version 2":                change(1, 2),
		"server hello":             change(5, 2),
		"empty record":             {recordHandshake, 3, 1, 0, 0},
		"record too long":          {recordHandshake, 3, 1, 0x40, 0x01},
		"message too long":         {recordHandshake, 3, 1, 0, 4, typeClientHello, 1, 0, 0},
		"another message behind":   records(append(handshake(serverName("a.test")), handshake()...), maxRecordSize),
		"other record in between":  append(records(handshake(serverName("a.test"))[:9], maxRecordSize), 23, 3, 3),
		"server name twice":        records(handshake(serverName("a.test"), serverName("b.test")), maxRecordSize),
		"two names":                records(handshake(serverName("a.test", "b.test")), maxRecordSize),
		"no name in the extension": records(handshake(serverName()), maxRecordSize),
		"empty name":               records(handshake(serverName("")), maxRecordSize),
		"name cut short":           records(handshake(extension{extServerName, []byte{0, 9, 0, 0, 20, 'a'}}), maxRecordSize),
		"odd cipher suites":        change(5+4+2+32+1+1, 3),
		"extensions too long":      change(5+4+2+32+1+4+2, 0xff),
	} {
		if name, err := new(hello).scan(b); !errors.Is(err, errNotHello) {
			t.Errorf("%s: got %q, %v", id, name, err)
		}
	}
	for n := range valid {
		if name, err := new(hello).scan(valid[:n]); !errors.Is(err, errMoreHello) {
			t.Errorf("first %d bytes: got %q, %v", n, name, err)
		}
	}
}

func TestCheckServerName(t *testing.T) {
	literal, err := policy.ParseHost("93.184.216.34")
	if err != nil {
		t.Fatal(err)
	}
	named := policy.Host{Name: "allowed.test"}
	for _, tt := range []struct {
		id   string
		host policy.Host
		name string
		ok   bool
	}{
		{"", named, "allowed.test", true},
		{"", named, "ALLOWED.test", true},
		{"TLS-002", named, "", false},
		{"TLS-002 literal", literal, "", true},
		{"TLS-004", named, "outer.test", false},
		{"", named, "allowed.test.", false},
		{"", named, "www.allowed.test", false},
		{"", named, "allowed.test\x00.evil.test", false},
		{"", literal, "allowed.test", false},
		{"", literal, "93.184.216.34", false},
	} {
		if got := checkServerName(tt.host, tt.name) == nil; got != tt.ok {
			t.Errorf("%s host %s, server name %q: got %v, want %v", tt.id, tt.host, tt.name, got, tt.ok)
		}
	}
}

// TestTunnelsCarryNothingElse sends what is no ClientHello for the host
// through real tunnels. The server must see nothing of it.
func TestTunnelsCarryNothingElse(t *testing.T) {
	w := newWorld(t, Options{})
	seen := make(chan string, 10)
	w.tcp(443, func(c net.Conn) {
		b, _ := io.ReadAll(c)
		seen <- string(b)
	})
	c := allowed()
	c.Allow = append(c.Allow, addrAllowed.String())
	run, e := w.run(c, RunConfig{})
	for _, tt := range []struct {
		id, authority, first string
		ok                   bool
	}{
		{"PRX-039 http", "allowed.test:443", "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n", false},
		{"PRX-039 ssh", "allowed.test:443", "SSH-2.0-x\r\n", false},
		{"PRX-039 smtp", "allowed.test:443", "EHLO x\r\n", false},
		{"TLS-002", "allowed.test:443", string(records(handshake(), 100)), false},
		{"TLS-004", "allowed.test:443", string(clientHello("evil.test")), false},
		{"TLS-003 cut", "allowed.test:443", string(records(handshake(serverName("evil.test")), 3)), false},
		{"TLS-003", "allowed.test:443", string(records(handshake(serverName("allowed.test")), 3)), true},
		{"larger than 16 KiB", "allowed.test:443", string(records(handshake(extension{1, make([]byte, maxHelloSize)}), maxRecordSize)), false},
		{"listed literal", addrAllowed.String() + ":443", string(records(handshake(), 100)), true},
		{"listed literal with a name", addrAllowed.String() + ":443", string(clientHello("allowed.test")), false},
	} {
		nc, _ := tunnel(t, e, tt.authority)
		for _, b := range []byte(tt.first) { // a segment for every byte
			if _, err := nc.Write([]byte{b}); err != nil {
				break // cut already
			}
		}
		nc.(*net.TCPConn).CloseWrite()
		want := tt.first
		if !tt.ok {
			want = ""
		}
		if got := <-seen; got != want {
			t.Errorf("%s: the server saw %.40q", tt.id, got)
		}
		io.Copy(io.Discard, nc)
		host, _, _ := strings.Cut(tt.authority, ":")
		e.Assign(run) // waits until the tunnel is done
		if o, _ := run.Outcome(host, 443); (o.Reason == "") != tt.ok {
			t.Errorf("%s: outcome %+v", tt.id, o)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add(clientHello("allowed.test"), uint8(7))
	f.Add(records(handshake(serverName("a.test"), extension{0xfe0d, make([]byte, 50)}), 9), uint8(1))
	f.Add(records(handshake(), 1), uint8(3))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint8(2))
	f.Add([]byte{recordHandshake, 3, 1, 0, 4, typeClientHello, 0, 0, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		name, err := new(hello).scan(b)
		if err != nil && !errors.Is(err, errNotHello) && !errors.Is(err, errMoreHello) {
			t.Fatalf("error %v", err)
		}
		// The verdict must not depend on how the bytes arrive.
		var piecewise hello
		for n := 0; ; n = min(len(b), n+1+int(step)) {
			pname, perr := piecewise.scan(b[:n])
			if errors.Is(perr, errMoreHello) && n < len(b) {
				continue
			}
			if pname != name || !errors.Is(perr, err) {
				t.Fatalf("in pieces: %q, %v; at once: %q, %v", pname, perr, name, err)
			}
			break
		}
		if err == nil && !strings.Contains(string(piecewise.msg), name) {
			t.Errorf("name %q is not in the message", name)
		}
		if len(piecewise.msg) > maxHelloSize {
			t.Errorf("message of %d bytes", len(piecewise.msg))
		}
	})
}
