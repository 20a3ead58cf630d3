package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// Bounds of the kept connections of one lease.
const (
	keptPerHost = 6 // as many as Chromium opens to one host
	keptTotal   = 32
	keptFor     = 30 * time.Second
)

// maxInformational is the most 1xx responses that are skipped in front of a
// response.
const maxInformational = 8

// errHeadTooLarge says that a response head exceeded maxResponseHead.
var errHeadTooLarge = errors.New("egress: response head larger than 256 KiB")

// upstream is a connection to an origin server that speaks plain http. It is
// used by one goroutine at a time.
type upstream struct {
	nc    net.Conn
	br    *bufio.Reader // of the upstream itself, which counts
	hp    hostPort
	route route // how it came about
	run   *Run

	received, sent int64
	base           struct{ received, sent int64 } // when it was attached
	headLeft       int64                          // bytes the response head may still take; negative: no head is read
	since          time.Time
	unwatch        func() bool
	watch          *stopwatch // of the exchange it is attached to
	once           sync.Once
}

// newUpstream takes over a connection that was acquired from the run.
func newUpstream(nc net.Conn, hp hostPort, rt route, run *Run) *upstream {
	u := &upstream{nc: nc, hp: hp, route: rt, run: run, headLeft: -1}
	u.br = bufio.NewReader(u)
	return u
}

// attach begins an exchange, the end of whose ctx closes the connection, and
// detach ends it. It reports false if the connection was closed.
func (u *upstream) attach(ctx context.Context, watch *stopwatch) {
	u.watch = watch
	u.base.received, u.base.sent = u.received, u.sent
	u.unwatch = context.AfterFunc(ctx, func() { u.nc.Close() })
}

func (u *upstream) detach() bool { return u.unwatch() }

func (u *upstream) Close() error {
	u.once.Do(func() {
		if u.unwatch != nil {
			u.unwatch()
		}
		u.nc.Close()
		u.run.release()
	})
	return nil
}

func (u *upstream) Read(b []byte) (int, error) {
	if u.headLeft == 0 {
		return 0, errHeadTooLarge
	}
	if u.headLeft > 0 && int64(len(b)) > u.headLeft {
		b = b[:u.headLeft]
	}
	if u.run.overspent() {
		return 0, exhausted("bytes")
	}
	u.nc.SetReadDeadline(time.Now().Add(u.run.config().IdleTimeout))
	n, err := u.nc.Read(b)
	if n > 0 {
		u.watch.move()
	}
	u.received += int64(n)
	u.run.received.Add(int64(n))
	if u.headLeft > 0 {
		u.headLeft -= int64(n)
	}
	return n, err
}

func (u *upstream) Write(b []byte) (int, error) {
	if u.run.overspent() {
		return 0, exhausted("bytes")
	}
	u.nc.SetWriteDeadline(time.Now().Add(u.run.config().IdleTimeout))
	n, err := u.nc.Write(b)
	if n > 0 {
		u.watch.move()
	}
	u.sent += int64(n)
	u.run.sent.Add(int64(n))
	return n, err
}

// roundTrip sends a request and reads the head of the response. The error is
// an [*Error].
func (u *upstream) roundTrip(req *request) (*http.Response, error) {
	_, err := u.Write(req.head)
	if err == nil && req.body != nil {
		err = req.body.writeTo(u)
	}
	if err != nil && (req.get || !errors.Is(err, errSend)) {
		return nil, upstreamError(err)
	}
	// A server that stopped reading may have said why.
	resp, rerr := u.readResponse(req)
	if rerr != nil {
		return nil, upstreamError(errors.Join(rerr, err))
	}
	return resp, nil
}

func (u *upstream) readResponse(req *request) (*http.Response, error) {
	for range maxInformational {
		u.headLeft = maxResponseHead
		resp, err := http.ReadResponse(u.br, &http.Request{Method: req.method})
		u.headLeft = -1
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols || resp.StatusCode < 100:
			return nil, errors.New("egress: response that nobody asked for")
		case req.gateway && resp.Header.Get(ReasonHeader) != "":
			return nil, gatewayError(resp)
		case resp.StatusCode == http.StatusProxyAuthRequired:
			return nil, errors.New("egress: origin server asks for proxy credentials")
		case resp.StatusCode >= 200:
			return resp, nil
		}
	}
	return nil, errors.New("egress: too many informational responses")
}

// upstreamError names the failure of an exchange with an origin server.
func upstreamError(err error) error {
	var (
		failure *Error
		refusal *policy.Refusal
	)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &refusal):
		return refusal
	case isBadHead(err), errors.Is(err, errGone):
		return err
	}
	what := "connection broken off"
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		what = "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		what = "connection closed early"
	}
	return &Error{Reason: ReasonConnection, What: what, Err: err}
}

// pool keeps connections to origin servers for the next request of the same
// lease. The zero value is ready to use.
type pool struct {
	mu     sync.Mutex
	closed bool
	total  int
	kept   map[hostPort][]*upstream
}

// get returns the connection that was kept last, or nil.
func (p *pool) get(hp hostPort) *upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.kept[hp]
	if len(list) == 0 {
		return nil
	}
	u := list[len(list)-1]
	p.kept[hp] = list[:len(list)-1]
	p.total--
	if time.Since(u.since) < keptFor {
		return u
	}
	u.Close()
	for _, older := range p.kept[hp] {
		older.Close()
		p.total--
	}
	delete(p.kept, hp)
	return nil
}

// put keeps a connection, or closes it where there are enough.
func (p *pool) put(u *upstream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.kept[u.hp]) >= keptPerHost {
		u.Close()
		return
	}
	for hp, list := range p.kept { // make room at the expense of any host
		if p.total < keptTotal {
			break
		}
		for _, old := range list {
			old.Close()
			p.total--
		}
		delete(p.kept, hp)
	}
	if p.kept == nil {
		p.kept = make(map[hostPort][]*upstream)
	}
	u.since = time.Now()
	p.kept[u.hp] = append(p.kept[u.hp], u)
	p.total++
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, list := range p.kept {
		for _, u := range list {
			u.Close()
		}
	}
	p.kept = nil
}
