package egress

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/bellglass/bellglass/policy"
)

// upgradeTo is a WebSocket handshake.
func upgradeTo(host string) string {
	return "GET /chat HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

// TestWebSocketOverTLSIsATunnel: WS-001. It is the same CONNECT as https, and
// allowed or refused by its host alone.
func TestWebSocketOverTLSIsATunnel(t *testing.T) {
	w := newWorld(t, Options{})
	w.tls(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, switching)
		io.Copy(c, rw)
	})
	_, e := w.run(allowed(), RunConfig{})
	nc, _ := tunnel(t, e, "allowed.test:443")
	c := tls.Client(nc, &tls.Config{ServerName: "allowed.test", InsecureSkipVerify: true})
	io.WriteString(c, upgradeTo("allowed.test"))
	br := bufio.NewReader(c)
	if resp, err := http.ReadResponse(br, nil); err != nil || resp.StatusCode != 101 {
		t.Fatalf("got %v, %v", resp, err)
	}
	io.WriteString(c, "echo")
	got := make([]byte, 4)
	if _, err := io.ReadFull(br, got); err != nil || string(got) != "echo" {
		t.Errorf("got %q, %v", got, err)
	}
	refused(t, e, connectTo("evil.test:443"), 403, policy.ReasonHost)
}

// TestWebSocketWithoutTLSIsOff: WS-003, WS-005.
func TestWebSocketWithoutTLSIsOff(t *testing.T) {
	w := newWorld(t, Options{})
	hits := w.count()
	_, e := w.run(allowed(), RunConfig{})
	refused(t, e, connectTo("allowed.test:80"), 403, policy.ReasonPort)
	refused(t, e, connectTo("127.0.0.1:9222"), 403, policy.ReasonAddress)
	refused(t, e, connectTo("[::1]:9222"), 403, policy.ReasonAddress)
	refused(t, e, connectTo("localhost:9222"), 403, policy.ReasonHost)
	if n := hits(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestPlainTunnelCarriesWebSocketsOnly: WS-004. Port 80 is listed; what is no
// handshake with the tunnel's host does not reach the server.
func TestPlainTunnelCarriesWebSocketsOnly(t *testing.T) {
	w := newWorld(t, Options{})
	seen := make(chan string, 1)
	w.tcp(80, func(c net.Conn) {
		b, _ := io.ReadAll(c)
		seen <- string(b)
	})
	config := allowed()
	config.Allow = []string{"allowed.test:80"}
	run, e := w.run(config, RunConfig{})
	good := upgradeTo("allowed.test")
	for name, first := range map[string]string{
		"WS-004":              upgradeTo("evil.test"),
		"other port":          upgradeTo("allowed.test:8080"),
		"plain request":       "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"absolute form":       strings.Replace(good, "GET /chat", "GET http://evil.test/", 1),
		"POST":                strings.Replace(good, "GET", "POST", 1),
		"h2c":                 strings.Replace(good, "Upgrade: websocket", "Upgrade: h2c", 1),
		"no Upgrade":          strings.Replace(good, "Connection: keep-alive, Upgrade", "Connection: keep-alive", 1),
		"no key":              strings.Replace(good, "Sec-WebSocket-Key", "X-Key", 1),
		"version 8":           strings.Replace(good, "Version: 13", "Version: 8", 1),
		"body":                strings.Replace(good, "\r\n\r\n", "\r\nContent-Length: 5\r\n\r\n", 1),
		"two Hosts":           strings.Replace(good, "\r\n\r\n", "\r\nHost: evil.test\r\n\r\n", 1),
		"bare line feed":      strings.Replace(good, "\r\n", "\n", 1),
		"ssh":                 "SSH-2.0-x\r\n",
		"TLS of another host": string(clientHello("evil.test")),
	} {
		c, _ := tunnel(t, e, "allowed.test:80")
		io.WriteString(c, first)
		io.Copy(io.Discard, c)
		if got := <-seen; got != "" {
			t.Errorf("%s: the server saw %q", name, got)
		}
		e.Assign(run)
		if o, _ := run.Outcome("allowed.test", 80); o.Reason != ReasonServerName {
			t.Errorf("%s: outcome %+v", name, o)
		}
	}
}

// TestRefusedHandshakeEndsTheTunnel: a server that does not switch leaves a
// plain HTTP connection, in which the client could now name any host.
func TestRefusedHandshakeEndsTheTunnel(t *testing.T) {
	w := newWorld(t, Options{})
	seen := make(chan string, 1)
	w.tcp(80, func(c net.Conn) {
		br := bufio.NewReader(c)
		http.ReadRequest(br)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(br)
		seen <- string(b)
	})
	config := allowed()
	config.Allow = []string{"allowed.test:80"}
	_, e := w.run(config, RunConfig{})
	c, br := tunnel(t, e, "allowed.test:80")
	io.WriteString(c, upgradeTo("allowed.test")+"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
	if resp, body := readAnswer(t, br); resp.StatusCode != 200 || body != "hello" {
		t.Errorf("got %s %q", resp.Status, body)
	}
	if got := <-seen; got != "" {
		t.Errorf("the server saw %q behind the handshake", got)
	}
	if _, err := br.ReadByte(); err == nil {
		t.Error("the tunnel goes on")
	}
}
