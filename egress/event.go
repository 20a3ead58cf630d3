package egress

import (
	"log/slog"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// EventKind says which moment of an attempt an [Event] describes.
type EventKind string

const (
	// EventDecision comes once per attempt, when it is refused, has failed
	// or is connected.
	EventDecision EventKind = "decision"
	// EventClose comes once per attempt that was connected, when it ends.
	EventClose EventKind = "close"
)

// Event is one decision or one close: what an audit log and counters need to
// know. It holds no resolved address, no path and nothing of what was carried.
type Event struct {
	Kind   EventKind
	Time   time.Time
	Tenant string // "" where the endpoint has no run
	Run    string
	Method string // "CONNECT" or the method of a plain http request; "" if unreadable
	Host   string // canonical; "" if unreadable
	Port   uint16
	Class  policy.Class  // of the address judged, "" if none was
	Reason policy.Reason // why not, or why no longer; "" if connected, or ended by a peer
	What   string        // a few words about Reason
	// Observed says that only Config.Observe of the rules let it through.
	Observed bool

	Received, Sent int64         // bytes from and to the outside; of a close only
	Resolve, Dial  time.Duration // of a decision only
	Duration       time.Duration // since the attempt was asked for
}

// LogAttrs returns the event as one canonical line for a structured log.
func (e Event) LogAttrs() []slog.Attr {
	return []slog.Attr{
		slog.String("event", string(e.Kind)),
		slog.String("tenant", e.Tenant),
		slog.String("run", e.Run),
		slog.String("method", e.Method),
		slog.String("host", e.Host),
		slog.Int("port", int(e.Port)),
		slog.String("class", string(e.Class)),
		slog.String("reason", string(e.Reason)),
		slog.String("what", e.What),
		slog.Bool("observed", e.Observed),
		slog.Int64("received", e.Received),
		slog.Int64("sent", e.Sent),
		slog.Duration("resolve", e.Resolve),
		slog.Duration("dial", e.Dial),
		slog.Duration("duration", e.Duration),
	}
}

// attempt is one request for a connection, from its head to its end.
type attempt struct {
	c     *conn
	cfg   *RunConfig // of the run when the attempt began; nil without run
	start time.Time
	hp    hostPort
	route route
	ev    Event
}

// begin begins an attempt with its head, which is nil if it is malformed.
func (c *conn) begin(h *head) *attempt {
	a := &attempt{c: c, start: time.Now()}
	if h != nil {
		a.ev.Method = h.method
	}
	if run := c.run(); run != nil {
		a.cfg = run.config()
		a.ev.Tenant, a.ev.Run = a.cfg.Tenant, a.cfg.ID
		if a.cfg.TrustIdentity && h != nil {
			a.label(h)
		}
		run.requests.Add(1)
	}
	return a
}

// at says which host and port the attempt is about.
func (a *attempt) at(h policy.Host, port uint16) {
	a.hp = hostPort{h, port}
	a.ev.Host, a.ev.Port = h.String(), port
}

// decide records the decision: a nil error means connected.
func (a *attempt) decide(err error) {
	a.ev.Kind = EventDecision
	a.ev.Class, a.ev.Resolve, a.ev.Dial = a.route.class, a.route.dns, a.route.dial
	a.report(err)
	a.ev.Resolve, a.ev.Dial = 0, 0
}

// abandon records the end of an attempt that the client or the run let go
// before there was a decision. It is no outcome: nobody waits for one.
func (a *attempt) abandon() {
	a.ev.Kind = EventDecision
	a.ev.Class, a.ev.Resolve, a.ev.Dial = a.route.class, a.route.dns, a.route.dial
	a.ev.Reason, a.ev.What = ReasonConnection, "client left"
	a.emit()
}

// close records the end of an attempt that was connected. A nil error means
// that it ended by itself; so does any error once the run has let go.
func (a *attempt) close(err error, received, sent int64) {
	if a.c.lease.ctx.Err() != nil {
		err = errGone
	}
	a.ev.Kind = EventClose
	a.ev.Received, a.ev.Sent = received, sent
	a.report(err)
}

func (a *attempt) report(err error) {
	a.ev.Reason, a.ev.What = reasonOf(err)
	run := a.c.run()
	if run != nil && a.ev.Host != "" && (a.ev.Kind == EventDecision || a.ev.Reason != "") {
		run.record(a.hp, Outcome{Reason: a.ev.Reason, What: a.ev.What, Class: a.ev.Class})
	}
	a.emit()
}

func (a *attempt) emit() {
	if f := a.c.e.p.opts.OnEvent; f != nil {
		a.ev.Time = time.Now()
		a.ev.Duration = a.ev.Time.Sub(a.start)
		f(a.ev)
	}
}
