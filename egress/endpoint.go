package egress

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// Endpoint is one listener of a [Proxy]: one slot for one run at a time.
type Endpoint struct {
	p    *Proxy
	ln   net.Listener
	quit chan struct{}  // closed with the listener
	once sync.Once      // closes it
	wg   sync.WaitGroup // client connections

	mu       sync.Mutex
	closed   bool
	draining bool   // no new client, no new request
	lease    *lease // nil: everything is denied
	clients  map[*conn]struct{}
}

// lease is the time for which an endpoint belongs to a run.
type lease struct {
	run    *Run
	ctx    context.Context // ends with the lease
	cancel context.CancelFunc
	pool   pool
	wg     sync.WaitGroup // client connections that have asked for something
}

// Addr returns the address the endpoint listens on.
func (e *Endpoint) Addr() net.Addr { return e.ln.Addr() }

// Assign gives the endpoint to a run, after releasing it from the one before.
// Connections opened before, but not used yet, go to the new run.
func (e *Endpoint) Assign(r *Run) {
	ctx, cancel := context.WithCancel(context.Background())
	for {
		e.Release()
		e.mu.Lock()
		if e.closed {
			cancel()
		} else if e.lease != nil { // another Assign was faster
			e.mu.Unlock()
			continue
		} else {
			e.lease = &lease{run: r, ctx: ctx, cancel: cancel}
		}
		e.mu.Unlock()
		return
	}
}

// Release takes the endpoint from its run, if it has one, cuts all its
// connections and denies everything again. When it returns, the run's counters
// and outcomes are final, unless the run holds another endpoint.
func (e *Endpoint) Release() {
	e.mu.Lock()
	l := e.lease
	e.lease = nil
	if l != nil {
		l.cancel() // before anything breaks, so that nobody takes it for a failure
		for c := range e.clients {
			c.nc.Close()
		}
	}
	e.mu.Unlock()
	if l == nil {
		return
	}
	l.wg.Wait()
	l.pool.close()
}

// Drain closes the listener and the connections of clients that ask for
// nothing, and lets tunnels and requests that are open come to their end. When
// none is left, or when ctx ends, it closes the endpoint. It returns how many
// connections had to be cut.
func (e *Endpoint) Drain(ctx context.Context) int {
	e.mu.Lock()
	e.draining = true
	for c := range e.clients {
		if !c.serving {
			c.nc.Close()
		}
	}
	e.mu.Unlock()
	e.shut()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	cut := 0
	select {
	case <-done:
	case <-ctx.Done():
		e.mu.Lock()
		cut = len(e.clients)
		e.mu.Unlock()
	}
	e.Close()
	<-done
	return cut
}

// Close closes the listener and releases the endpoint. It returns when all
// goroutines of the endpoint are done.
func (e *Endpoint) Close() error {
	e.Release()
	e.mu.Lock()
	e.closed = true
	for c := range e.clients {
		c.nc.Close()
	}
	e.mu.Unlock()
	err := e.shut()
	e.wg.Wait()
	e.p.mu.Lock()
	delete(e.p.endpoints, e)
	e.p.mu.Unlock()
	return err
}

// shut closes the listener, once.
func (e *Endpoint) shut() (err error) {
	e.once.Do(func() {
		close(e.quit)
		err = e.ln.Close()
	})
	return err
}

// accept serves the listener until it is closed. When the machine has run out
// of descriptors or memory it waits and goes on.
func (e *Endpoint) accept() {
	var backoff time.Duration
	for {
		nc, err := e.ln.Accept()
		if err != nil {
			if !passing(err) {
				return
			}
			backoff = min(max(2*backoff, 5*time.Millisecond), time.Second)
			select {
			case <-time.After(backoff):
			case <-e.quit:
			}
			continue
		}
		backoff = 0
		c := &conn{e: e, nc: nc}
		if !e.enter(c) {
			nc.Close()
			continue
		}
		go c.serve()
	}
}

// passing reports whether an error of Accept is expected to go away by itself.
func passing(err error) bool {
	for _, e := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// enter admits a client connection, which must leave once.
func (e *Endpoint) enter(c *conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.draining || len(e.clients) >= e.p.opts.MaxClients {
		return false
	}
	e.clients[c] = struct{}{}
	e.wg.Add(1)
	return true
}

func (e *Endpoint) leave(c *conn) {
	e.mu.Lock()
	delete(e.clients, c)
	e.mu.Unlock()
	e.wg.Done()
}

// idle notes that a client has been answered. It reports false if it may not
// ask again.
func (e *Endpoint) idle(c *conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.serving = false
	return !e.draining
}

// bind ties a client connection to the lease of this moment, if it is not tied
// to one yet. It reports false if the connection outlived its lease, or if the
// endpoint is drained.
func (e *Endpoint) bind(c *conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return false
	}
	c.serving = true
	if c.bound {
		return c.lease == e.lease
	}
	c.bound, c.lease = true, e.lease
	if c.lease != nil {
		c.lease.wg.Add(1)
	}
	return true
}
