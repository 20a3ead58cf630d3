package egress

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bellglass/bellglass/policy"
)

// begin opens a tunnel to allowed.test:443, past its ClientHello, which the
// server has to read.
func (w *world) begin(e *Endpoint) *net.TCPConn {
	w.t.Helper()
	c, _ := tunnel(w.t, e, "allowed.test:443")
	if _, err := c.Write(clientHello("allowed.test")); err != nil {
		w.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// skipHello reads what begin has sent.
func skipHello(c net.Conn) {
	io.ReadFull(c, make([]byte, len(clientHello("allowed.test"))))
}

// noise returns n bytes that compress badly and repeat never.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// TestHalfClose: a side that has finished sending still receives, in either
// direction, down to the last byte.
func TestHalfClose(t *testing.T) {
	data := noise(3<<20 + 123)
	t.Run("client finishes first", func(t *testing.T) {
		w := newWorld(t, Options{})
		got := make(chan []byte, 1)
		w.tcp(443, func(c net.Conn) {
			skipHello(c)
			b, _ := io.ReadAll(c)
			got <- b
			c.Write(data)
		})
		_, e := w.run(allowed(), RunConfig{})
		c := w.begin(e)
		c.Write(data)
		c.CloseWrite()
		if b := <-got; !bytes.Equal(b, data) {
			t.Errorf("server got %d bytes of %d", len(b), len(data))
		}
		if b, err := io.ReadAll(c); err != nil || !bytes.Equal(b, data) {
			t.Errorf("client got %d bytes of %d, %v", len(b), len(data), err)
		}
	})
	t.Run("server finishes first", func(t *testing.T) {
		w := newWorld(t, Options{})
		got := make(chan []byte, 1)
		w.tcp(443, func(c net.Conn) {
			skipHello(c)
			c.Write(data)
			c.(*net.TCPConn).CloseWrite()
			b, _ := io.ReadAll(c)
			got <- b
		})
		_, e := w.run(allowed(), RunConfig{})
		c := w.begin(e)
		if b, err := io.ReadAll(c); err != nil || !bytes.Equal(b, data) {
			t.Errorf("client got %d bytes of %d, %v", len(b), len(data), err)
		}
		c.Write(data)
		c.CloseWrite()
		if b := <-got; !bytes.Equal(b, data) {
			t.Errorf("server got %d bytes of %d", len(b), len(data))
		}
	})
}

// TestTunnelIsTransparent sends pieces of every size both ways at once: by way
// of the buffer, by way of the kernel, and from one to the other.
func TestTunnelIsTransparent(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(443, func(c net.Conn) {
		skipHello(c)
		io.Copy(c, c)
	})
	run, e := w.run(allowed(), RunConfig{})
	c := w.begin(e)
	data := noise(8 << 20)
	go func() {
		defer c.CloseWrite()
		r := rand.New(rand.NewPCG(1, 2))
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1<<r.IntN(22))
			c.Write(rest[:n])
			rest = rest[n:]
		}
	}()
	got := sha256.New()
	n, err := io.Copy(got, c)
	if err != nil || n != int64(len(data)) {
		t.Errorf("got %d bytes of %d, %v", n, len(data), err)
	}
	if want := sha256.Sum256(data); !bytes.Equal(got.Sum(nil), want[:]) {
		t.Error("bytes were changed on the way")
	}
	e.Release()
	if run.Received() != int64(len(data)) || run.Sent() != int64(len(data)+len(clientHello("allowed.test"))) {
		t.Errorf("counted %d received and %d sent of %d", run.Received(), run.Sent(), len(data))
	}
}

// TestResetDoesNotOvertake: servers often reset a connection right behind the
// last byte of an answer. The client must still get the answer.
func TestResetDoesNotOvertake(t *testing.T) {
	for _, size := range []int{1, 100_000, 3 << 20} {
		for range 10 {
			w := newWorld(t, Options{})
			sent := make(chan struct{})
			w.tcp(443, func(c net.Conn) {
				skipHello(c)
				c.Write(make([]byte, size))
				for queued(c) > 0 { // the proxy's kernel has it all
					runtime.Gosched()
				}
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
				close(sent)
			})
			_, e := w.run(allowed(), RunConfig{})
			c := w.begin(e)
			if size < 1<<20 { // else the server needs the client to read
				<-sent
			}
			if n, err := io.Copy(io.Discard, c); n != int64(size) || !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("got %d bytes of %d, %v", n, size, err)
			}
		}
	}
}

// queued returns how many bytes the peer of c has not acknowledged.
func queued(c net.Conn) (n int) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
	return n
}

// TestAnswerToARejectedUploadArrives: a server may say no and close while the
// client still sends.
func TestAnswerToARejectedUploadArrives(t *testing.T) {
	for range 10 {
		w := newWorld(t, Options{})
		answer := noise(300 << 10) // small enough for the buffers on the way
		w.tcp(443, func(c net.Conn) {
			skipHello(c)
			io.CopyN(io.Discard, c, 1<<20)
			c.Write(answer)
			for queued(c) > 0 {
				runtime.Gosched()
			}
		}) // closing over unread bytes resets
		_, e := w.run(allowed(), RunConfig{})
		c := w.begin(e)
		go func() {
			buf := make([]byte, 64<<10)
			for {
				if _, err := c.Write(buf); err != nil {
					return
				}
			}
		}()
		time.Sleep(time.Millisecond) // so that there is something to lose
		if b, _ := io.ReadAll(c); !bytes.Equal(b, answer) {
			t.Fatalf("got %d bytes of %d", len(b), len(answer))
		}
	}
}

// TestResetIsPassedOn: what broke off must not look finished, or a cut-off
// answer could pass for a whole one.
func TestResetIsPassedOn(t *testing.T) {
	for _, size := range []int{10, 3 << 20} {
		w := newWorld(t, Options{})
		read := make(chan struct{})
		w.tcp(443, func(c net.Conn) {
			skipHello(c)
			c.Write(make([]byte, size))
			<-read
			c.(*net.TCPConn).SetLinger(0) // Close sends a reset
		})
		_, e := w.run(allowed(), RunConfig{})
		c := w.begin(e)
		if _, err := io.ReadFull(c, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		close(read)
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after %d bytes and a reset: got %v", size, err)
		}
	}
}

func TestServerThatBreaksOffIsAFailure(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(443, func(c net.Conn) {
		skipHello(c)
		c.(*net.TCPConn).SetLinger(0)
	})
	run, e := w.run(allowed(), RunConfig{})
	c := w.begin(e)
	io.Copy(io.Discard, c)
	settled(t, "the tunnel to end", func() bool {
		o, _ := run.Outcome("allowed.test", 443)
		return o.Reason == ReasonConnection
	})
}

// TestClientThatBreaksOffIsNoFailure: browsers end connections in any way.
func TestClientThatBreaksOffIsNoFailure(t *testing.T) {
	w := newWorld(t, Options{})
	ended := make(chan struct{})
	w.tcp(443, func(c net.Conn) {
		skipHello(c)
		io.Copy(io.Discard, c)
		close(ended)
	})
	run, e := w.run(allowed(), RunConfig{})
	c := w.begin(e)
	c.SetLinger(0)
	c.Close()
	<-ended
	settled(t, "the close event", func() bool { return len(w.log()) == 2 })
	if o, _ := run.Outcome("allowed.test", 443); o.Reason != "" {
		t.Errorf("outcome %+v", o)
	}
}

// TestByteBudgetCutsTheTunnel: the client sees a reset, not an end.
func TestByteBudgetCutsTheTunnel(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(443, func(c net.Conn) {
		skipHello(c)
		for {
			if _, err := c.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	const budget = 4 << 20
	run, e := w.run(allowed(), RunConfig{MaxBytes: budget})
	c := w.begin(e)
	// How much of it arrives before the reset is the kernel's business.
	n, err := io.Copy(io.Discard, c)
	if !errors.Is(err, syscall.ECONNRESET) || n > budget+bulkSize+bufferSize {
		t.Errorf("got %d bytes of a budget of %d, %v", n, budget, err)
	}
	settled(t, "the tunnel to end", func() bool {
		o, _ := run.Outcome("allowed.test", 443)
		return o.Reason == ReasonBudget && o.What == "bytes"
	})
	if got := run.Received(); got < budget-1024 || got > budget+bulkSize+bufferSize {
		t.Errorf("received %d bytes with a budget of %d", got, budget)
	}
	refused(t, e, connectTo("allowed.test:443"), 429, ReasonBudget)
}

// TestStalledBulkIsIdle: a transfer that the kernel carries ends like any other
// when nothing moves any more.
func TestStalledBulkIsIdle(t *testing.T) {
	t.Parallel() // it waits
	w := newWorld(t, Options{})
	const size = 4 << 20
	done := make(chan struct{})
	defer close(done)
	w.tcp(443, func(c net.Conn) {
		skipHello(c)
		c.Write(make([]byte, size))
		<-done // and says no more
	})
	run, e := w.run(allowed(), RunConfig{IdleTimeout: 2 * time.Second})
	c := w.begin(e)
	c.CloseWrite() // so that nothing but the transfer itself keeps the time
	if n, err := io.Copy(io.Discard, c); n != size || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %d bytes of %d, %v", n, size, err)
	}
	settled(t, "the tunnel to end", func() bool {
		o, _ := run.Outcome("allowed.test", 443)
		return o.Reason == ReasonBudget && o.What == "idle time"
	})
}

// settled waits for a condition that other goroutines bring about.
func settled(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestReleaseCutsTunnels: WS-008, CRD-006. When Release returns the tunnels
// are gone, and the endpoint is of no use to whoever still knows it.
func TestReleaseCutsTunnels(t *testing.T) {
	w := newWorld(t, Options{})
	gone := make(chan struct{}, 10)
	w.tcp(443, func(c net.Conn) {
		io.Copy(io.Discard, c)
		gone <- struct{}{}
	})
	run, e := w.run(allowed(), RunConfig{})
	var tunnels []net.Conn
	for range 10 {
		tunnels = append(tunnels, w.begin(e))
	}
	start := time.Now()
	e.Release()
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %v", d)
	}
	run.mu.Lock()
	conns := run.conns
	run.mu.Unlock()
	if conns != 0 {
		t.Errorf("%d connections are left", conns)
	}
	for _, c := range tunnels {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a tunnel still works")
		}
		<-gone
	}
	refused(t, e, connectTo("allowed.test:443"), 403, policy.ReasonHost)
	for _, ev := range w.log() {
		if ev.Kind == EventClose && ev.Reason != "" {
			t.Errorf("a tunnel that was let go ended with %s", ev.Reason)
		}
	}
	e.Close()
	if c, err := net.Dial("tcp", e.Addr().String()); err == nil {
		c.Close()
		t.Error("the closed endpoint accepts connections")
	}
}
