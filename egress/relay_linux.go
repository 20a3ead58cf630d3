package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spliceWait is how long a splice waits for more. While it waits it holds a
// pipe, which a connection that has gone quiet should not.
const spliceWait = time.Second

// source reads from a connection into a buffer that is taken from the pool
// only when there is something to read, so that an idle tunnel has none.
type source struct {
	c   net.Conn
	raw syscall.RawConn // nil if c has no descriptor
}

func newSource(c net.Conn) source {
	s := source{c: c}
	if tcp, ok := c.(*net.TCPConn); ok {
		s.raw, _ = tcp.SyscallConn()
	}
	return s
}

// read waits for bytes. The buffer, if not nil, is the caller's to put back.
func (s source) read() (buf *[bufferSize]byte, n int, err error) {
	if s.raw == nil {
		buf = buffers.Get().(*[bufferSize]byte)
		n, err = s.c.Read(buf[:])
		return buf, n, err
	}
	var errno error
	err = s.raw.Read(func(fd uintptr) bool {
		if buf == nil {
			buf = buffers.Get().(*[bufferSize]byte)
		}
		for {
			n, errno = unix.Read(int(fd), buf[:])
			if errno != unix.EINTR {
				break
			}
		}
		if errno == unix.EAGAIN {
			buffers.Put(buf)
			buf = nil
			return false
		}
		return true
	})
	switch {
	case err != nil:
		return buf, 0, err
	case errno != nil:
		return buf, 0, errno
	case n == 0:
		return buf, 0, io.EOF
	}
	return buf, n, nil
}

// canSplice reports whether the kernel can move bytes from source to
// destination by itself.
func (h *half) canSplice() bool {
	_, to := h.dst.(*net.TCPConn)
	return to && h.source.raw != nil
}

// splice moves up to bulkSize bytes without copying them. Its error is a
// time-out only if nothing was lost.
func (h *half) splice(deadline time.Time) (int64, error) {
	now := time.Now()
	if wait := now.Add(spliceWait); wait.Before(deadline) {
		deadline = wait
	}
	h.src.SetReadDeadline(deadline)
	// Bytes that are inside the pipe when a write times out are gone. The
	// later deadline lets the two time-outs be told apart by the clock.
	stalled := now.Add(h.t.run.config().IdleTimeout + spliceWait)
	h.dst.SetWriteDeadline(stalled)
	limited := io.LimitedReader{R: h.src, N: bulkSize}
	n, err := h.dst.(*net.TCPConn).ReadFrom(&limited)
	switch {
	case err == nil && n < bulkSize:
		return n, io.EOF
	case err == nil:
		return n, nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		h.dead = h.dst
		if !h.source.alive() {
			h.dead = h.src
		}
		return n, h.t.failure(h.dead, err)
	case !time.Now().Before(stalled):
		return n, exhausted("idle time")
	}
	return n, err
}

// alive reports whether more can come from the connection.
func (s source) alive() bool {
	alive := false
	s.raw.Control(func(fd uintptr) { // fails only once it is closed
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		alive = n > 0 || err == unix.EAGAIN
	})
	return alive
}

// drain waits until the peer of c has acknowledged everything that was sent, or
// never will.
func drain(c net.Conn, until time.Time) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	for pause := time.Millisecond; time.Now().Before(until); pause = min(2*pause, 50*time.Millisecond) {
		done := true
		err := raw.Control(func(fd uintptr) {
			queued, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
			info, ierr := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			done = err != nil || ierr != nil || queued == 0 || info.State == tcpClose
		})
		if err != nil || done {
			return
		}
		time.Sleep(pause)
	}
}

// tcpClose is TCP_CLOSE of the kernel's include/net/tcp_states.h. A connection
// that was reset is in that state, and its queue is never emptied.
const tcpClose = 7
