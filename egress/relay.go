package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// bufferSize is what one read from a connection may bring.
	bufferSize = 32 << 10

	// bulkSize is how much is moved inside the kernel before byte counts
	// and budgets are looked at again.
	bulkSize = 1 << 20
)

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// relay copies between a client and what it is connected to.
type relay struct {
	run        *Run
	client, up net.Conn
	end        time.Time // of the tunnel, at the latest

	received, sent atomic.Int64
	moved          atomic.Int64 // when bytes last moved, in nanoseconds since the epoch

	once  sync.Once
	cause error // why both connections were broken off; set once
}

func newRelay(run *Run, client, up net.Conn) *relay {
	now := time.Now()
	t := &relay{run: run, client: client, up: up, end: now.Add(run.cfg.MaxDuration)}
	t.moved.Store(now.UnixNano())
	return t
}

// errGone says that the client broke off, or that it cannot be told who did.
var errGone = errors.New("egress: connection broken off")

// relay copies both ways until both sides have finished, one has broken off,
// or a limit is hit. A side that has finished sending may still receive. A
// connection that broke off is passed on as broken, never as finished.
func (t *relay) relay() error {
	var down sync.WaitGroup
	down.Go(func() {
		h := half{t: t, dst: t.client, src: t.up, run: &t.run.received, own: &t.received}
		h.copy()
	})
	h := half{t: t, dst: t.up, src: t.client, run: &t.run.sent, own: &t.sent}
	h.copy()
	down.Wait()
	return t.cause
}

// send and receive move bytes that were read already.
func (t *relay) send(b []byte) error {
	return t.put(t.up, b, &t.run.sent, &t.sent)
}

func (t *relay) receive(b []byte) error {
	return t.put(t.client, b, &t.run.received, &t.received)
}

func (t *relay) put(dst net.Conn, b []byte, run, own *atomic.Int64) error {
	if len(b) == 0 {
		return nil
	}
	dst.SetWriteDeadline(time.Now().Add(t.run.cfg.IdleTimeout))
	n, err := dst.Write(b)
	run.Add(int64(n))
	own.Add(int64(n))
	return err
}

// limit returns the time at which the tunnel ends if nothing moves, and the
// error it then ends with.
func (t *relay) limit() (time.Time, error) {
	idle := time.Unix(0, t.moved.Load()).Add(t.run.cfg.IdleTimeout)
	if idle.Before(t.end) {
		return idle, exhausted("idle time")
	}
	return t.end, exhausted("tunnel time")
}

// abort breaks both connections off, so that neither side takes the end for a
// regular one. The first cause is kept: what follows from it is none.
func (t *relay) abort(cause error) {
	t.once.Do(func() {
		t.cause = cause
		reset(t.client)
		reset(t.up)
	})
}

// reset closes a connection with a reset, if it is TCP.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

// half is one direction of a relay.
type half struct {
	t        *relay
	dst, src net.Conn
	run, own *atomic.Int64 // byte counts
	source   source
}

// copy copies until the source has finished, and tells the destination so, or
// until something breaks.
func (h *half) copy() {
	h.source = newSource(h.src)
	bulk := false
	for {
		if h.t.run.overspent() {
			h.t.abort(exhausted("bytes"))
			return
		}
		deadline, limit := h.t.limit()
		var (
			n   int64
			err error
		)
		if bulk {
			n, err = h.splice(deadline)
			bulk = n == bulkSize
		} else {
			n, err = h.move(deadline)
			bulk = n == bufferSize && h.canSplice()
		}
		if n > 0 {
			h.run.Add(n)
			h.own.Add(n)
			h.t.moved.Store(time.Now().UnixNano())
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			h.finish()
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			if time.Now().Before(deadline) {
				continue // a short wait inside splice
			}
			if again, _ := h.t.limit(); again.After(deadline) {
				continue // the other direction has moved
			}
			h.t.abort(limit)
			return
		default:
			h.t.abort(err)
			return
		}
	}
}

// finish tells the destination that no more will come.
func (h *half) finish() {
	if w, ok := h.dst.(interface{ CloseWrite() error }); ok {
		w.CloseWrite() // fails only if the other half has ended it all
		return
	}
	h.t.abort(nil)
}

// move waits for bytes and moves them by way of a buffer, which it holds only
// while there are any. Its error is a time-out only if nothing was lost.
func (h *half) move(deadline time.Time) (int64, error) {
	h.src.SetReadDeadline(deadline)
	buf, n, err := h.source.read()
	if buf != nil {
		defer buffers.Put(buf)
	}
	if n > 0 {
		h.dst.SetWriteDeadline(time.Now().Add(h.t.run.cfg.IdleTimeout))
		if w, err := h.dst.Write(buf[:n]); err != nil {
			return int64(w), h.broken(h.dst, err)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		err = h.broken(h.src, err)
	}
	return int64(n), err
}

// broken names the failure of a read from or a write to c.
func (h *half) broken(c net.Conn, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return exhausted("idle time") // the peer of c takes nothing
	case c == h.t.up:
		return &Error{Reason: ReasonConnection, What: "connection broken off", Err: err}
	}
	return errGone
}
