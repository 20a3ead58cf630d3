package egress

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// How long answers are remembered, and how many. The resolver of the standard
// library does not tell the time an answer may live; a few seconds spare the
// second and further connections of a page their look-up, and are short
// against what any zone promises. Addresses are judged on every use.
const (
	cacheFound   = 10 * time.Second
	cacheMissing = 2 * time.Second
	cacheSize    = 4096
)

// lookup returns the addresses of a host, at least one and each once. The
// error is an [*Error].
func (g *Gate) lookup(ctx context.Context, host policy.Host) ([]netip.Addr, error) {
	if host.Addr.IsValid() {
		return []netip.Addr{host.Addr}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, or(g.DNSTimeout, defaultDNSTimeout))
	defer cancel()
	var (
		addrs []netip.Addr
		err   error
	)
	if g.Resolve != nil {
		addrs, err = g.Resolve(ctx, host.Name)
	} else {
		addrs, err = g.cache.get(ctx, host.Name, func() ([]netip.Addr, error) { return g.resolve(ctx, host.Name) })
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, &Error{Reason: ReasonDNS, What: "look-up timed out", Err: err}
	case err != nil:
		return nil, &Error{Reason: ReasonDNS, What: "look-up failed", Err: err}
	case len(addrs) == 0:
		return nil, &Error{Reason: ReasonDNS, What: "name without addresses"}
	case len(addrs) > maxAnswers:
		return nil, &Error{Reason: ReasonDNS, What: "too many addresses"}
	}
	return distinct(addrs), nil
}

// resolve asks the system, or the servers of the Gate.
func (g *Gate) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	r := net.DefaultResolver
	if len(g.Servers) > 0 {
		r = &net.Resolver{
			PreferGo: true,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				// The resolver asks again, by another Dial, when
				// there is no answer: chance finds a live server.
				server := g.Servers[rand.IntN(len(g.Servers))]
				return new(net.Dialer).DialContext(ctx, network, server.String())
			},
		}
	}
	// The final dot keeps search lists out of it.
	addrs, err := r.LookupNetIP(ctx, "ip", name+".")
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap() // the standard library's form of an A record
	}
	return addrs, nil
}

// distinct returns addrs without repetitions, in order. It never returns its
// argument's memory, which may belong to a cache.
func distinct(addrs []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// cache remembers answers for a short time. Concurrent questions for a name
// are asked once. The zero value is an empty cache.
type cache struct {
	mu      sync.Mutex
	answers map[string]*answer
}

type answer struct {
	done    chan struct{} // closed when the fields below are set
	addrs   []netip.Addr
	err     error
	expires time.Time
}

// get returns what ask returned for this name lately, or asks.
func (c *cache) get(ctx context.Context, name string, ask func() ([]netip.Addr, error)) ([]netip.Addr, error) {
	for {
		c.mu.Lock()
		a := c.answers[name]
		if a == nil {
			a = &answer{done: make(chan struct{})}
			c.put(name, a)
			c.mu.Unlock()
			return c.fill(name, a, ask)
		}
		c.mu.Unlock()
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if time.Now().Before(a.expires) {
			return a.addrs, a.err
		}
		c.forget(name, a)
	}
}

func (c *cache) fill(name string, a *answer, ask func() ([]netip.Addr, error)) ([]netip.Addr, error) {
	defer close(a.done)
	a.addrs, a.err = ask()
	var dns *net.DNSError
	switch {
	case a.err == nil:
		a.expires = time.Now().Add(cacheFound)
	case errors.As(a.err, &dns) && dns.IsNotFound:
		a.expires = time.Now().Add(cacheMissing)
	default: // a timeout or a cancelled asker says nothing about the name
		c.forget(name, a)
	}
	return a.addrs, a.err
}

// put stores an answer, and makes room for it. The caller holds mu.
func (c *cache) put(name string, a *answer) {
	if c.answers == nil {
		c.answers = make(map[string]*answer)
	}
	for old := range c.answers { // any will do: all are a few seconds old
		if len(c.answers) < cacheSize {
			break
		}
		delete(c.answers, old)
	}
	c.answers[name] = a
}

func (c *cache) forget(name string, a *answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[name] == a {
		delete(c.answers, name)
	}
}
