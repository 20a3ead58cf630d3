package egress

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/bellglass/bellglass/policy"
)

// Budgets of a run whose RunConfig does not say otherwise. They are far above
// what a run that reads or operates pages needs, and low enough that a page
// cannot use the machine or its names as it likes.
const (
	DefaultMaxConns    = 256
	DefaultMaxRequests = 20_000
	DefaultMaxBytes    = 1 << 30
	DefaultMaxHosts    = 1000
	DefaultMaxNames    = 60
	DefaultIdleTimeout = 5 * time.Minute
	DefaultMaxDuration = time.Hour
)

// century stands for no limit in a duration; the largest one would overflow
// when added to a time.
const century = 100 * 365 * 24 * time.Hour

// Bounds of what a run remembers for its tool.
const (
	maxOutcomes = 2048
	maxRefused  = 100
	maxNeeded   = 1000
)

// RunConfig describes a run. In every budget zero means the default, and a
// negative number no limit.
type RunConfig struct {
	Tenant, ID string        // appear in events, and nowhere on the wire
	Rules      *policy.Rules // nil denies everything

	// TrustIdentity lets the client say whose events these are. It is for
	// a gateway, whose clients are proxies that have shown a certificate;
	// what they say labels events and selects nothing.
	TrustIdentity bool

	// ReadOnly refuses requests over plain http whose method is not GET,
	// HEAD or OPTIONS. Methods inside TLS cannot be seen.
	ReadOnly bool

	// Window, if positive, is the time after which requests, bytes and hosts
	// are counted anew. It is for a run that has no end, such as a role of a
	// proxy that serves many.
	Window time.Duration

	MaxConns    int   // connections to the outside at one time
	MaxRequests int64 // tunnels and plain http requests, refused ones included
	MaxBytes    int64 // sent and received by connections to the outside; up to 1 MiB more per connection may pass
	MaxHosts    int   // different hosts
	// MaxNames is the most names below one registrable domain that the run
	// may have looked up for the first time in one minute. It bounds what
	// can be told to whoever owns the domain by asking for names.
	MaxNames int

	IdleTimeout time.Duration // of a connection over which nothing moves
	MaxDuration time.Duration // of one tunnel
}

// Run is one run: its rules, its budgets and what became of its connections.
// It is safe for concurrent use.
type Run struct {
	cfg atomic.Pointer[RunConfig]

	requests, received, sent atomic.Int64
	// What of these was counted before the present window.
	pastRequests, pastBytes atomic.Int64

	mu       sync.Mutex
	window   time.Time // when the present one began
	conns    int
	hosts    map[policy.Host]bool
	names    map[string]*minute // by registrable domain
	outcomes map[string]Outcome // by host:port
	refused  map[policy.Host]*Refused
	others   int
	needed   map[hostPort]int // let through by observation only
	live     map[*live]struct{}
}

type hostPort struct {
	host policy.Host
	port uint16
}

func (hp hostPort) String() string {
	return hp.host.String() + ":" + strconv.Itoa(int(hp.port))
}

// minute counts names since a point in time.
type minute struct {
	since time.Time
	names int
}

// Outcome is what became of the last attempt to reach a host and port.
type Outcome struct {
	Reason policy.Reason // "" if connected
	What   string        // a few words without addresses, or ""
	Class  policy.Class  // of the address judged last, "" if none was
}

// Refused counts the attempts of a run to reach a host that were refused.
type Refused struct {
	Host   string // canonical; "" in the entry for all hosts beyond the first hundred
	Port   uint16 // of the last attempt
	Reason policy.Reason
	Count  int
}

// NewRun returns a run that has not reached anything yet.
func NewRun(c RunConfig) *Run {
	r := &Run{
		window:   time.Now(),
		hosts:    make(map[policy.Host]bool),
		names:    make(map[string]*minute),
		outcomes: make(map[string]Outcome),
		refused:  make(map[policy.Host]*Refused),
		needed:   make(map[hostPort]int),
		live:     make(map[*live]struct{}),
	}
	r.cfg.Store(c.withDefaults())
	return r
}

func (c RunConfig) withDefaults() *RunConfig {
	c.MaxConns = budget(c.MaxConns, DefaultMaxConns, math.MaxInt)
	c.MaxRequests = budget(c.MaxRequests, DefaultMaxRequests, math.MaxInt64)
	c.MaxBytes = budget(c.MaxBytes, DefaultMaxBytes, math.MaxInt64)
	c.MaxHosts = budget(c.MaxHosts, DefaultMaxHosts, math.MaxInt)
	c.MaxNames = budget(c.MaxNames, DefaultMaxNames, math.MaxInt)
	c.IdleTimeout = budget(c.IdleTimeout, DefaultIdleTimeout, century)
	c.MaxDuration = budget(c.MaxDuration, DefaultMaxDuration, century)
	return &c
}

// config returns the configuration of this moment.
func (r *Run) config() *RunConfig { return r.cfg.Load() }

// Update gives the run another configuration. What was counted stays counted.
// Tunnels and exchanges that the new rules do not allow are cut, and their
// number is returned; all others go on, also where the new rules do not allow
// how they began (a method, a budget).
func (r *Run) Update(c RunConfig) int {
	r.mu.Lock()
	next := c.withDefaults()
	r.cfg.Store(next)
	var revoked []*live
	for l := range r.live {
		if !l.place.allowedBy(next.Rules) {
			revoked = append(revoked, l)
		}
	}
	r.mu.Unlock()
	for _, l := range revoked {
		l.cut(errRevoked)
	}
	return len(revoked)
}

// budget resolves the two special values of a limit.
func budget[T int | int64 | time.Duration](v, standard, unlimited T) T {
	switch {
	case v == 0:
		return standard
	case v < 0:
		return unlimited
	}
	return v
}

// Outcome returns what became of the last attempt to reach host and port. Host
// may be spelled as in a URL.
func (r *Run) Outcome(host string, port uint16) (Outcome, bool) {
	h, err := policy.ParseHost(host)
	if err != nil {
		return Outcome{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.outcomes[hostPort{h, port}.String()]
	return o, ok
}

// Refusals returns the refused attempts by host, most frequent first. After a
// hundred hosts, the others share one entry without host. Failures of the
// network and exhausted budgets are not refusals.
func (r *Run) Refusals() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Refused, 0, len(r.refused)+1)
	for _, x := range r.refused {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Refused) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Host, b.Host))
	})
	if r.others > 0 {
		out = append(out, Refused{Count: r.others})
	}
	return out
}

// Needed returns, in order, the host:port pairs that were let through only
// because the rules observe: what an allowlist for the same pages lacks.
func (r *Run) Needed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, 0, len(r.needed))
	for hp := range r.needed {
		out = append(out, hp.String())
	}
	slices.Sort(out)
	return out
}

// Requests returns the number of tunnels and plain http requests asked for so
// far, refused ones included.
func (r *Run) Requests() int64 { return r.requests.Load() }

// Received and Sent return the bytes that connections to the outside have
// carried so far, TLS and HTTP framing included.
func (r *Run) Received() int64 { return r.received.Load() }
func (r *Run) Sent() int64     { return r.sent.Load() }

// overspent reports whether the run has used up its bytes.
func (r *Run) overspent() bool {
	c := r.config()
	if !r.spent(c) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(time.Now(), c.Window, 0)
	return r.spent(c)
}

func (r *Run) spent(c *RunConfig) bool {
	return r.received.Load()+r.sent.Load()-r.pastBytes.Load() >= c.MaxBytes
}

// turn begins a new window where the present one has passed. The last fresh
// requests belong to the new one. The caller holds mu.
func (r *Run) turn(now time.Time, window time.Duration, fresh int64) {
	if window <= 0 || now.Sub(r.window) < window {
		return
	}
	r.window = now
	r.pastRequests.Store(r.requests.Load() - fresh)
	r.pastBytes.Store(r.received.Load() + r.sent.Load())
	clear(r.hosts)
	for site, m := range r.names {
		if now.Sub(m.since) >= time.Minute {
			delete(r.names, site)
		}
	}
}

// admit charges the budgets for one attempt to reach a host whose name the
// rules allow. The error is an [*Error].
func (r *Run) admit(h policy.Host, now time.Time) error {
	c := r.config()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now, c.Window, 1)
	if r.requests.Load()-r.pastRequests.Load() > c.MaxRequests {
		return exhausted("requests")
	}
	if r.spent(c) {
		return exhausted("bytes")
	}
	if r.hosts[h] {
		return nil
	}
	if len(r.hosts) >= c.MaxHosts {
		return exhausted("hosts")
	}
	if h.Name != "" {
		site := h.Name
		if s, err := publicsuffix.EffectiveTLDPlusOne(h.Name); err == nil {
			site = s
		}
		m := r.names[site]
		if m == nil {
			m = new(minute)
			r.names[site] = m
		}
		if now.Sub(m.since) >= time.Minute {
			*m = minute{since: now}
		}
		if m.names >= c.MaxNames {
			return exhausted("names per minute")
		}
		m.names++
	}
	r.hosts[h] = true
	return nil
}

// acquire takes one of the run's connections; every success must be paired
// with one release. The error is an [*Error].
func (r *Run) acquire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns >= r.config().MaxConns {
		return exhausted("connections")
	}
	r.conns++
	return nil
}

func (r *Run) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns--
}

func exhausted(what string) *Error {
	return &Error{Reason: ReasonBudget, What: what}
}

// record remembers what became of an attempt.
func (r *Run) record(hp hostPort, o Outcome) {
	key := hp.String()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.outcomes[key]; !ok {
		for old := range r.outcomes { // the tool asks right away: any old one may go
			if len(r.outcomes) < maxOutcomes {
				break
			}
			delete(r.outcomes, old)
		}
	}
	r.outcomes[key] = o
	if !IsRefusal(o.Reason) {
		return
	}
	x := r.refused[hp.host]
	if x == nil {
		if len(r.refused) >= maxRefused {
			r.others++
			return
		}
		x = &Refused{Host: hp.host.String()}
		r.refused[hp.host] = x
	}
	x.Port, x.Reason = hp.port, o.Reason
	x.Count++
}

// observe notes what an operator who observes wants to know.
func (r *Run) observe(hp hostPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.needed[hp]; ok || len(r.needed) < maxNeeded {
		r.needed[hp]++
	}
}
