package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/policy"
)

// TestTheListenerNamesTheRun: TEN-001, TEN-008. What a client says about
// itself changes nothing.
func TestTheListenerNamesTheRun(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(http.ResponseWriter, *http.Request) {})
	_, a := w.run(allowed(), RunConfig{Tenant: "a", ID: "1"})
	forB := allowed()
	forB.Allow = []string{"evil.test"} // b may, a may not
	_, b := w.run(forB, RunConfig{Tenant: "b", ID: "2"})
	w.at(addrEvil, 80, w.http(func(http.ResponseWriter, *http.Request) {}).Listener.Addr())
	if resp, _ := ask(t, b, getFrom("http://evil.test/")); resp.StatusCode != 200 {
		t.Errorf("b: got %s", resp.Status)
	}
	refused(t, a, getFrom("http://evil.test/", "Bellglass-Tenant: Yg", "Bellglass-Run: Mg", "Proxy-Authorization: Basic Yjoy", "X-Smokescreen-Role: b"), 403, policy.ReasonHost)
	last := w.log()[len(w.log())-1]
	got := []string{string(last.Kind), last.Tenant, last.Run, last.Host, string(last.Reason)}
	if diff := cmp.Diff([]string{"decision", "a", "1", "evil.test", "host_not_allowed"}, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// TestNoConnectionIsSharedBetweenRuns: PRX-045.
func TestNoConnectionIsSharedBetweenRuns(t *testing.T) {
	w := newWorld(t, Options{})
	var conns, closed atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			conns.Add(1)
		case http.StateClosed:
			closed.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	w.at(addrAllowed, 80, s.Listener.Addr())
	_, a := w.run(allowed(), RunConfig{Tenant: "a"})
	_, b := w.run(allowed(), RunConfig{Tenant: "b"})
	for range 3 {
		ask(t, a, getFrom("http://allowed.test/"))
		settled(t, "the connection to be kept", func() bool {
			pool := &a.lease.pool
			pool.mu.Lock()
			defer pool.mu.Unlock()
			return pool.total == 1
		})
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("control: %d connections for one run, want 1", n)
	}
	ask(t, b, getFrom("http://allowed.test/"))
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections for two runs, want 2", n)
	}
	run := NewRun(RunConfig{Rules: mustRules(t, allowed())})
	a.Assign(run) // the same slot, the next run
	ask(t, a, getFrom("http://allowed.test/"))
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections for three runs, want 3", n)
	}
	settled(t, "the first run's connection to be closed", func() bool { return closed.Load() == 1 })
}

// TestOneRunCannotStarveAnother: TEN-007.
func TestOneRunCannotStarveAnother(t *testing.T) {
	w := newWorld(t, Options{MaxClients: 120})
	w.tcp(443, func(c net.Conn) { io.Copy(io.Discard, c) })
	_, a := w.run(allowed(), RunConfig{Tenant: "a", MaxConns: 100})
	_, b := w.run(allowed(), RunConfig{Tenant: "b", MaxConns: 100})
	for range 100 {
		w.begin(a)
	}
	refused(t, a, connectTo("allowed.test:443"), 429, ReasonBudget)
	for range 19 { // beyond its connections, its clients are bounded, too
		raw(t, a)
	}
	settled(t, "the clients to be served", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.clients) >= 119
	})
	raw(t, a)
	if _, err := raw(t, a).Read(make([]byte, 1)); err == nil {
		t.Error("the client beyond the limit was served")
	}
	w.begin(b)
}

// TestRequestsAndHostsAreBounded covers the two budgets that no other test
// needs.
func TestRequestsAndHostsAreBounded(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(http.ResponseWriter, *http.Request) {})
	config := allowed()
	config.Allow = []string{".allowed.test"}
	run, e := w.run(config, RunConfig{MaxHosts: 1, MaxRequests: 4})
	for i, tt := range []struct {
		host   string
		status int
		what   string
	}{
		{"allowed.test", 200, ""},
		{"other.allowed.test", 429, "hosts"},
		{"allowed.test", 200, ""},
		{"allowed.test", 200, ""},
		{"allowed.test", 429, "requests"},
	} {
		resp, _ := ask(t, e, getFrom("http://"+tt.host+"/"))
		o, _ := run.Outcome(tt.host, 80)
		if resp.StatusCode != tt.status || o.What != tt.what {
			t.Errorf("request %d: got %s, %+v, want %d %s", i+1, resp.Status, o, tt.status, tt.what)
		}
	}
}

// TestRefusalsAreBounded: a page can name as many hosts as it likes.
func TestRefusalsAreBounded(t *testing.T) {
	run := NewRun(RunConfig{})
	for i := range 3 * maxOutcomes {
		run.record(hostPort{policy.Host{Name: fmt.Sprintf("h%d.test", i)}, 443}, Outcome{Reason: policy.ReasonHost})
	}
	got := run.Refusals()
	if len(got) != maxRefused+1 || got[maxRefused].Host != "" || got[maxRefused].Count != 3*maxOutcomes-maxRefused {
		t.Errorf("%d entries, the last %+v", len(got), got[len(got)-1])
	}
	if len(run.outcomes) > maxOutcomes {
		t.Errorf("%d outcomes", len(run.outcomes))
	}
	if _, ok := run.Outcome(fmt.Sprintf("h%d.test", 3*maxOutcomes-1), 443); !ok {
		t.Error("the last outcome is gone")
	}
}

// TestTheProxyIsNotReachedThroughItself: IP-089, even where its address is
// opened.
func TestTheProxyIsNotReachedThroughItself(t *testing.T) {
	w := newWorld(t, Options{})
	target, err := w.proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	at := target.Addr().String()
	_, e := w.run(allowed(), RunConfig{})
	refused(t, e, connectTo(at), 403, policy.ReasonAddress)
	config := allowed()
	config.UnsafeAllow = []string{at, e.Addr().String()}
	_, e2 := w.run(config, RunConfig{})
	refused(t, e2, connectTo(at), 403, policy.ReasonAddress)
	refused(t, e2, getFrom("http://"+at+"/"), 403, policy.ReasonAddress)
	if d := w.dials(); len(d) != 0 {
		t.Errorf("dialed %v", d)
	}
}

// TestEveryRedirectHopIsJudged: RED-002, RED-003, RED-006, RED-007, RED-008,
// RED-013, RED-020 and RED-021. A redirect is a request like any other: the
// proxy need not know that it is one.
func TestEveryRedirectHopIsJudged(t *testing.T) {
	sentinel := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the sentinel was reached") }))
	defer sentinel.Close()
	w := newWorld(t, Options{})
	location := ""
	redirect := func(w http.ResponseWriter, r *http.Request) {
		to := location
		if n := 0; r.URL.Query().Has("n") {
			fmt.Sscan(r.URL.Query().Get("n"), &n)
			if n < 5 {
				to = fmt.Sprintf("%s://h%d.allowed.test/?n=%d", map[bool]string{true: "https", false: "http"}[r.TLS != nil], n, n+1)
			}
		}
		status := http.StatusFound
		if r.URL.Path == "/303" {
			status = http.StatusSeeOther
		}
		http.Redirect(w, r, to, status)
	}
	plain, secure := w.http(redirect), w.tls(redirect)
	for i := range 5 {
		w.names[fmt.Sprintf("h%d.allowed.test", i)] = w.names["allowed.test"]
	}
	config := allowed()
	config.Allow = []string{".allowed.test"}
	httpsOnly := config
	httpsOnly.AllowInsecureHTTP = false
	for _, tt := range []struct {
		id, from, to string
		config       policy.Config
		host         string
		port         uint16
		reason       policy.Reason
	}{
		{"RED-002", "http://allowed.test/", sentinel.URL, config, "127.0.0.1", 0, policy.ReasonAddress},
		{"RED-002 https", "https://allowed.test/", sentinel.URL, config, "127.0.0.1", 0, policy.ReasonAddress},
		{"RED-003", "http://allowed.test/303", sentinel.URL, config, "127.0.0.1", 0, policy.ReasonAddress},
		{"RED-006", "https://allowed.test/", "https://evil.test/", config, "evil.test", 443, policy.ReasonHost},
		{"RED-007", "http://allowed.test/r", "http://169.254.169.254/", config, "169.254.169.254", 80, policy.ReasonAddress},
		{"RED-008", "http://allowed.test/?n=0", "http://10.0.0.1/", config, "10.0.0.1", 80, policy.ReasonAddress},
		{"RED-008 https", "https://allowed.test/?n=0", "https://10.0.0.1/", config, "10.0.0.1", 443, policy.ReasonAddress},
		{"RED-013", "http://allowed.test/", "http://allowed.test@evil.test/", config, "evil.test", 80, policy.ReasonHost},
		{"RED-020", "https://allowed.test/", "http://allowed.test/", httpsOnly, "allowed.test", 80, policy.ReasonScheme},
		{"RED-021", "http://allowed.test/", "http://allowed.test:8443/", config, "allowed.test", 8443, policy.ReasonPort},
	} {
		location = tt.to
		run, e := w.run(tt.config, RunConfig{})
		server := plain
		if strings.HasPrefix(tt.from, "https:") {
			server = secure
		}
		c := client(t, e, server)
		c.CheckRedirect = nil
		if resp, err := c.Get(tt.from); err == nil { // over https the proxy's refusal is an error
			if resp.Body.Close(); resp.StatusCode != 403 {
				t.Errorf("%s: got %s", tt.id, resp.Status)
			}
		}
		port := tt.port
		if port == 0 {
			port = uint16(sentinel.Listener.Addr().(*net.TCPAddr).Port)
		}
		if o, ok := run.Outcome(tt.host, port); !ok || o.Reason != tt.reason {
			t.Errorf("%s: outcome of %s:%d is %+v, want %s", tt.id, tt.host, port, o, tt.reason)
		}
	}
	for _, name := range w.lookups() {
		if name == "evil.test" {
			t.Error("evil.test was looked up")
		}
	}
}

// TestLocationCannotInjectHeaders: RED-014.
func TestLocationCannotInjectHeaders(t *testing.T) {
	w := newWorld(t, Options{})
	var seen []string
	w.http(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.RequestURI+" "+r.Header.Get("X-Injected"))
		if r.URL.Path == "/" {
			http.Redirect(w, r, "http://allowed.test/a%0d%0aX-Injected:%201", http.StatusFound)
		}
	})
	_, e := w.run(allowed(), RunConfig{})
	c := client(t, e, nil)
	c.CheckRedirect = nil
	get(t, c, "http://allowed.test/")
	if diff := cmp.Diff([]string{"/ ", "/a%0d%0aX-Injected:%201 "}, seen); diff != "" {
		t.Errorf("origin saw (-want +got):\n%s", diff)
	}
}

// TestCertificateFetchesAreRefused: TLS-008. Chromium fetches missing
// intermediates with a plain GET through the proxy of the context.
func TestCertificateFetchesAreRefused(t *testing.T) {
	w := newWorld(t, Options{})
	run, e := w.run(allowed(), RunConfig{})
	refused(t, e, getFrom("http://aia.evil.test/ca.crt"), 403, policy.ReasonHost)
	if got := run.Refusals(); len(got) != 1 || got[0].Host != "aia.evil.test" {
		t.Errorf("refusals %+v", got)
	}
}

// TestFrontingIsPossible: TLS-005. What is asked for inside TLS cannot be seen
// without breaking it open: whoever allows a host of a shared front allows
// what else stands behind it. The test records that, so that nobody promises
// otherwise.
func TestFrontingIsPossible(t *testing.T) {
	w := newWorld(t, Options{})
	s := w.tls(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })
	_, e := w.run(allowed(), RunConfig{})
	req, err := http.NewRequest("GET", "https://allowed.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "other-site.test"
	resp, err := client(t, e, s).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "other-site.test" {
		t.Errorf("the server saw %s", body)
	}
}

func TestObservedHostsAreListed(t *testing.T) {
	w := newWorld(t, Options{})
	s := w.http(func(http.ResponseWriter, *http.Request) {})
	w.at(addrEvil, 80, s.Listener.Addr())
	config := allowed()
	config.Observe = true
	run, e := w.run(config, RunConfig{})
	for _, host := range []string{"allowed.test", "evil.test", "evil.test"} {
		if resp, _ := ask(t, e, getFrom("http://"+host+"/")); resp.StatusCode != 200 {
			t.Errorf("%s: got %s", host, resp.Status)
		}
	}
	refused(t, e, getFrom("http://10.0.0.1/"), 403, policy.ReasonAddress)
	if diff := cmp.Diff([]string{"evil.test:80"}, run.Needed()); diff != "" {
		t.Errorf("needed (-want +got):\n%s", diff)
	}
}

// TestUnusedConnectionsGoToTheNextRun: a browser opens connections ahead.
func TestUnusedConnectionsGoToTheNextRun(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(http.ResponseWriter, *http.Request) {})
	e, err := w.proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	early := raw(t, e)
	settled(t, "the connection to be accepted", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.clients) == 1
	})
	e.Assign(NewRun(RunConfig{Rules: mustRules(t, allowed())}))
	io.WriteString(early, getFrom("http://allowed.test/"))
	if resp, _ := readAnswer(t, bufio.NewReader(early)); resp.StatusCode != 200 {
		t.Errorf("got %s", resp.Status)
	}
	e.Release() // a connection that was used does not
	if _, err := early.Read(make([]byte, 1)); err == nil {
		t.Error("the connection outlived its run")
	}
}
