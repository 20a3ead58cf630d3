package bellglass

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/tab"
)

// ContextRequest says what a context must be like that
// [SessionOptions.UnsafeContext] makes.
type ContextRequest struct {
	// Principal is on whose behalf the session acts.
	Principal Principal
	// Proxy is the host:port of the proxy for all of the context's traffic; its
	// bypass list must be "<-loopback>", or loopback is reached directly. It is
	// on the machine's own loopback.
	Proxy string
}

// UnsafeBrowserContext is a browser context in a browser of the caller's: made
// for one session, with its proxy, and not used before.
type UnsafeBrowserContext struct {
	// ID is what Target.createBrowserContext answered.
	ID string
	// Read and Write are a connection to the browser that speaks as Chromium's
	// --remote-debugging-pipe does: messages of the DevTools protocol in JSON,
	// each ended by a zero byte. The session has it alone, and closes it. Both
	// are required.
	Read  io.ReadCloser
	Write io.WriteCloser
	// Kill ends the browser and returns when it is dead. It is called if the
	// context cannot be disposed of. Required.
	Kill func() error
}

// claims holds the contexts that were ever handed in, by [UnsafeBrowserContext].ID,
// which browsers draw at random from 128 bits.
var claims sync.Map

// errClaim: a context of the caller's was refused.
var errClaim = fmt.Errorf("%w: the context handed in is refused", errSeal)

// claim makes the session's page in a context of the caller's.
func (s *Session) claim(ctx context.Context) (held, error) {
	o := s.b.o
	if o.RequireSeal != "" || o.Seal != SealAuto {
		return held{}, fmt.Errorf("%w: the options ask for a seal, and a browser of the caller's has none", errClaim)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return held{}, fmt.Errorf("%w: %w", errStart, err)
	}
	end := s.b.proxy.Serve(ln)
	got, err := s.o.UnsafeContext(ctx, ContextRequest{Principal: s.who, Proxy: end.Addr().String()})
	if err != nil {
		end.Close()
		return held{}, fmt.Errorf("%w: the context was not made: %w", errStart, err)
	}
	page, guest, err := s.take(ctx, got, end)
	if err != nil {
		end.Close()
		return held{}, err
	}
	s.b.log.Warn("a session uses a context of the caller's: no seal holds it", "tenant", s.who.Tenant, "run", s.who.Run)
	return held{
		tab: page, end: end, kill: got.Kill, spoil: func() {}, dead: guest.Lost,
		close:   sync.OnceValue(func() error { return page.Close(context.Background()) }),
		release: func() { guest.Leave(); end.Close() },
	}, nil
}

// take claims a context before anything is said to its browser, and then finds
// out whether it is what it is said to be. One that is not ours to use is left
// as it is.
func (s *Session) take(ctx context.Context, got UnsafeBrowserContext, end *egress.Endpoint) (*tab.Tab, *tab.Guest, error) {
	if got.ID == "" || got.Read == nil || got.Write == nil || got.Kill == nil {
		return nil, nil, fmt.Errorf("%w: ID, Read, Write and Kill are required", errClaim)
	}
	if _, taken := claims.LoadOrStore(got.ID, true); taken {
		return nil, nil, fmt.Errorf("%w: it was handed in before", errClaim)
	}
	guest, err := tab.Visit(ctx, got.Read, got.Write, got.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errClaim, err)
	}
	err = s.probe(ctx, guest, end)
	var page *tab.Tab
	if err == nil {
		page, err = guest.Open(ctx)
	}
	if err != nil {
		guest.Leave()
		return nil, nil, fmt.Errorf("%w: %w", errClaim, err)
	}
	return page, guest, nil
}

// probeTime bounds the wait for a request that a context was told to make.
const probeTime = 10 * time.Second

// probe has the context ask for a name that exists nowhere and for an address
// on loopback: both must come to the session's proxy, which refuses them, and
// nothing to the address.
func (s *Session) probe(ctx context.Context, guest *tab.Guest, end *egress.Endpoint) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, errors.New("what it asks for does not come to its proxy"))
	defer cancel()
	sentinel, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer sentinel.Close()
	reached := make(chan struct{})
	go func() {
		if c, err := sentinel.Accept(); err == nil {
			c.Close()
			close(reached)
		}
	}()
	name := strings.ToLower(rand.Text()) + ".invalid"
	run := egress.NewRun(egress.RunConfig{Tenant: s.who.Tenant, ID: s.who.Run}) // which denies everything
	end.Assign(run)
	defer end.Release()
	for host, url := range map[string]string{name: "http://" + name + "/", "127.0.0.1": "http://" + sentinel.Addr().String() + "/"} {
		done, err := guest.Probe(ctx, url)
		if err != nil {
			return err
		}
		if err := arrives(ctx, run, host, reached); err != nil {
			return err
		}
		if err := done(ctx); err != nil {
			return err
		}
	}
	return nil
}

// arrives waits until a run was asked for a host.
func arrives(ctx context.Context, run *egress.Run, host string, reached <-chan struct{}) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if slices.ContainsFunc(run.Refusals(), func(r egress.Refused) bool { return r.Host == host }) {
			return nil
		}
		select {
		case <-tick.C:
		case <-reached:
			return errors.New("it reaches loopback without its proxy")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
