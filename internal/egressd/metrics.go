package egressd

import (
	"encoding/json"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/policy"
)

// reasons are the words that may be labels. A gateway's refusal carries the
// gateway's word: one that is not known here is counted as "other".
var reasons = []policy.Reason{
	policy.ReasonInvalidURL, policy.ReasonScheme, policy.ReasonURLTooLong, policy.ReasonCredentials,
	policy.ReasonHost, policy.ReasonPort, policy.ReasonAddress,
	egress.ReasonMalformed, egress.ReasonReadOnly, egress.ReasonServerName, egress.ReasonBudget,
	egress.ReasonDNS, egress.ReasonConnection, egress.ReasonUpstream,
}

// reasonLabel makes a label of a reason; none is what none is called.
func reasonLabel(r policy.Reason, none string) string {
	switch {
	case r == "":
		return none
	case slices.Contains(reasons, r):
		return string(r)
	}
	return "other"
}

// metrics counts what happens. No label names a host, a tenant or a run.
type metrics struct {
	registry  *prometheus.Registry
	decisions *prometheus.CounterVec
	closes    *prometheus.CounterVec
	budgets   *prometheus.CounterVec
	open      prometheus.Gauge
	resolve   prometheus.Histogram
	dial      prometheus.Histogram
	length    prometheus.Histogram
	strangers prometheus.Counter
	lost      prometheus.Counter
	reloads   *prometheus.CounterVec
	loadTime  prometheus.Gauge

	mu             sync.Mutex
	received, sent float64 // by runs that are gone
}

func newMetrics(s *Server, version string) *metrics {
	const ns = "bellglass_egress"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help}, labels)
	}
	times := func(name, help string, buckets ...float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: ns, Name: name, Help: help, Buckets: buckets})
	}
	m := &metrics{
		registry:  prometheus.NewRegistry(),
		decisions: vec("decisions_total", "Decisions about tunnels and plain http requests, by reason (allowed where there is none) and by the class of the address judged.", "reason", "class"),
		closes:    vec("closes_total", "Ends of tunnels and plain http requests that were allowed, by reason (ended where there is none).", "reason"),
		budgets:   vec("budget_exceeded_total", "Refusals and ends because a limit of a role was hit, by limit.", "budget"),
		open:      prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Name: "open", Help: "Tunnels and plain http requests that are open."}),
		resolve:   times("resolve_seconds", "Time of look-ups, answers from memory included.", .0001, .001, .005, .02, .1, .5, 1, 5),
		dial:      times("dial_seconds", "Time until a connection was made.", .001, .005, .02, .05, .1, .25, .5, 1, 2.5, 10),
		length:    times("duration_seconds", "Life of tunnels and plain http requests.", .01, .1, 1, 10, 60, 600, 3600),
		strangers: counter("handshakes_refused_total", "Clients of the mtls listener that showed no certificate, one that nobody vouches for, or one without a role."),
		lost:      counter("audit_lost_total", "Audit lines that could not be written."),
		reloads:   vec("reloads_total", "Reloads, by whether the file was put into force.", "result"),
		loadTime:  prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Name: "config_loaded_timestamp_seconds", Help: "When the configuration in force was loaded."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Name: "build_info", Help: "Always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(m.decisions, m.closes, m.budgets, m.open, m.resolve, m.dial, m.length, m.strangers, m.lost, m.reloads, m.loadTime, build,
		&carried{s: s, m: m},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: ns, Name: "clients", Help: "Client connections that are open."}, func() float64 {
			n := 0
			roles, _, _ := s.snapshot()
			for _, x := range roles {
				n += x.proxy.Clients()
			}
			return float64(n)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: ns, Name: "reload_failed", Help: "1 if the last reload failed and the rules before it are in force."}, func() float64 {
			if _, _, failed := s.snapshot(); failed {
				return 1
			}
			return 0
		}),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// carried counts bytes as they move, and not only when a tunnel ends.
type carried struct {
	s *Server
	m *metrics
}

var bytesDesc = prometheus.NewDesc("bellglass_egress_bytes_total",
	"Bytes that connections to the outside have carried, framing included: received from there, or sent there.", []string{"direction"}, nil)

func (*carried) Describe(ch chan<- *prometheus.Desc) { ch <- bytesDesc }

func (c *carried) Collect(ch chan<- prometheus.Metric) {
	// Under one lock, so that a run which goes is counted once.
	c.s.mu.Lock()
	c.m.mu.Lock()
	received, sent := c.m.received, c.m.sent
	c.m.mu.Unlock()
	for _, x := range append(slices.Collect(maps.Values(c.s.roles)), c.s.gone...) {
		received += float64(x.run.Received())
		sent += float64(x.run.Sent())
	}
	c.s.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(bytesDesc, prometheus.CounterValue, received, "received")
	ch <- prometheus.MustNewConstMetric(bytesDesc, prometheus.CounterValue, sent, "sent")
}

// retire adds what a run that goes has carried.
func (m *metrics) retire(r *egress.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received += float64(r.Received())
	m.sent += float64(r.Sent())
}

func (m *metrics) event(e egress.Event) {
	if e.Reason == egress.ReasonBudget {
		m.budgets.WithLabelValues(e.What).Inc()
	}
	if e.Kind == egress.EventClose {
		m.closes.WithLabelValues(reasonLabel(e.Reason, "ended")).Inc()
		m.length.Observe(e.Duration.Seconds())
		m.open.Dec()
		return
	}
	class := string(e.Class)
	if class == "" {
		class = "none"
	}
	m.decisions.WithLabelValues(reasonLabel(e.Reason, "allowed"), class).Inc()
	if e.Reason == "" {
		m.open.Inc()
	}
	if e.Resolve > 0 {
		m.resolve.Observe(e.Resolve.Seconds())
	}
	if e.Dial > 0 && e.Reason == "" {
		m.dial.Observe(e.Dial.Seconds())
	}
}

func (m *metrics) auditFailed() { m.lost.Inc() }

func (m *metrics) loaded() { m.loadTime.SetToCurrentTime() }

func (m *metrics) reloaded(err error) {
	if err != nil {
		m.reloads.WithLabelValues("failed").Inc()
		return
	}
	m.reloads.WithLabelValues("ok").Inc()
	m.loaded()
}

// handler answers on the admin listener.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		roles, draining, failed := s.snapshot()
		status, code := "ok", http.StatusOK
		if draining {
			status, code = "draining", http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(map[string]any{"status": status, "version": s.opts.Version, "roles": len(roles), "reload_failed": failed})
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return mux
}
