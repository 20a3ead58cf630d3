package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// errSend marks the failure of sending a body on, rather than of reading it
// from the client.
var errSend = errors.New("egress: sending the request body")

// body is the body of a request on its way from the client.
type body struct {
	c        *conn
	left     int64 // bytes to come; unused if chunked
	chunked  bool
	expected bool // the client waits for a 100 (Continue)
	drained  bool // read to its end
}

// newBody returns the body that follows a head, or nil if none does.
func (c *conn) newBody(h *head) *body {
	if h.bodyless() {
		return nil
	}
	return &body{c: c, left: h.length, chunked: h.chunked, expected: h.has("expect", "100-continue")}
}

// writeTo sends the body on, framed as it came. Trailers are dropped.
func (b *body) writeTo(u *upstream) error {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	var (
		src io.Reader = &io.LimitedReader{R: b.c.br, N: b.left}
		dst io.Writer = u
		end           = func() error { return nil }
	)
	if b.chunked {
		src = httputil.NewChunkedReader(b.c.br)
		bw := bufio.NewWriterSize(u, bufferSize)
		cw := httputil.NewChunkedWriter(bw)
		dst = cw
		end = func() error {
			cw.Close()
			bw.WriteString("\r\n")
			return bw.Flush()
		}
	}
	for {
		b.c.nc.SetReadDeadline(time.Now().Add(u.run.config().IdleTimeout))
		n, err := src.Read(buf[:])
		b.left -= int64(n)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return fmt.Errorf("%w: %w", errSend, err)
			}
		}
		switch {
		case err == io.EOF && b.chunked:
			if err := skipTrailers(b.c.br); err != nil {
				return clientError(err)
			}
		case err == io.EOF && b.left > 0:
			return errGone
		case err == nil:
			continue
		case err != io.EOF:
			return clientError(err)
		}
		b.drained = true
		if err := end(); err != nil {
			return fmt.Errorf("%w: %w", errSend, err)
		}
		return nil
	}
}

// clientError names the failure of reading a body: the client is gone, or has
// sent what the decoder of chunks dislikes.
func clientError(err error) error {
	var ne net.Error
	switch {
	case isBadHead(err):
		return err
	case errors.As(err, &ne), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return errGone
	}
	return bad("bad chunked body")
}

// skipTrailers reads the trailer section of a chunked body, up to and with its
// empty line.
func skipTrailers(br *bufio.Reader) error {
	for size := 0; ; {
		line, err := br.ReadSlice('\n')
		size += len(line)
		switch {
		case err != nil:
			return err
		case size > maxHeadSize:
			return &badHead{status: http.StatusRequestHeaderFieldsTooLarge, what: "trailers larger than 16 KiB"}
		case len(line) < 2 || line[len(line)-2] != '\r':
			return bad("line feed without carriage return")
		case len(line) == 2:
			return nil
		}
		if _, err := parseField(string(line[:len(line)-2])); err != nil {
			return err
		}
	}
}
