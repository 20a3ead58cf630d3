package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// TestSilentExchangesAreCut: a request without an answer is answered by the
// proxy, a tunnel over which nothing moves is broken off, and what is lively is
// left alone.
func TestSilentExchangesAreCut(t *testing.T) {
	w := newWorld(t, Options{})
	arrived, hang := make(chan struct{}, 1), make(chan struct{})
	defer close(hang)
	w.http(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-hang
	})
	w.tls(func(http.ResponseWriter, *http.Request) {})
	r, e := w.run(allowed(), RunConfig{})
	plain := raw(t, e)
	fmt.Fprint(plain, getFrom("http://allowed.test/"))
	<-arrived
	tun, br := tunnel(t, e, "allowed.test:443")

	if n := r.CutSilent(time.Hour); n != 0 {
		t.Fatalf("%d were cut that were silent for no hour", n)
	}
	cut := 0
	for end := time.Now().Add(5 * time.Second); cut < 2; {
		cut += r.CutSilent(time.Nanosecond)
		if time.Now().After(end) {
			t.Fatalf("%d of 2 were silent", cut)
		}
	}
	resp, body := readAnswer(t, bufio.NewReader(plain))
	if resp.StatusCode/100 != 5 || resp.Header.Get(ReasonHeader) != string(ReasonConnection) {
		t.Errorf("got %s %q", resp.Status, body)
	}
	if o, ok := r.Outcome("allowed.test", 80); !ok || o.Reason != policy.Reason(ReasonConnection) {
		t.Errorf("outcome %+v", o)
	}
	if _, err := io.ReadAll(br); err == nil {
		t.Error("the tunnel ended as if it had been finished")
	}
	tun.Close()
	e.Release()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.live) > 0 {
		t.Errorf("%d are still tracked", len(r.live))
	}
}

// TestActiveUploadsAreNotSilent: a request that is still being sent is lively,
// although it has no answer.
func TestActiveUploadsAreNotSilent(t *testing.T) {
	onClock(t, Options{}, RunConfig{}, new(Gate), func(t *testing.T, c *clock) {
		client := c.ln.dial()
		fmt.Fprint(client, "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\n")
		server := <-c.server
		go io.Copy(io.Discard, server)
		for range 10 {
			time.Sleep(50 * time.Second)
			client.Write([]byte("x"))
			synctest.Wait()
			if n := c.run.CutSilent(time.Minute); n != 0 {
				t.Fatalf("%d were cut", n)
			}
		}
		time.Sleep(time.Minute)
		if n := c.run.CutSilent(time.Minute); n != 1 {
			t.Errorf("control: %d were cut, want 1", n)
		}
		client.Close()
	})
}

// TestCutsMeetEnds lets tunnels be cut at the moment at which they end by
// themselves, for the race detector's sake.
func TestCutsMeetEnds(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(443, func(c net.Conn) { skipHello(c) })
	run, e := w.run(allowed(), RunConfig{})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				run.CutSilent(0)
			}
		}
	}()
	for range 100 {
		c := raw(t, e)
		io.WriteString(c, connectTo("allowed.test:443"))
		c.Write(clientHello("allowed.test"))
		io.Copy(io.Discard, c)
		c.Close()
	}
	close(stop)
	<-done
}
