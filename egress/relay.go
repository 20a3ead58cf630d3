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
	watch      *stopwatch

	received, sent atomic.Int64

	noted, broken sync.Once
	cause         error // why the tunnel broke off; set once
}

func newRelay(run *Run, client, up net.Conn) *relay {
	return &relay{run: run, client: client, up: up, watch: newStopwatch()}
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
	cause := t.ended(nil)
	if cause != nil { // by a half that left the end to the other
		until := time.Now().Add(drainTime)
		drain(t.client, until)
		drain(t.up, until)
		t.abort(nil)
	}
	return cause
}

// ended returns why the tunnel broke off: err, if nothing else had been noted
// before.
func (t *relay) ended(err error) error {
	t.note(err)
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
	dst.SetWriteDeadline(time.Now().Add(t.run.config().IdleTimeout))
	n, err := dst.Write(b)
	run.Add(int64(n))
	own.Add(int64(n))
	if err != nil {
		return t.failure(dst, err)
	}
	return nil
}

// limit returns the time at which the tunnel ends if nothing moves, and the
// error it then ends with.
func (t *relay) limit() (time.Time, error) {
	idle := t.watch.last().Add(t.run.config().IdleTimeout)
	end := t.watch.started.Add(t.run.config().MaxDuration)
	if idle.Before(end) {
		return idle, exhausted("idle time")
	}
	return end, exhausted("tunnel time")
}

// note keeps the first cause for the tunnel to break off: what follows from it
// is none.
func (t *relay) note(cause error) {
	t.noted.Do(func() { t.cause = cause })
}

// abort breaks both connections off, so that neither side takes the end for a
// regular one.
func (t *relay) abort(cause error) {
	t.note(cause)
	t.broken.Do(func() {
		reset(t.client)
		reset(t.up)
	})
}

// reset closes a connection with a reset, if it is TCP or runs over it. The
// layers above have no say: TLS would announce a regular end.
func reset(c net.Conn) {
	for {
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = outer.NetConn()
	}
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
	dead     net.Conn // the one that broke off, if one has
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
			h.t.watch.move()
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
			h.fail(err)
			return
		}
	}
}

// fail ends a half in which a connection has broken off, or a limit was hit.
func (h *half) fail(err error) {
	switch h.dead {
	case h.dst:
		// What it said before may still be on its way: the other half
		// reads it to the end, and then ends both.
		h.t.note(err)
		return
	case h.src:
		drain(h.dst, time.Now().Add(drainTime))
	}
	h.t.abort(err)
}

// drainTime is how long a peer may take to accept what was sent before the
// other one broke off. A reset would overtake it.
const drainTime = 5 * time.Second

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
		h.dst.SetWriteDeadline(time.Now().Add(h.t.run.config().IdleTimeout))
		if w, err := h.dst.Write(buf[:n]); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				h.dead = h.dst
			}
			return int64(w), h.t.failure(h.dst, err)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		h.dead = h.src
		err = h.t.failure(h.src, err)
	}
	return int64(n), err
}

// failure names what happened to a read from or a write to c.
func (t *relay) failure(c net.Conn, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return exhausted("idle time") // the peer of c takes nothing
	case c == t.up:
		return &Error{Reason: ReasonConnection, What: "connection broken off", Err: err}
	}
	return errGone
}
