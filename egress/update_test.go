package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// echo is a server that says what it hears, for tunnels.
func echo(c net.Conn) { io.Copy(c, c) }

// alive reports whether a tunnel to an echo still carries bytes.
func alive(c net.Conn) bool {
	buf := make([]byte, 4)
	if _, err := c.Write([]byte("ping")); err != nil {
		return false
	}
	_, err := io.ReadFull(c, buf)
	return err == nil && string(buf) == "ping"
}

// opened is a tunnel to host, past the echo of its ClientHello.
func opened(t *testing.T, e *Endpoint, host string) net.Conn {
	t.Helper()
	c, br := tunnel(t, e, host+":443")
	hello := clientHello(host)
	c.Write(hello)
	if _, err := io.ReadFull(br, make([]byte, len(hello))); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUpdateCutsWhatIsNoLongerAllowed: by name, by port and by address; what is
// still allowed goes on, and its counts with it.
func TestUpdateCutsWhatIsNoLongerAllowed(t *testing.T) {
	w := newWorld(t, Options{})
	private := netip.MustParseAddr("10.1.2.3")
	w.names["intranet.test"] = []netip.Addr{private}
	w.tcp(443, echo)
	for _, a := range []netip.Addr{addrEvil, private} {
		w.servers[netip.AddrPortFrom(a, 443)] = w.servers[netip.AddrPortFrom(addrAllowed, 443)]
	}
	c := allowed()
	c.Allow = []string{"allowed.test", "evil.test", "intranet.test"}
	c.AllowedPrivateCIDRs = []string{"10.1.0.0/16"}
	run, e := w.run(c, RunConfig{Tenant: "role"})
	stays, byName, byAddress := opened(t, e, "allowed.test"), opened(t, e, "evil.test"), opened(t, e, "intranet.test")
	requests := run.Requests()

	c.Allow, c.AllowedPrivateCIDRs = []string{"allowed.test", "intranet.test"}, nil
	if n := run.Update(RunConfig{Tenant: "role", Rules: mustRules(t, c)}); n != 2 {
		t.Errorf("%d connections were cut, want 2", n)
	}
	if !alive(stays) {
		t.Error("an allowed tunnel was cut")
	}
	if alive(byName) || alive(byAddress) {
		t.Error("a tunnel outlived its permission")
	}
	settled(t, "the ends to be recorded", func() bool {
		n := 0
		for _, ev := range w.log() {
			if ev.Kind == EventClose && ev.Reason == policy.ReasonHost && ev.What == "no longer allowed" {
				n++
			}
		}
		return n == 2
	})
	refused(t, e, connectTo("evil.test:443"), 403, policy.ReasonHost)
	refused(t, e, connectTo("intranet.test:443"), 403, policy.ReasonAddress)
	if run.Requests() != requests+2 {
		t.Errorf("%d requests, want %d", run.Requests(), requests+2)
	}
}

// TestUpdateWhileDialing: the rules change between the verdict and the
// connection.
func TestUpdateWhileDialing(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(443, echo)
	run, e := w.run(allowed(), RunConfig{})
	other := allowed()
	other.Allow = []string{"other.test"}
	dial := w.gate.Dial
	w.gate.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		run.Update(RunConfig{Rules: mustRules(t, other)})
		return dial(ctx, a)
	}
	c := raw(t, e)
	io.WriteString(c, connectTo("allowed.test:443"))
	c.Write(clientHello("allowed.test"))
	if b, err := io.ReadAll(c); len(b) > len(established) {
		t.Errorf("got %q, %v", b, err)
	}
	settled(t, "the end to be recorded", func() bool {
		o, _ := run.Outcome("allowed.test", 443)
		return o.Reason == policy.ReasonHost
	})
}

// TestUpdateCutsAnExchange: a response that never ends is cut like a tunnel,
// and a kept connection to an address that is no longer open is not used.
func TestUpdateCutsAnExchange(t *testing.T) {
	w := newWorld(t, Options{})
	private := netip.MustParseAddr("10.1.2.3")
	w.names["intranet.test"] = []netip.Addr{private}
	s := w.http(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			rw.Write([]byte("begun"))
			rw.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	w.at(private, 80, s.Listener.Addr())
	c := allowed()
	c.Allow = []string{"intranet.test"}
	c.AllowedPrivateCIDRs = []string{"10.1.0.0/16"}
	run, e := w.run(c, RunConfig{})
	if resp, _ := ask(t, e, getFrom("http://intranet.test/")); resp.StatusCode != 200 {
		t.Fatalf("got %s", resp.Status)
	}
	conn := raw(t, e)
	io.WriteString(conn, getFrom("http://intranet.test/stream"))
	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(resp.Body, make([]byte, 5))
	settled(t, "the first exchange to end", func() bool {
		run.mu.Lock()
		defer run.mu.Unlock()
		return len(run.live) == 1
	})
	c.AllowedPrivateCIDRs = nil
	if n := run.Update(RunConfig{Rules: mustRules(t, c)}); n != 1 {
		t.Errorf("%d exchanges were cut, want 1", n)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream ended as if it were whole")
	}
	refused(t, e, getFrom("http://intranet.test/"), 403, policy.ReasonAddress)
}

// TestWindowsBeginAnew: the budgets of a run without end are for a time.
func TestWindowsBeginAnew(t *testing.T) {
	onClock(t, Options{}, RunConfig{Window: time.Hour, MaxRequests: 2, MaxHosts: 1, MaxBytes: 600}, new(Gate), func(t *testing.T, c *clock) {
		what := func(target string) string {
			t.Helper()
			client := c.ln.dial()
			defer client.Close()
			io.WriteString(client, connectTo(target))
			if _, err := http.ReadResponse(bufio.NewReader(client), &http.Request{Method: "CONNECT"}); err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			client.Close()
			what := c.last().What
			select {
			case server := <-c.server:
				server.Close()
			default:
			}
			return what
		}
		for range 3 {
			if got := what("a.test:443"); got != "" {
				t.Errorf("first: %q", got)
			}
			if got := what("b.test:443"); got != "hosts" {
				t.Errorf("second host: %q", got)
			}
			if got := what("a.test:443"); got != "requests" {
				t.Errorf("third request: %q", got)
			}
			time.Sleep(time.Hour)
			client, server := c.tunnel(t)
			go io.Copy(io.Discard, client)
			server.Write(make([]byte, 1000))
			server.Close()
			if got := c.last(); got.Reason != ReasonBudget || got.What != "bytes" {
				t.Errorf("after 1,000 bytes: %+v", got)
			}
			if got := what("a.test:443"); got != "bytes" {
				t.Errorf("after the bytes are spent: %q", got)
			}
			time.Sleep(time.Hour)
		}
	})
}

// TestDrain: clients that ask for nothing are let go at once, tunnels end by
// themselves, nobody is let in, and what is left at the end is cut.
func TestDrain(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(443, echo)
	w.http(func(http.ResponseWriter, *http.Request) {})
	_, e := w.run(allowed(), RunConfig{})
	idle := raw(t, e)
	kept := raw(t, e)
	io.WriteString(kept, getFrom("http://allowed.test/"))
	readAnswer(t, bufio.NewReader(kept))
	first, second := opened(t, e, "allowed.test"), opened(t, e, "allowed.test")
	settled(t, "the clients to be served", func() bool { return w.proxy.Clients() == 4 })

	limit, end := context.WithCancel(t.Context())
	defer end()
	done := make(chan int)
	go func() { done <- w.proxy.Drain(limit) }()
	for _, c := range []net.Conn{idle, kept} {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("an idle client was not let go")
		}
	}
	if _, err := net.Dial("tcp", e.Addr().String()); err == nil {
		t.Error("a new client was let in")
	}
	if !alive(first) || !alive(second) {
		t.Error("a tunnel was cut before the limit")
	}
	first.Close()
	settled(t, "the tunnel to end", func() bool { return w.proxy.Clients() == 1 })
	select {
	case n := <-done:
		t.Fatalf("drained with a tunnel open (%d cut)", n)
	default:
	}
	end()
	if n := <-done; n != 1 {
		t.Errorf("%d connections were cut, want 1", n)
	}
	if alive(second) {
		t.Error("a tunnel outlived the drain")
	}
	if e := w.proxy.Serve(newPipeListener()); !e.closed {
		t.Error("a drained proxy opened an endpoint")
	}
}

// TestDrainLetsARequestEnd: a request that is being answered is answered, and
// the client cannot ask again.
func TestDrainLetsARequestEnd(t *testing.T) {
	w := newWorld(t, Options{})
	asked, answer := make(chan struct{}), make(chan struct{})
	w.http(func(rw http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		io.WriteString(rw, "late")
	})
	_, e := w.run(allowed(), RunConfig{})
	c := raw(t, e)
	io.WriteString(c, getFrom("http://allowed.test/"))
	<-asked
	done := make(chan int)
	go func() { done <- w.proxy.Drain(t.Context()) }()
	settled(t, "the listener to close", func() bool {
		_, err := net.Dial("tcp", e.Addr().String())
		return err != nil
	})
	close(answer)
	br := bufio.NewReader(c)
	if _, body := readAnswer(t, br); body != "late" {
		t.Errorf("got %q", body)
	}
	if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection goes on: %v", err)
	}
	if n := <-done; n != 0 {
		t.Errorf("%d connections were cut", n)
	}
}
