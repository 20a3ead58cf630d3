package egress

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/policy"
)

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestTunnel(t *testing.T) {
	w := newWorld(t, Options{})
	s := w.tls(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.Host) })
	run, e := w.run(allowed(), RunConfig{Tenant: "a", ID: "1"})
	_, body := get(t, client(t, e, s), "https://allowed.test/")
	if want := "hello allowed.test"; body != want {
		t.Errorf("got %q, want %q", body, want)
	}
	if o, ok := run.Outcome("allowed.test", 443); !ok || o.Reason != "" || o.Class != policy.ClassPublic {
		t.Errorf("outcome %+v, %v; want connected", o, ok)
	}
	e.Release()
	if run.Received() == 0 || run.Sent() == 0 || run.Requests() != 1 {
		t.Errorf("received %d, sent %d, requests %d", run.Received(), run.Sent(), run.Requests())
	}
}

func TestPlainHTTP(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.RequestURI, body)
	})
	_, e := w.run(allowed(), RunConfig{})
	c := client(t, e, nil)
	for range 3 { // the second and third by way of a kept connection
		if _, body := get(t, c, "http://allowed.test//a%7Cb?q=1"); body != "GET allowed.test //a%7Cb?q=1 " {
			t.Errorf("got %q", body)
		}
	}
	if got := len(w.dials()); got != 1 {
		t.Errorf("%d dials for three requests, want 1", got)
	}
	resp, err := c.Post("http://allowed.test/form", "text/plain", io.MultiReader(strings.NewReader("chunk"), strings.NewReader("ed")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "POST allowed.test /form chunked" {
		t.Errorf("got %q", body)
	}
	if got := len(w.dials()); got != 2 {
		t.Errorf("%d dials after a POST, want 2: it must not be sent twice, so it gets a new connection", got)
	}
}

func TestRefusalsComeBeforeDNSAndAreCounted(t *testing.T) {
	w := newWorld(t, Options{})
	run, e := w.run(allowed(), RunConfig{Tenant: "a", ID: "1"})
	refused(t, e, "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 403, policy.ReasonHost)
	refused(t, e, "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 403, policy.ReasonHost)
	refused(t, e, "CONNECT allowed.test:22 HTTP/1.1\r\nHost: allowed.test:22\r\n\r\n", 403, policy.ReasonPort)
	refused(t, e, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403, policy.ReasonAddress)
	if got := w.lookups(); len(got) != 0 {
		t.Errorf("looked up %v before the name rules", got)
	}
	want := []Refused{
		{Host: "evil.test", Port: 443, Reason: policy.ReasonHost, Count: 2},
		{Host: "127.0.0.1", Port: 80, Reason: policy.ReasonAddress, Count: 1},
		{Host: "allowed.test", Port: 22, Reason: policy.ReasonPort, Count: 1},
	}
	if diff := cmp.Diff(want, run.Refusals()); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if o, _ := run.Outcome("evil.test", 443); o.Reason != policy.ReasonHost {
		t.Errorf("outcome %+v", o)
	}
}

func TestFailuresOfTheNetworkHaveTheirOwnReasons(t *testing.T) {
	w := newWorld(t, Options{})
	c := allowed()
	c.Allow = append(c.Allow, "missing.test")
	run, e := w.run(c, RunConfig{})
	refused(t, e, "GET http://missing.test/ HTTP/1.1\r\nHost: missing.test\r\n\r\n", 502, ReasonDNS)
	refused(t, e, "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n", 502, ReasonConnection)
	if o, _ := run.Outcome("missing.test", 80); o.Reason != ReasonDNS {
		t.Errorf("outcome %+v", o)
	}
	if o, _ := run.Outcome("ALLOWED.test.", 443); o.Reason != ReasonConnection {
		t.Errorf("outcome %+v", o)
	}
	if got := run.Refusals(); len(got) != 0 {
		t.Errorf("failures counted as refusals: %+v", got)
	}
}

// TestEndpointWithoutRunDeniesAll: TEN-003. Such an endpoint is the proxy of
// the browser process itself, so that whatever forgets its context's fails.
func TestEndpointWithoutRunDeniesAll(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(http.ResponseWriter, *http.Request) {})
	e, err := w.proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	const request = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
	refused(t, e, request, 403, policy.ReasonHost)
	run := NewRun(RunConfig{Rules: mustRules(t, allowed())})
	e.Assign(run)
	if resp, _ := ask(t, e, request); resp.StatusCode != 200 {
		t.Errorf("assigned: got %s", resp.Status)
	}
	e.Release()
	refused(t, e, request, 403, policy.ReasonHost)
	if got := run.Requests(); got != 1 {
		t.Errorf("run counts %d requests, want 1", got)
	}
}

func mustRules(t *testing.T, c policy.Config) *policy.Rules {
	t.Helper()
	r, err := policy.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestServerNameMustBeTheHost(t *testing.T) {
	w := newWorld(t, Options{})
	w.tls(func(w http.ResponseWriter, r *http.Request) {})
	run, e := w.run(allowed(), RunConfig{})
	for _, name := range []string{"evil.test", "other.allowed.test", ""} {
		c, _ := tunnel(t, e, "allowed.test:443")
		err := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
		if err == nil {
			t.Errorf("server name %q: handshake went through", name)
		}
		e.Assign(run) // the old connections are done when this returns
		if o, _ := run.Outcome("allowed.test", 443); o.Reason != ReasonServerName {
			t.Errorf("server name %q: outcome %+v, want %s", name, o, ReasonServerName)
		}
	}
}

func TestUnsafeAllowIsExactlyThatAddressAndPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "local") })}
	go s.Serve(ln)
	defer s.Close()
	p := NewProxy(new(Gate), Options{}) // the real dialer
	defer p.Close()
	e, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	e.Assign(NewRun(RunConfig{Rules: mustRules(t, policy.Config{Mode: policy.ModePublic, UnsafeAllow: []string{at}})}))
	if resp, body := ask(t, e, "GET http://"+at+"/ HTTP/1.1\r\nHost: "+at+"\r\n\r\n"); body != "local" {
		t.Errorf("got %s %q", resp.Status, body)
	}
	refused(t, e, "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 403, policy.ReasonAddress)
}

func TestWebSocketThroughTunnel(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(80, func(c net.Conn) {
		br := bufio.NewReader(c)
		if _, err := http.ReadRequest(br); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nready")
		io.Copy(c, br)
	})
	c := allowed()
	c.Allow = []string{"allowed.test:80"}
	_, e := w.run(c, RunConfig{})
	nc, br := tunnel(t, e, "allowed.test:80")
	io.WriteString(nc, "GET /chat HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	resp, err := http.ReadResponse(br, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("got %v, %v", resp, err)
	}
	io.WriteString(nc, "ping")
	got := make([]byte, len("readyping"))
	if _, err := io.ReadFull(br, got); err != nil || string(got) != "readyping" {
		t.Errorf("got %q, %v", got, err)
	}
}
