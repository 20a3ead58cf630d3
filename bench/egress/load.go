package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// way is one way to the origin.
type way struct {
	name    string
	addr    string // of the process that is spoken to
	connect bool   // it wants a CONNECT first
	process *process
}

// hello is a ClientHello for the host, from crypto/tls itself.
var hello = func() []byte {
	a, b := net.Pipe()
	go tls.Client(a, &tls.Config{ServerName: host}).Handshake()
	buf := make([]byte, 8<<10)
	n, err := b.Read(buf)
	if err != nil {
		panic("bench: no ClientHello: " + err.Error()) // crypto/tls always sends one
	}
	b.Close()
	return buf[:n]
}()

const connectHead = "CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + ":443\r\n\r\n"

// tunnel opens a connection to the origin: dial, CONNECT and its answer, a
// ClientHello and the one byte that comes back. After that the origin takes one
// line, the number of bytes it is to send.
func (w *way) tunnel() (*net.TCPConn, error) {
	nc, err := net.Dial("tcp", w.addr)
	if err != nil {
		return nil, err
	}
	c := nc.(*net.TCPConn)
	c.SetDeadline(time.Now().Add(time.Minute))
	if err := w.greet(c); err != nil {
		c.Close()
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	return c, nil
}

func (w *way) greet(c net.Conn) error {
	one := make([]byte, 1)
	if w.connect {
		if _, err := io.WriteString(c, connectHead); err != nil {
			return err
		}
		// Byte by byte: what follows the head is not ours to read.
		var head strings.Builder
		for !strings.HasSuffix(head.String(), "\r\n\r\n") {
			buf := make([]byte, 256)
			n, err := c.Read(buf)
			if err != nil {
				return err
			}
			head.Write(buf[:n])
		}
		if !strings.HasPrefix(head.String(), "HTTP/1.1 200") && !strings.HasPrefix(head.String(), "HTTP/1.0 200") {
			return errors.New(head.String())
		}
	}
	if _, err := c.Write(hello); err != nil {
		return err
	}
	_, err := io.ReadFull(c, one)
	return err
}

// setUp opens a tunnel and returns the time that took.
func (w *way) setUp() (time.Duration, error) {
	start := time.Now()
	c, err := w.tunnel()
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, c.Close()
}

// setUps opens n tunnels one after the other.
func (w *way) setUps(n int) error {
	for range n {
		if _, err := w.setUp(); err != nil {
			return err
		}
	}
	return nil
}

// latencies opens n tunnels by each way, one after the other and by turns, and
// returns the times by way, in order of size.
func latencies(ways []*way, n int) (map[string][]time.Duration, error) {
	all := map[string][]time.Duration{}
	for i := range n {
		for j := range ways {
			w := ways[(i+j)%len(ways)]
			took, err := w.setUp()
			if err != nil {
				return nil, err
			}
			all[w.name] = append(all[w.name], took)
		}
	}
	for _, t := range all {
		slices.Sort(t)
	}
	return all, nil
}

// together runs f in several goroutines and returns how long all took.
func together(n int, f func() error) (time.Duration, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	start := time.Now()
	for range n {
		wg.Go(func() {
			if err := f(); err != nil {
				mu.Lock()
				first = errors.Join(first, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return time.Since(start), first
}

// rate returns how many tunnels a second are opened by some clients at once.
func (w *way) rate(clients, each int) (float64, error) {
	took, err := together(clients, func() error { return w.setUps(each) })
	return float64(clients*each) / took.Seconds(), err
}

// bulk has some bytes come through some tunnels at once, and returns how long
// they took, and how many microseconds of processor time the process between.
// The tunnels are open before that begins.
func (w *way) bulk(tunnels int, total int64) (took time.Duration, micros float64, err error) {
	each := total / int64(tunnels)
	conns := make(chan *net.TCPConn, tunnels)
	for range tunnels {
		c, err := w.tunnel()
		if err != nil {
			return 0, 0, err
		}
		defer c.Close()
		conns <- c
	}
	_, _, micros, err = w.cost(1, func(int) error {
		took, err = together(tunnels, func() error { return receive(<-conns, each) })
		return err
	})
	return took, micros, err
}

// receive asks the other end of a tunnel for some bytes.
func receive(c net.Conn, size int64) error {
	if _, err := fmt.Fprintf(c, "%d\n", size); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	for size > 0 {
		n, err := c.Read(buf)
		if size -= int64(n); err != nil {
			return err
		}
	}
	return nil
}

// idle returns the bytes of resident memory that one tunnel takes over which
// nothing moves, in a process that has served little before: memory that an
// earlier round left behind would hide some.
func (w *way) idle(tunnels int) (float64, error) {
	fresh, err := start(w.name, w.process.origin)
	if err != nil {
		return 0, err
	}
	defer fresh.close()
	f := &way{name: w.name, addr: fresh.addr, connect: w.connect, process: fresh}
	if err := f.setUps(50); err != nil {
		return 0, err
	}
	before, err := fresh.usage()
	if err != nil {
		return 0, err
	}
	for range tunnels {
		c, err := f.tunnel()
		if err != nil {
			return 0, err
		}
		defer c.Close()
	}
	after, err := fresh.usage()
	return float64(after.Resident-before.Resident) / float64(tunnels), err
}

// cost returns what n uses of f cost the process: allocations, their bytes, and
// microseconds of processor time, each for one use.
func (w *way) cost(n int, f func(int) error) (count, bytes, micros float64, err error) {
	before, err := w.process.usage()
	if err != nil {
		return 0, 0, 0, err
	}
	if err := f(n); err != nil {
		return 0, 0, 0, err
	}
	after, err := w.process.usage()
	per := 1 / float64(n)
	return float64(after.Mallocs-before.Mallocs) * per, float64(after.Bytes-before.Bytes) * per, float64(after.CPU-before.CPU) / 1e3 * per, err
}

// gets sends n plain http requests over one connection.
func (w *way) gets(n int) error {
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	br := bufio.NewReader(c)
	for range n {
		if _, err := io.WriteString(c, "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
			return err
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: http %d, %v", w.name, resp.StatusCode, err)
		}
	}
	return nil
}
