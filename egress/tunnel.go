package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// established is the answer to a CONNECT that may begin.
const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// connect answers a CONNECT request and serves the tunnel to its end.
func (c *conn) connect(h *head) {
	a := c.begin(h)
	up, err := c.connectUp(a, h)
	if err != nil {
		a.refuse(err)
		return
	}
	defer c.run().release()
	defer up.Close()
	a.decide(nil)
	t := newRelay(c.run(), c.nc, up)
	defer c.run().track(&live{watch: t.watch, cut: t.abort, place: a.place(true)})()
	if c.write([]byte(established)) != nil {
		err = errGone
	} else {
		err = c.firstBytes(a, t)
	}
	if err == nil {
		c.dropReader()
		err = t.relay()
	}
	if err = t.ended(err); err == io.EOF {
		err = nil // the client thought better of it
	}
	a.close(err, t.received.Load(), t.sent.Load())
}

// connectUp decides about a CONNECT and makes the connection it asks for.
func (c *conn) connectUp(a *attempt, h *head) (net.Conn, error) {
	host, port, err := parseAuthority(h.target, 0)
	if err != nil {
		return nil, err
	}
	a.at(host, port)
	if err := c.admit(a, true); err != nil {
		return nil, err
	}
	if !sameAuthority(h.host, host, port, 0) {
		return nil, bad("Host differs from the target")
	}
	if !h.bodyless() {
		return nil, bad("CONNECT with a body")
	}
	return c.dial(c.lease.ctx, a)
}

// firstBytes holds a tunnel's first bytes back until they are known to be a
// TLS ClientHello for the host, or where the rules allow that a WebSocket
// handshake with it, and then sends them on. The error is io.EOF if the client
// closed the tunnel without a byte.
func (c *conn) firstBytes(a *attempt, t *relay) error {
	deadline := time.Now().Add(c.e.p.opts.HeadTimeout)
	c.nc.SetReadDeadline(deadline)
	first, err := c.br.Peek(1)
	if err != nil {
		return tunnelError(err)
	}
	if first[0] != recordHandshake && a.cfg.Rules.PlainTunnel(a.hp.host, a.hp.port) {
		return c.upgrade(a, t, deadline)
	}
	var scan hello
	for {
		buf, err := c.br.Peek(c.br.Buffered())
		if err != nil {
			return err
		}
		name, err := scan.scan(buf)
		switch {
		case err == nil:
			if err := checkServerName(a.hp.host, name); err != nil {
				return err
			}
			return t.send(buf)
		case !errors.Is(err, errMoreHello) || len(buf) >= maxHelloSize:
			return &policy.Refusal{Reason: ReasonServerName, What: "not TLS"}
		}
		if _, err := c.br.Peek(len(buf) + 1); err != nil {
			return tunnelError(err)
		}
	}
}

// tunnelError names the failure of a read from a client at the start of its
// tunnel.
func tunnelError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Reason: ReasonConnection, What: "no TLS in time"}
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return errGone
}
