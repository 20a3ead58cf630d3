package testweb

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Answer is one scripted reply of the resolver. Make one with [Addrs],
// [NotFound] or [ServFail], and slow it down with [Answer.After].
type Answer struct {
	addrs []netip.Addr
	err   net.DNSError // without the name
	delay time.Duration
}

// script is what the resolver says about one name, query by query.
type script struct {
	answers []Answer
	asked   int
}

// Addrs is the answer that lists these addresses, in this order, public or
// not. It panics on what is not an address.
func Addrs(addrs ...string) Answer {
	var a Answer
	for _, s := range addrs {
		a.addrs = append(a.addrs, netip.MustParseAddr(s))
	}
	return a
}

// NotFound is the answer NXDOMAIN.
func NotFound() Answer {
	return Answer{err: net.DNSError{Err: "no such host", IsNotFound: true}}
}

// ServFail is the answer SERVFAIL, which the resolver calls temporary.
func ServFail() Answer {
	return Answer{err: net.DNSError{Err: "server misbehaving", IsTemporary: true}}
}

// After returns a that comes d later.
func (a Answer) After(d time.Duration) Answer {
	a.delay = d
	return a
}

// Script sets what host resolves to: the first query gets the first answer and
// so on; the last answer is repeated. A name that alternates between answers
// is a rebinding attack. Without answers, the name is unscripted again.
func (w *Web) Script(host string, answers ...Answer) {
	host = canonical(host)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(answers) == 0 {
		delete(w.scripts, host)
		return
	}
	w.scripts[host] = &script{answers: slices.Clone(answers)}
}

// Resolve looks a name up. Handled hosts resolve to their own address, unless
// scripted otherwise. Like the resolver of an ordinary machine, it knows
// localhost, and returns an address for the text of an address: code that asks
// for those gets no help from the test. All other names do not exist; the
// error is a *net.DNSError.
func (w *Web) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	a := w.answer(host)
	if a.delay > 0 {
		t := time.NewTimer(a.delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, &net.DNSError{
			UnwrapErr: err, Err: err.Error(), Name: host,
			IsTimeout: errors.Is(err, context.DeadlineExceeded),
		}
	}
	if a.err.Err != "" {
		a.err.Name = host
		return nil, &a.err
	}
	return slices.Clone(a.addrs), nil
}

// answer notes the query and decides on the reply.
func (w *Web) answer(host string) Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolved = append(w.resolved, host)
	host = canonical(host)
	if s := w.scripts[host]; s != nil {
		a := s.answers[min(s.asked, len(s.answers)-1)]
		s.asked++
		return a
	}
	if s := w.sites[host]; s != nil {
		if w.opts.IPv6 {
			return Answer{addrs: []netip.Addr{s.v4, s.v6}}
		}
		return Answer{addrs: []netip.Addr{s.v4}}
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return Addrs("127.0.0.1", "::1")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return Answer{addrs: []netip.Addr{ip}}
	}
	return NotFound()
}

// Resolved returns every name that was asked for so far, as it was spelled, in
// order.
func (w *Web) Resolved() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.resolved)
}
