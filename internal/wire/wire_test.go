package wire

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// binding is the header of a STUN binding request with the transaction of RFC
// 5769 §2.
const binding = "000100002112a442b7e7a701bc34d686fa87dfae"

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hello is the ClientHello that Go's client sends.
func hello(t *testing.T, name string) []byte {
	t.Helper()
	var sent bytes.Buffer
	c := &writing{&reading{r: strings.NewReader("")}, &sent}
	tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	return sent.Bytes()
}

type writing struct {
	*reading
	w *bytes.Buffer
}

func (c *writing) Write(b []byte) (int, error) { return c.w.Write(b) }

func query(t *testing.T, name string, typ dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: typ, Class: dnsmessage.ClassINET}},
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDescribe(t *testing.T) {
	announcement, err := (&dnsmessage.Message{
		Header: dnsmessage.Header{Response: true, Authoritative: true},
		Answers: []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName("x.local."), Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: [4]byte{10, 0, 0, 1}},
		}},
	}).Pack()
	if err != nil {
		t.Fatal(err)
	}
	initial := make([]byte, 1200)
	copy(initial, "\xc3\x00\x00\x00\x01\x08")
	turn := fromHex(t, binding)
	turn[1] = 3
	failure := fromHex(t, binding)
	failure[0], failure[1] = 0x01, 0x11
	for _, tc := range []struct {
		name string
		in   []byte
		want string
	}{
		{"nothing", nil, "nothing"},
		{"http", []byte("GET /a?b=1 HTTP/1.1\r\nHost: shop.test\r\n\r\n"), "HTTP GET shop.test/a?b=1"},
		{"http, cut", []byte("POST /a HTTP/1.1\r\nHos"), "HTTP POST /a"},
		{"connect", []byte("CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\n\r\n"), "HTTP CONNECT shop.test:443"},
		{"h2 preface", []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP PRI *"},
		{"tls", hello(t, "shop.test"), "TLS ClientHello for shop.test"},
		{"tls, no name", hello(t, ""), "TLS ClientHello"},
		{"tls, cut", hello(t, "shop.test")[:40], "TLS ClientHello"},
		{"stun", fromHex(t, binding), "STUN binding request"},
		{"stun error", failure, "STUN binding error"},
		{"turn", turn, "TURN allocate request"},
		{"dns", query(t, "secret.evil.test.", dnsmessage.TypeAAAA), "DNS query for secret.evil.test. AAAA"},
		{"dns https", query(t, "evil.test.", 65), "DNS query for evil.test. HTTPS"},
		{"mdns", announcement, "DNS announcement of x.local. A"},
		{"quic", initial, "QUIC initial"},
		{"unknown", []byte("\x01\x02"), "2 bytes: 0102"},
		{"unknown, long", []byte("SSH-2.0-OpenSSH_9.9"), "19 bytes: 5353482d322e302d4f70656e5353485f…"},
	} {
		if got := Describe(tc.in); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestAnswerSTUN(t *testing.T) {
	// The addresses are those of RFC 5769 §2.2 and §2.3, whose
	// XOR-MAPPED-ADDRESS values stand in the wanted bytes.
	for from, want := range map[string]string{
		"192.0.2.1:32853": "0020000800" + "01a147e112a643",
		"[2001:db8:1234:5678:11:2233:4455:6677]:32853": "0020001400" + "02a1470113a9faa5d3f179bc25f4b5bed2b9d9",
	} {
		got := AnswerSTUN(fromHex(t, binding), netip.MustParseAddrPort(from))
		if !strings.HasSuffix(hex.EncodeToString(got), want) || Describe(got) != "STUN binding success" {
			t.Errorf("answer to %s: %x, want an attribute %s", from, got, want)
		}
		if int(got[3]) != len(got)-20 {
			t.Errorf("answer to %s: length %d of %d bytes", from, got[3], len(got))
		}
	}
	if got := AnswerSTUN([]byte("hello"), netip.AddrPort{}); got != nil {
		t.Errorf("an answer to what was no request: %x", got)
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01\x00\x05\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if Describe(b) == "" {
			t.Error("no description")
		}
		AnswerSTUN(b, netip.MustParseAddrPort("192.0.2.1:1"))
	})
}
