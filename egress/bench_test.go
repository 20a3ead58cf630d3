package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// lab is a proxy in front of one server on loopback.
type lab struct {
	server net.Addr
	e      *Endpoint
}

// newLab returns a lab whose server treats every connection alike.
func newLab(b testing.TB, serve func(net.Conn)) *lab {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	})
	l := &lab{server: ln.Addr()}
	p := NewProxy(&Gate{
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{addrAllowed}, nil },
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return net.Dial("tcp", l.server.String())
		},
		OwnAddrs: func() ([]netip.Addr, error) { return nil, nil },
	}, Options{MaxClients: 1 << 20})
	if l.e, err = p.Listen(); err != nil {
		b.Fatal(err)
	}
	rules, err := policy.Compile(allowed())
	if err != nil {
		b.Fatal(err)
	}
	l.e.Assign(NewRun(RunConfig{Rules: rules, MaxConns: -1, MaxRequests: -1, MaxBytes: -1}))
	b.Cleanup(func() { p.Close(); ln.Close(); wg.Wait() })
	return l
}

var (
	benchConnect = []byte(connectTo("allowed.test:443"))
	benchHello   = clientHello("allowed.test")
)

// open opens a tunnel, past its ClientHello.
func (l *lab) open(b testing.TB) *net.TCPConn {
	c, err := net.Dial("tcp", l.e.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, len(established))
	c.Write(benchConnect)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != established {
		b.Fatalf("got %q, %v", answer, err)
	}
	if _, err := c.Write(benchHello); err != nil {
		b.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// BenchmarkTunnelSetUp measures dial, CONNECT, ClientHello and its echo, and
// the same without a proxy. The difference is what the proxy adds.
func BenchmarkTunnelSetUp(b *testing.B) {
	echo := func(c net.Conn) { io.Copy(c, c) }
	once := func(b *testing.B, dial func() net.Conn) {
		b.ReportAllocs()
		buf := make([]byte, len(benchHello))
		var all []time.Duration
		for b.Loop() {
			start := time.Now()
			c := dial()
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Since(start))
			c.(*net.TCPConn).SetLinger(0) // no port waits for the next round
			c.Close()
		}
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	}
	b.Run("direct", func(b *testing.B) {
		l := newLab(b, echo)
		once(b, func() net.Conn {
			c, err := net.Dial("tcp", l.server.String())
			if err != nil {
				b.Fatal(err)
			}
			c.Write(benchHello)
			return c
		})
	})
	b.Run("proxy", func(b *testing.B) {
		l := newLab(b, echo)
		once(b, func() net.Conn { return l.open(b) })
	})
}

// BenchmarkBulk compares a tunnel with a bare relay of two sockets, io.Copy in
// both directions, and with no relay at all.
func BenchmarkBulk(b *testing.B) {
	const size = 256 << 20
	send := func(c net.Conn) { // what a server does
		if _, err := io.ReadFull(c, make([]byte, len(benchHello))); err != nil {
			return
		}
		buf := make([]byte, 256<<10)
		for range size / len(buf) {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}
	receive := func(b *testing.B, tunnels int, dial func() net.Conn) {
		b.SetBytes(size)
		for b.Loop() {
			var wg sync.WaitGroup
			for range tunnels {
				wg.Go(func() {
					c := dial()
					defer c.Close()
					buf := make([]byte, 256<<10)
					for left := size / tunnels; left > 0; {
						n, err := c.Read(buf)
						if left -= n; err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		}
	}
	for _, tunnels := range []int{1, 64} {
		b.Run(fmt.Sprintf("direct/%d", tunnels), func(b *testing.B) {
			l := newLab(b, send)
			receive(b, tunnels, func() net.Conn { return dialHello(b, l.server) })
		})
		b.Run(fmt.Sprintf("relay/%d", tunnels), func(b *testing.B) {
			l := newLab(b, send)
			at := bareRelay(b, l.server)
			receive(b, tunnels, func() net.Conn { return dialHello(b, at) })
		})
		b.Run(fmt.Sprintf("proxy/%d", tunnels), func(b *testing.B) {
			l := newLab(b, send)
			receive(b, tunnels, func() net.Conn { return l.open(b) })
		})
	}
}

func dialHello(b testing.TB, at net.Addr) net.Conn {
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		b.Fatal(err)
	}
	c.Write(benchHello)
	return c
}

// bareRelay is the least a relay can do.
func bareRelay(b testing.TB, to net.Addr) net.Addr {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				up, err := net.Dial("tcp", to.String())
				if err != nil {
					return
				}
				defer up.Close()
				go io.Copy(up, c)
				io.Copy(c, up)
			}()
		}
	}()
	return ln.Addr()
}

// BenchmarkIdleTunnel reports the memory of this process that one idle tunnel
// takes: heap and stacks, without the two connections that the benchmark
// itself holds at either end, which are measured first.
func BenchmarkIdleTunnel(b *testing.B) {
	const n = 1000
	var mu sync.Mutex
	var ends []net.Conn
	accepted := make(chan struct{}, n)
	l := newLab(b, func(c net.Conn) {
		mu.Lock()
		ends = append(ends, c)
		mu.Unlock()
		io.ReadFull(c, make([]byte, len(benchHello)))
		accepted <- struct{}{}
		c.Read(make([]byte, 1))
	})
	used := func() int64 {
		for range 3 { // stacks shrink, pools let go
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	hold := func(dial func() net.Conn) (perConn float64) {
		before := used()
		var open []net.Conn
		for range n {
			open = append(open, dial())
			<-accepted
		}
		perConn = float64(used()-before) / n
		for _, c := range open {
			c.Close()
		}
		for busy := true; busy; runtime.Gosched() { // else the next round finds memory to reuse
			l.e.mu.Lock()
			busy = len(l.e.clients) > 0
			l.e.mu.Unlock()
		}
		return perConn
	}
	hold(func() net.Conn { return l.open(b) }) // so that both find the same heap
	for b.Loop() {
		direct := hold(func() net.Conn { return dialHello(b, l.server) })
		tunnels := hold(func() net.Conn { return l.open(b) })
		b.ReportMetric((tunnels-direct)/1024, "KiB/tunnel")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkPlainHTTP measures a small request over a kept connection.
func BenchmarkPlainHTTP(b *testing.B) {
	l := newLab(b, func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			if _, err := http.ReadRequest(br); err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c, err := net.Dial("tcp", l.e.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	request := []byte(getFrom("http://allowed.test/", "Accept: */*", "User-Agent: benchmark", "Proxy-Connection: keep-alive"))
	br := bufio.NewReader(c)
	b.ReportAllocs()
	for b.Loop() {
		c.Write(request)
		resp, err := http.ReadResponse(br, nil)
		if err != nil || resp.StatusCode != 200 {
			b.Fatal(resp, err)
		}
		io.Copy(io.Discard, resp.Body)
	}
}

// BenchmarkRefusal measures a CONNECT that is refused, its connection
// included.
func BenchmarkRefusal(b *testing.B) {
	l := newLab(b, func(net.Conn) {})
	request := []byte(connectTo("evil.test:443"))
	buf := make([]byte, 1024)
	b.ReportAllocs()
	for b.Loop() {
		c, err := net.Dial("tcp", l.e.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		c.Write(request)
		if _, err := c.Read(buf); err != nil {
			b.Fatal(err)
		}
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

// BenchmarkReadHead measures a head as Chromium sends it.
func BenchmarkReadHead(b *testing.B) {
	raw := []byte("GET http://allowed.test/a/b?c=d HTTP/1.1\r\nHost: allowed.test\r\nProxy-Connection: keep-alive\r\n" +
		"Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml\r\nAccept-Encoding: gzip, deflate\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n")
	r := &loop{b: raw}
	br := bufio.NewReaderSize(r, maxHeadSize)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readHead(br); err != nil {
			b.Fatal(err)
		}
	}
}

// loop reads the same bytes for ever, whole at a time.
type loop struct{ b []byte }

func (l *loop) Read(p []byte) (int, error) { return copy(p, l.b), nil }

// BenchmarkHello measures the search for the server name.
func BenchmarkHello(b *testing.B) {
	msg := records(handshake(extension{0xfe0d, make([]byte, 200)}, serverName("allowed.test"), extension{51, make([]byte, 1200)}), maxRecordSize)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := new(hello).scan(msg); err != nil {
			b.Fatal(err)
		}
	}
}
