package egress

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// forward answers one plain http request. It reports whether the client may
// send another.
func (c *conn) forward(h *head) bool {
	a := c.begin(h)
	req, err := c.judgeRequest(a, h)
	if err != nil {
		a.refuse(err)
		return false
	}
	ctx, cancel := context.WithCancelCause(c.lease.ctx)
	defer cancel(nil)
	stop := func() {}
	if req.body == nil {
		stop = c.watch(func() { cancel(errGone) })
	}
	req.live = &live{watch: newStopwatch(), cut: func(why error) { cancel(why) }, place: a.place(false)}
	defer c.run().track(req.live)()
	up, resp, err := c.exchange(ctx, a, req)
	if err != nil {
		stop()
		switch {
		case cutBy(ctx) != nil:
			a.refuse(cutBy(ctx))
		case ctx.Err() != nil || errors.Is(err, errGone):
			a.abandon()
		default:
			a.refuse(err)
		}
		return false
	}
	a.decide(nil)
	if err = c.respond(h, resp); err != nil {
		err = cmp.Or(cutBy(ctx), err)
	}
	stop()
	resp.Body.Close()
	whole := err == nil && ctx.Err() == nil && (req.body == nil || req.body.drained)
	received, sent := up.received-up.base.received, up.sent-up.base.sent
	if whole && !resp.Close && up.br.Buffered() == 0 && up.detach() {
		c.lease.pool.put(up)
	} else {
		up.Close()
	}
	a.close(err, received, sent)
	return whole && !h.has("connection", "close")
}

// request is a plain http request that was let through.
type request struct {
	hp      hostPort
	method  string
	head    []byte // as it goes to the origin server or the gateway
	body    *body  // nil without
	get     bool   // it may be sent twice
	gateway bool   // it goes to the gateway
	live    *live
}

// methods are those that a browser sends to an http URL, and whether they are
// safe in the sense of RFC 9110 section 9.2.1.
var methods = map[string]bool{
	"GET": true, "HEAD": true, "OPTIONS": true,
	"POST": false, "PUT": false, "PATCH": false, "DELETE": false,
}

// judgeRequest decides about a plain http request, as far as that needs no
// DNS, and rewrites its head.
func (c *conn) judgeRequest(a *attempt, h *head) (*request, error) {
	t, err := parseAbsolute(h.target)
	if err != nil {
		reason, what := reasonOf(err)
		return nil, &badHead{status: http.StatusBadRequest, reason: reason, what: what}
	}
	a.at(t.host, t.port)
	safe, known := methods[h.method]
	if !known {
		return nil, &badHead{status: http.StatusNotImplemented, what: "unknown method"}
	}
	if err := c.admit(a, false); err != nil {
		return nil, err
	}
	switch {
	case !safe && a.cfg.ReadOnly:
		return nil, &policy.Refusal{Reason: ReasonReadOnly, What: "method " + h.method}
	case !sameAuthority(h.host, t.host, t.port, 80):
		return nil, bad("Host differs from the target")
	case h.get("upgrade") != "":
		return nil, &badHead{status: http.StatusNotImplemented, what: "upgrade outside a tunnel"}
	}
	r := &request{hp: a.hp, method: h.method, get: safe && h.bodyless(), body: c.newBody(h)}
	fields := cleanRequest(h, a.hp)
	if c.gateway(a) != nil {
		r.gateway = true
		t.origin = "http://" + fields[0].value + t.origin
		fields = append(fields, c.run().identity()...)
	}
	r.head = appendHead(nil, h.method, t.origin, fields)
	return r, nil
}

// watch calls gone if the client closes its connection before the returned
// function is called. Until then nobody else may read from the client.
func (c *conn) watch(gone func()) (stop func()) {
	c.nc.SetReadDeadline(time.Time{})
	stopping := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := c.br.Peek(1); err != nil {
			select {
			case <-stopping: // the deadline that stop has set
			default:
				gone()
			}
		}
	}()
	return func() {
		close(stopping)
		c.nc.SetReadDeadline(time.Unix(1, 0))
		<-done
	}
}

// cutBy returns why an exchange was cut from the outside, or nil.
func cutBy(ctx context.Context) error {
	if cause := context.Cause(ctx); cause == error(errSilent) || cause == error(errRevoked) {
		return cause
	}
	return nil
}

// stillAllowed judges the address of a kept connection by the rules of this
// moment. Of one through a gateway it is the gateway that judges.
func (c *conn) stillAllowed(a *attempt, up *upstream) bool {
	addr := up.route.addr
	return !addr.IsValid() || a.cfg.Rules.CheckAddr(a.hp.host, addr, a.hp.port) == nil
}

// exchange sends a request and returns the head of the response, by way of a
// kept connection if there is one that still works.
func (c *conn) exchange(ctx context.Context, a *attempt, req *request) (*upstream, *http.Response, error) {
	if req.get { // another could have had its effect before the kept connection failed
		for {
			up := c.lease.pool.get(req.hp)
			if up == nil {
				break
			}
			if !c.stillAllowed(a, up) {
				up.Close()
				continue
			}
			a.route = route{class: up.route.class, addr: up.route.addr}
			c.run().reached(req.live, up.route.addr)
			up.attach(ctx, req.live.watch)
			before := up.received
			resp, err := up.roundTrip(req)
			if err == nil {
				return up, resp, nil
			}
			up.Close()
			if up.received > before || ctx.Err() != nil {
				return nil, nil, err
			}
		}
	}
	nc, err := c.dial(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	up := newUpstream(nc, req.hp, a.route, c.run())
	c.run().reached(req.live, a.route.addr)
	up.attach(ctx, req.live.watch)
	if req.body != nil && req.body.expected {
		c.write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	resp, err := up.roundTrip(req)
	if err != nil {
		up.Close()
		return nil, nil, err
	}
	return up, resp, nil
}

// respond sends a response on to the client, every piece as it comes.
func (c *conn) respond(h *head, resp *http.Response) error {
	hasBody := h.method != "HEAD" && resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusNotModified
	fields := cleanResponse(resp.Header)
	chunked := false
	switch {
	case resp.ContentLength >= 0 && (hasBody || h.method == "HEAD"):
		fields.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	case hasBody:
		chunked = true
		fields.Set("Transfer-Encoding", "chunked")
	}
	if h.has("connection", "close") {
		fields.Set("Connection", "close")
	}
	if err := c.write(responseHead(resp.StatusCode, fields)); err != nil {
		return errGone
	}
	if !hasBody {
		return nil
	}
	return c.copyBody(resp.Body, chunked)
}

// chunkHeader is the room that a chunk's size takes in front of it.
const chunkHeader = len("ffff\r\n")

// copyBody copies a body to the client, as chunks if its length is not known.
func (c *conn) copyBody(body io.Reader, chunked bool) error {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := body.Read(buf[chunkHeader : bufferSize-2])
		if n > 0 {
			piece := buf[chunkHeader : chunkHeader+n]
			if chunked {
				putChunkHeader(buf[:chunkHeader], n)
				copy(buf[chunkHeader+n:], "\r\n")
				piece = buf[:chunkHeader+n+2]
			}
			if c.write(piece) != nil {
				return errGone
			}
		}
		switch {
		case err == io.EOF && chunked:
			if c.write([]byte("0\r\n\r\n")) != nil {
				return errGone
			}
			return nil
		case err == io.EOF:
			return nil
		case err != nil:
			return upstreamError(err)
		}
	}
}

// putChunkHeader writes n, at most 0xffff, as the size of a chunk.
func putChunkHeader(b []byte, n int) {
	const hex = "0123456789abcdef"
	for i := range 4 {
		b[i] = hex[n>>(12-4*i)&15]
	}
	b[4], b[5] = '\r', '\n'
}
