// Package egressd is the egress proxy as a program of its own: roles from a
// strict YAML file, each with its own listener or known by client certificates,
// with reloads, a graceful end, audit lines and metrics.
//
// It judges nothing itself: packages policy and egress do. It knows no browser
// and no tools, so that the program which holds the only way out stays small.
package egressd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellglass/bellglass/egress"
)

// Options of a [Server]. Log and Stdout are required.
type Options struct {
	Log     *slog.Logger // what an operator should know; never a host that was asked for, except what observe lacks
	Stdout  writer       // for audit lines, if the file says so
	Version string       // shown by /healthz and /metrics
}

// Server is a running proxy. Close it.
type Server struct {
	opts    Options
	gate    *egress.Gate
	metrics *metrics
	audit   *audit
	mtls    *mtls        // nil without
	admin   *http.Server // nil without
	adminAt net.Addr

	mu       sync.Mutex
	cfg      *Config
	roles    map[string]*served
	gone     []*served      // that a reload took away, until their last byte is counted
	leaving  sync.WaitGroup // of these, and of listeners that a reload took away
	draining bool
	failed   bool // the last reload
}

// served is a role with what serves it. Each has a proxy of its own, so that
// its events are known for its.
type served struct {
	name    string
	run     *egress.Run
	proxy   *egress.Proxy
	at      string           // of end; "" without listener
	end     *egress.Endpoint // of the listener
	clients *fed             // of the mtls listener; nil without
}

// Start opens all listeners. The caller must call [Server.Close].
func Start(c *Config, o Options) (*Server, error) {
	s := &Server{opts: o, cfg: c, roles: make(map[string]*served)}
	s.gate = &egress.Gate{Servers: c.servers, DNSTimeout: c.dns.timeout, DialTimeout: c.dialTimeout, Foreign: c.foreign}
	s.metrics = newMetrics(s, o.Version)
	s.audit = &audit{stdout: o.Stdout, failed: s.metrics.auditFailed}
	err := s.audit.open(c.audit.value)
	if err == nil {
		err = s.open(c)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("egressd: %w", err)
	}
	s.metrics.loaded()
	s.announce(c)
	return s, nil
}

func (s *Server) open(c *Config) error {
	if c.mtls.at != 0 {
		ln, err := listen(c.mtls.listen.value)
		if err != nil {
			return err
		}
		s.mtls = newMTLS(ln, c.tlsConfig, s.metrics.strangers.Inc)
	}
	if c.admin.value != "none" {
		ln, err := listen(c.admin.value)
		if err != nil {
			return err
		}
		s.adminAt = ln.Addr()
		s.admin = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
		go s.admin.Serve(ln)
	}
	opened, err := s.listen(c)
	if err != nil {
		return err
	}
	s.apply(c, opened)
	return nil
}

func listen(at string) (net.Listener, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	return lc.Listen(context.Background(), "tcp", at)
}

// listen opens the listeners of a configuration that are not open yet, all or
// none.
func (s *Server) listen(c *Config) (map[string]net.Listener, error) {
	open := map[string]bool{}
	for _, r := range s.roles {
		open[r.at] = true
	}
	opened := map[string]net.Listener{}
	for _, r := range c.roles {
		at := r.listen.value
		if at == "" || open[at] {
			continue
		}
		ln, err := listen(at)
		if err != nil {
			for _, ln := range opened {
				ln.Close()
			}
			return nil, fmt.Errorf("role %s: %w", r.name, err)
		}
		opened[at] = ln
	}
	return opened, nil
}

// apply puts a configuration into force. It cannot fail. The caller holds mu,
// or is alone.
func (s *Server) apply(c *Config, opened map[string]net.Listener) {
	wanted := map[string]*role{}
	for _, r := range c.roles {
		wanted[r.name] = r
	}
	ends := map[string]*egress.Endpoint{} // of listeners that change hands
	for name, old := range s.roles {
		r := wanted[name]
		if r != nil && r.listen.value == old.at {
			continue
		}
		if end := old.end; end != nil {
			ends[old.at] = end
			old.end, old.at = nil, ""
		}
		if r == nil { // the operator took the role away: at once
			delete(s.roles, name)
			s.gone = append(s.gone, old)
			s.leaving.Go(func() { s.dismiss(old) })
		}
	}
	for _, end := range ends {
		s.leaving.Go(func() { end.Close() })
	}
	known := map[string]*served{} // by identity
	for _, r := range c.roles {
		x := s.roles[r.name]
		if x == nil {
			x = s.serve(r, c.maxClients)
			s.roles[r.name] = x
		} else if n := x.run.Update(r.run); n > 0 {
			s.opts.Log.Info("connections that the new rules do not allow were cut", "role", r.name, "count", n)
		}
		if at := r.listen.value; at != x.at {
			x.at, x.end = at, x.proxy.Serve(opened[at])
			x.end.Assign(x.run)
		}
		for _, t := range r.clients {
			known[t.value] = x
		}
		if len(r.clients) > 0 && x.clients == nil {
			x.clients = newFed(s.mtls.ln.Addr())
			x.proxy.Serve(x.clients).Assign(x.run)
		}
	}
	if s.mtls != nil {
		s.mtls.admit(c.tlsConfig, known)
	}
	s.cfg = c
}

// dismiss closes what a role has open, and keeps its counts.
func (s *Server) dismiss(x *served) {
	x.proxy.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = slices.DeleteFunc(s.gone, func(y *served) bool { return x == y })
	s.observed(x)
	s.metrics.retire(x.run)
}

// serve makes a role that nobody has yet.
func (s *Server) serve(r *role, maxClients int) *served {
	x := &served{name: r.name, run: egress.NewRun(r.run)}
	x.proxy = egress.NewProxy(s.gate, egress.Options{
		Gateway: s.cfg.gateway, MaxClients: maxClients,
		OnEvent: func(e egress.Event) {
			s.metrics.event(e)
			s.audit.event(r.name, e)
		},
	})
	return x
}

// announce logs what an operator should know of a configuration.
func (s *Server) announce(c *Config) {
	log := s.opts.Log
	for _, r := range c.roles {
		log.Info("role", "role", r.name, "listen", r.listen.value, "clients", strings.Join(values(r.clients), " "), "mode", r.mode.value)
		for _, t := range r.unsafeAllow {
			log.Warn("unsafe_allow opens an address that is otherwise refused", "role", r.name, "address", t.value)
		}
		for _, t := range r.cidrs {
			log.Warn("allowed_private_cidrs opens a private range to listed hosts", "role", r.name, "range", t.value)
		}
		if r.observe {
			log.Warn("observe lets any public name through", "role", r.name)
		}
	}
	if at := c.admin.value; at != "none" && !loopback(at) {
		log.Warn("the admin listener is not on loopback; nobody is asked who they are there", "address", at)
	}
	switch {
	case c.gateway != nil:
		log.Info("connections are made by a gateway", "address", c.gateway.Addr())
	case c.foreign != nil:
		log.Info("connections are made by a forward proxy", "address", c.foreign.Addr)
	}
}

// observed logs what the allowlist of a role lacks.
func (s *Server) observed(x *served) {
	if needed := x.run.Needed(); len(needed) > 0 {
		s.opts.Log.Info("observed: let through, and on no list", "role", x.name, "hosts", strings.Join(needed, " "))
	}
}

// Reload puts another configuration into force. Connections that it allows go
// on; the rest is cut. What only a restart can change must be the same, else
// nothing is changed, as with any other error.
func (s *Server) Reload(c *Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.reload(c)
	s.failed = err != nil
	s.metrics.reloaded(err)
	if err != nil {
		return fmt.Errorf("egressd: reload: %w", err)
	}
	s.announce(c)
	return nil
}

// ReloadFailed notes that there is no configuration to reload.
func (s *Server) ReloadFailed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
	s.metrics.reloaded(err)
}

func (s *Server) reload(c *Config) error {
	if s.draining {
		return errors.New("the proxy is ending")
	}
	var changed []string
	before, after := s.cfg.fixed(), c.fixed()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("%s changed, which takes a restart", strings.Join(changed, ", "))
	}
	for _, r := range c.roles {
		for name, x := range s.roles {
			if name != r.name && x.at != "" && x.at == r.listen.value {
				return fmt.Errorf("listener %s went from role %s to role %s, which takes a restart", x.at, name, r.name)
			}
		}
	}
	opened, err := s.listen(c)
	if err != nil {
		return err
	}
	if err := s.audit.open(c.audit.value); err != nil {
		for _, ln := range opened {
			ln.Close()
		}
		return err
	}
	c.gateway, c.foreign = s.cfg.gateway, s.cfg.foreign // the same, with their connections
	for _, x := range s.roles {
		s.observed(x)
	}
	s.apply(c, opened)
	return nil
}

// Drain lets nobody in any more, and ends when the last connection has, or ctx
// is over and what is left was cut. It returns how many that were. The admin
// listener stays until [Server.Close].
func (s *Server) Drain(ctx context.Context) int {
	s.mu.Lock()
	s.draining = true
	roles := slices.Collect(maps.Values(s.roles))
	s.mu.Unlock()
	if s.mtls != nil {
		s.mtls.close()
	}
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		cut int
	)
	for _, x := range roles {
		wg.Go(func() {
			n := x.proxy.Drain(ctx)
			mu.Lock()
			defer mu.Unlock()
			cut += n
		})
	}
	wg.Wait()
	return cut
}

// Close cuts everything that is open. It may be called after [Server.Drain],
// and more than once.
func (s *Server) Close() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	s.Drain(over)
	s.leaving.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil {
		s.admin.Close()
	}
	for _, x := range s.roles {
		s.observed(x)
		s.metrics.retire(x.run)
	}
	clear(s.roles)
	s.audit.close()
}

// drainTime is for how long the operator lets tunnels go on.
func (s *Server) drainTime() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.drain
}

// snapshot is what metrics read.
func (s *Server) snapshot() (roles []*served, draining, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.roles)), s.draining, s.failed
}
