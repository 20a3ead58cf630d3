package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellglass/bellglass/policy"
)

func TestSlowHeadIsCutOff(t *testing.T) {
	onClock(t, Options{HeadTimeout: 10 * time.Second}, RunConfig{}, new(Gate), func(t *testing.T, c *clock) {
		client := c.ln.dial()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { // one byte a second, for ever
			for {
				if _, err := client.Write([]byte("G")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		if d := eof(t, client); d != 10*time.Second {
			t.Errorf("cut off after %v, want 10 s", d)
		}
	})
}

func TestSilentClientIsCutOff(t *testing.T) {
	onClock(t, Options{KeepAlive: time.Minute}, RunConfig{}, new(Gate), func(t *testing.T, c *clock) {
		if d := eof(t, c.ln.dial()); d != time.Minute {
			t.Errorf("cut off after %v, want one minute", d)
		}
	})
}

// TestTunnelWithoutFirstByteIsCutOff: PRX-038.
func TestTunnelWithoutFirstByteIsCutOff(t *testing.T) {
	onClock(t, Options{HeadTimeout: 10 * time.Second}, RunConfig{}, new(Gate), func(t *testing.T, c *clock) {
		client := c.ln.dial()
		io.WriteString(client, connectTo("a.test:443"))
		if d := eof(t, client); d != 10*time.Second {
			t.Errorf("cut off after %v, want 10 s", d)
		}
		if e := c.last(); e.Kind != EventClose || e.Reason != ReasonConnection || e.What != "no TLS in time" {
			t.Errorf("event %+v", e)
		}
	})
}

// TestIdleTunnelIsClosed: WS-006.
func TestIdleTunnelIsClosed(t *testing.T) {
	onClock(t, Options{}, RunConfig{IdleTimeout: time.Minute}, new(Gate), func(t *testing.T, c *clock) {
		client, server := c.tunnel(t)
		for range 10 { // one direction is enough to keep it open
			time.Sleep(50 * time.Second)
			go server.Write([]byte("x"))
			if _, err := client.Read(make([]byte, 1)); err != nil {
				t.Fatalf("an active tunnel ended: %v", err)
			}
		}
		if d := eof(t, client); d != time.Minute {
			t.Errorf("closed after %v, want one minute", d)
		}
		eof(t, server)
		if e := c.last(); e.Kind != EventClose || e.Reason != ReasonBudget || e.What != "idle time" || e.Received != 10 {
			t.Errorf("event %+v", e)
		}
	})
}

func TestTunnelEndsAfterItsTime(t *testing.T) {
	onClock(t, Options{}, RunConfig{MaxDuration: time.Hour}, new(Gate), func(t *testing.T, c *clock) {
		client, server := c.tunnel(t)
		start := time.Now()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { // never idle
			for {
				if _, err := server.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		eof(t, client)
		if d := time.Since(start); d != time.Hour {
			t.Errorf("ended after %v, want one hour", d)
		}
		if e := c.last(); e.Reason != ReasonBudget || e.What != "tunnel time" {
			t.Errorf("event %+v", e)
		}
	})
}

// TestReceiverThatTakesNothingIsCutOff: a tunnel is idle, too, while one side
// sends what the other does not take.
func TestReceiverThatTakesNothingIsCutOff(t *testing.T) {
	onClock(t, Options{}, RunConfig{IdleTimeout: time.Minute}, new(Gate), func(t *testing.T, c *clock) {
		client, server := c.tunnel(t)
		start := time.Now()
		go server.Write(make([]byte, 1<<20))
		eof(t, server)
		if d := time.Since(start); d != time.Minute {
			t.Errorf("cut off after %v, want one minute", d)
		}
		client.Close()
		if e := c.last(); e.Reason != ReasonBudget || e.What != "idle time" {
			t.Errorf("event %+v", e)
		}
	})
}

// TestNamesPerMinute: DNS-034. Labels under a wildcard carry data to whoever
// owns the domain.
func TestNamesPerMinute(t *testing.T) {
	var asked []string
	g := &Gate{Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
		asked = append(asked, host)
		return nil, &net.DNSError{IsNotFound: true}
	}}
	onClock(t, Options{}, RunConfig{MaxNames: 3}, g, func(t *testing.T, c *clock) {
		request := func(host string) policy.Reason {
			client := c.ln.dial()
			defer client.Close()
			io.WriteString(client, getFrom("http://"+host+"/"))
			resp, _ := readAnswer(t, bufio.NewReader(client))
			return policy.Reason(resp.Header.Get(ReasonHeader))
		}
		for i := range 5 {
			want := ReasonDNS
			if i >= 3 {
				want = ReasonBudget
			}
			if got := request(fmt.Sprintf("secret%d.wild.test", i)); got != want {
				t.Errorf("name %d: got %s, want %s", i, got, want)
			}
		}
		if got := request("secret1.wild.test"); got != ReasonDNS {
			t.Errorf("a name known already: got %s", got)
		}
		if got := request("www.other.test"); got != ReasonDNS {
			t.Errorf("another domain: got %s", got)
		}
		if o, _ := c.run.Outcome("secret4.wild.test", 80); o.Reason != ReasonBudget || o.What != "names per minute" {
			t.Errorf("outcome %+v", o)
		}
		time.Sleep(time.Minute)
		if got := request("secret5.wild.test"); got != ReasonDNS {
			t.Errorf("a minute later: got %s", got)
		}
		if want := 6; len(asked) != want { // 0 to 2, 1 again, www and 5
			t.Errorf("looked up %v", asked)
		}
	})
}

// TestDNSTimeout: DNS-035 and RES-016.
func TestDNSTimeout(t *testing.T) {
	g := &Gate{Resolve: func(ctx context.Context, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	onClock(t, Options{}, RunConfig{}, g, func(t *testing.T, c *clock) {
		client := c.ln.dial()
		start := time.Now()
		io.WriteString(client, connectTo("a.test:443"))
		resp, _ := readAnswer(t, bufio.NewReader(client))
		if d := time.Since(start); d != 5*time.Second || resp.StatusCode != 504 || resp.Header.Get(ReasonHeader) != string(ReasonDNS) {
			t.Errorf("after %v: %s %s", d, resp.Status, resp.Header.Get(ReasonHeader))
		}
	})
}

// TestDialTimeout: RES-016, an address at which nobody answers.
func TestDialTimeout(t *testing.T) {
	g := &Gate{Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	onClock(t, Options{}, RunConfig{}, g, func(t *testing.T, c *clock) {
		client := c.ln.dial()
		start := time.Now()
		io.WriteString(client, connectTo("a.test:443"))
		resp, _ := readAnswer(t, bufio.NewReader(client))
		if d := time.Since(start); d != 10*time.Second || resp.StatusCode != 504 || resp.Header.Get(ReasonHeader) != string(ReasonConnection) {
			t.Errorf("after %v: %s %s", d, resp.Status, resp.Header.Get(ReasonHeader))
		}
	})
}

// TestDeadAddressesAreOvertaken: a name whose first address does not answer
// costs a quarter of a second, not a time-out.
func TestDeadAddressesAreOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v6 := netip.MustParseAddr("2a00:1450:4001:80b::200e")
		var (
			mu     sync.Mutex
			dialed []netip.Addr
		)
		g := &Gate{
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{v6, v6.Next(), addrAllowed}, nil
			},
			Dial: func(ctx context.Context, ap netip.AddrPort) (net.Conn, error) {
				mu.Lock()
				dialed = append(dialed, ap.Addr())
				mu.Unlock()
				if ap.Addr().Is6() {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				c, _ := net.Pipe()
				return c, nil
			},
			OwnAddrs: func() ([]netip.Addr, error) { return nil, nil },
		}
		start := time.Now()
		r := mustRules(t, policy.Config{Mode: policy.ModePublic})
		c, err := g.Connect(t.Context(), r, policy.Host{Name: "a.test"}, 443)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if d := time.Since(start); d != 250*time.Millisecond {
			t.Errorf("took %v, want 250 ms", d)
		}
		if want := []netip.Addr{v6, addrAllowed}; !slices.Equal(dialed, want) {
			t.Errorf("dialed %v, want %v", dialed, want)
		}
	})
}

// TestKeptConnectionsGrowOld: what was kept for half a minute is not used
// again, since servers forget without saying so.
func TestKeptConnectionsGrowOld(t *testing.T) {
	onClock(t, Options{KeepAlive: time.Hour}, RunConfig{}, new(Gate), func(t *testing.T, c *clock) {
		client := c.ln.dial()
		br := bufio.NewReader(client)
		conns := 0
		go func() {
			for server := range c.server {
				conns++
				go func() {
					in := bufio.NewReader(server)
					for {
						if _, err := http.ReadRequest(in); err != nil {
							return
						}
						io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					}
				}()
			}
		}()
		defer close(c.server)
		for _, wait := range []struct {
			pause time.Duration
			conns int
		}{{0, 1}, {keptFor - time.Second, 1}, {keptFor - time.Second, 1}, {keptFor, 2}} {
			time.Sleep(wait.pause)
			io.WriteString(client, getFrom("http://a.test/"))
			if resp, body := readAnswer(t, br); resp.StatusCode != 200 || body != "ok" {
				t.Fatalf("got %s %q", resp.Status, body)
			}
			synctest.Wait()
			if conns != wait.conns {
				t.Errorf("after %v: %d connections, want %d", wait.pause, conns, wait.conns)
			}
		}
		client.Close()
	})
}

// TestAcceptSurvivesExhaustedDescriptors: the proxy waits, and goes on.
func TestAcceptSurvivesExhaustedDescriptors(t *testing.T) {
	onClock(t, Options{KeepAlive: time.Second}, RunConfig{}, new(Gate), func(t *testing.T, c *clock) {
		start := time.Now()
		for range 12 {
			c.ln.errs <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
		}
		client := c.ln.dial()
		if d := time.Since(start); d < time.Second || d > 10*time.Second {
			t.Errorf("twelve failures took %v: no sensible pause", d)
		}
		if d := eof(t, client); d != time.Second { // it is served as ever
			t.Errorf("served for %v", d)
		}
		// Any other error ends the listener.
		c.ln.errs <- errors.New("gone")
		synctest.Wait()
		select {
		case c.ln.errs <- errors.New("again"):
			t.Error("the listener is still accepted from")
		default:
		}
	})
}

func TestOwnAddressesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := []netip.Addr{addrEvil}
		reads := 0
		g := &Gate{
			Dial:     func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("dialed") },
			OwnAddrs: func() ([]netip.Addr, error) { reads++; return own, nil },
			Resolve:  func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{addrAllowed}, nil },
		}
		r := mustRules(t, policy.Config{Mode: policy.ModePublic})
		try := func() policy.Reason {
			_, err := g.Connect(t.Context(), r, policy.Host{Name: "a.test"}, 443)
			reason, _ := reasonOf(err)
			return reason
		}
		if got := try(); got != ReasonConnection {
			t.Errorf("before the address is ours: %s", got)
		}
		own = append(own, addrAllowed)
		if got := try(); got != ReasonConnection || reads != 1 {
			t.Errorf("at once: %s, list read %d times", got, reads)
		}
		time.Sleep(ownRefresh)
		if got := try(); got != policy.ReasonAddress || reads != 2 {
			t.Errorf("after %v: %s, list read %d times", ownRefresh, got, reads)
		}
	})
}

func TestAnswersAreCachedForALittleWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache
		asked := 0
		ask := func() ([]netip.Addr, error) { asked++; return []netip.Addr{addrAllowed}, nil }
		missing := func() ([]netip.Addr, error) { asked++; return nil, &net.DNSError{IsNotFound: true} }
		broken := func() ([]netip.Addr, error) { asked++; return nil, &net.DNSError{IsTimeout: true} }
		for _, tt := range []struct {
			name string
			ask  func() ([]netip.Addr, error)
			ttl  time.Duration
		}{{"found", ask, cacheFound}, {"missing", missing, cacheMissing}, {"broken", broken, 0}} {
			asked = 0
			c.get(t.Context(), tt.name, tt.ask)
			if tt.ttl > 0 {
				time.Sleep(tt.ttl - time.Nanosecond)
				c.get(t.Context(), tt.name, tt.ask)
				if asked != 1 {
					t.Errorf("%s: asked %d times within %v", tt.name, asked, tt.ttl)
				}
				time.Sleep(time.Nanosecond)
			}
			c.get(t.Context(), tt.name, tt.ask)
			if asked != 2 {
				t.Errorf("%s: asked %d times after %v", tt.name, asked, tt.ttl)
			}
		}
	})
}

func TestConcurrentQuestionsAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache
		asked := 0
		ask := func() ([]netip.Addr, error) { asked++; time.Sleep(time.Second); return []netip.Addr{addrAllowed}, nil }
		for range 10 {
			go func() {
				if a, err := c.get(t.Context(), "a", ask); err != nil || len(a) != 1 {
					t.Errorf("got %v, %v", a, err)
				}
			}()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait()
		if _, err := c.get(ctx, "a", ask); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("impatient asker: got %v", err)
		}
		time.Sleep(2 * time.Second)
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	var c cache
	for i := range 3 * cacheSize {
		c.get(t.Context(), fmt.Sprint(i), func() ([]netip.Addr, error) { return nil, nil })
	}
	if n := len(c.answers); n > cacheSize {
		t.Errorf("%d answers kept, want at most %d", n, cacheSize)
	}
}
