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
	stalled := now.Add(h.t.run.cfg.IdleTimeout + spliceWait)
	h.dst.SetWriteDeadline(stalled)
	limited := io.LimitedReader{R: h.src, N: bulkSize}
	n, err := h.dst.(*net.TCPConn).ReadFrom(&limited)
	switch {
	case err == nil && n < bulkSize:
		return n, io.EOF
	case err == nil:
		return n, nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return n, errGone
	case !time.Now().Before(stalled):
		return n, exhausted("idle time")
	}
	return n, err
}
