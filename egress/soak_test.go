package egress

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// soakTime returns for how long TestSoak runs: a second, or what
// BELLGLASS_SOAK says ("10m").
func soakTime(t *testing.T) time.Duration {
	s := os.Getenv("BELLGLASS_SOAK")
	if s == "" {
		return time.Second
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// footprint is what a leak would let grow.
type footprint struct {
	goroutines, descriptors int
	heap                    uint64
}

func measure() footprint {
	runtime.GC()
	runtime.GC() // pools let go in two steps
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), descriptors(), m.HeapAlloc}
}

func (f footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d KiB", f.goroutines, f.descriptors, f.heap>>10)
}

// grown reports whether more is in use than rounding explains.
func (f footprint) grown(since footprint) bool {
	return f.goroutines > since.goroutines+5 || f.descriptors > since.descriptors+slack || f.heap > since.heap+4<<20
}

// TestSoak lets bad clients meet bad servers: slow, half-closed, resetting and
// lying ones on either side. Nothing may be left of them.
func TestSoak(t *testing.T) {
	w := newWorld(t, Options{HeadTimeout: 200 * time.Millisecond, KeepAlive: 200 * time.Millisecond})
	w.tcp(443, badServer)
	w.tcp(80, badServer)
	_, e := w.run(allowed(), RunConfig{IdleTimeout: 200 * time.Millisecond, MaxRequests: -1, MaxBytes: -1})
	round := func(d time.Duration) {
		var wg sync.WaitGroup
		for end := time.Now().Add(d); time.Now().Before(end); {
			for range 20 {
				wg.Go(func() { badClient(e) })
			}
			wg.Wait()
			w.mu.Lock()
			w.events, w.dialed, w.resolved = nil, nil, nil
			w.mu.Unlock()
		}
		settled(t, "the clients to be gone", func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return len(e.clients) == 0
		})
	}
	round(300 * time.Millisecond)
	e.Release()
	before := measure()
	e.Assign(NewRun(RunConfig{Rules: mustRules(t, allowed()), IdleTimeout: 200 * time.Millisecond, MaxRequests: -1, MaxBytes: -1}))
	round(soakTime(t))
	e.Release()
	var after footprint
	settled(t, "the servers to notice", func() bool {
		after = measure()
		return !after.grown(before)
	})
	t.Logf("before: %v; after: %v", before, after)
}

// TestSoakCanFail is the negative control: the same measure sees a leak.
func TestSoakCanFail(t *testing.T) {
	before := measure()
	stop := make(chan struct{})
	defer close(stop)
	for range 10 {
		go func() { <-stop }()
	}
	if after := measure(); !after.grown(before) {
		t.Errorf("ten goroutines leaked unseen: %v, then %v", before, after)
	}
	var files []*os.File
	for range 2 * slack {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if after := measure(); descriptors() > 0 && after.descriptors <= before.descriptors+slack {
		t.Errorf("descriptors leaked unseen: %v, then %v", before, after)
	}
	for _, f := range files {
		f.Close()
	}
}

// badServer does one of many wrong things with a connection.
func badServer(c net.Conn) {
	c.SetDeadline(time.Now().Add(time.Second))
	tcp := c.(*net.TCPConn)
	switch rand.IntN(8) {
	case 0: // closes at once
	case 1:
		tcp.SetLinger(0)
	case 2: // is silent
		io.Copy(io.Discard, c)
	case 3: // answers and resets
		c.Read(make([]byte, 100))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		c.Write(make([]byte, 100_000))
		tcp.SetLinger(0)
	case 4: // half-closes and reads on
		tcp.CloseWrite()
		io.Copy(io.Discard, c)
	case 5: // never reads, always writes
		for {
			if _, err := c.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	case 6: // lies about its length
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello world")
	case 7: // is honest
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		} else {
			c.Write(make([]byte, 1<<20))
		}
	}
}

// badClient does one of many wrong things with the proxy.
func badClient(e *Endpoint) {
	c, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	tcp := c.(*net.TCPConn)
	if rand.IntN(3) > 0 {
		io.WriteString(c, connectTo("allowed.test:443"))
		c.Read(make([]byte, len(established)))
		c.Write(clientHello("allowed.test")[:rand.IntN(len(clientHello("allowed.test"))+1)])
	} else {
		request := getFrom("http://allowed.test/")
		io.WriteString(c, request[:rand.IntN(len(request)+1)])
	}
	switch rand.IntN(6) {
	case 0: // leaves
	case 1:
		tcp.SetLinger(0)
	case 2: // finishes, and reads
		tcp.CloseWrite()
		io.Copy(io.Discard, c)
	case 3: // reads nothing, and waits
		c.Write(make([]byte, 1<<20))
	case 4: // reads slowly, and leaves
		for range 10 {
			if _, err := c.Read(make([]byte, 10)); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	case 5:
		io.Copy(io.Discard, c)
	}
}
