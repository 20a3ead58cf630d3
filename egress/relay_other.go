//go:build !linux

package egress

import (
	"net"
	"time"
)

// source reads from a connection into a pooled buffer.
type source struct{ c net.Conn }

func newSource(c net.Conn) source { return source{c} }

// read waits for bytes. The buffer is the caller's to put back.
func (s source) read() (buf *[bufferSize]byte, n int, err error) {
	buf = buffers.Get().(*[bufferSize]byte)
	n, err = s.c.Read(buf[:])
	return buf, n, err
}

func (h *half) canSplice() bool { return false }

func (h *half) splice(deadline time.Time) (int64, error) { return h.move(deadline) }

// drain would wait for the peer to acknowledge what was sent; only Linux tells.
func drain(net.Conn, time.Time) {}
