package acttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/policy"
	"github.com/bellglass/bellglass/tools"
)

var anywhere = bellglass.SessionOptions{Mode: policy.ModePublic, AllowInsecureHTTP: true}

// reason is that of an error of the library.
func reason(err error) bellglass.Reason {
	var e *bellglass.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Reason
}

// TestNobodyIsNoPrincipal: a session without a tenant or a run is refused
// before anything is started, whatever else is given.
func TestNobodyIsNoPrincipal(t *testing.T) {
	t.Parallel()
	b, err := bellglass.New(bellglass.Options{Getenv: func(string) string { return "" }, BrowserBin: "/nonexistent/browser"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, p := range []bellglass.Principal{{}, {Tenant: "a"}, {Run: "a"}, {Tenant: " \t", Run: "x"}} {
		if _, err := b.Open(t.Context(), p, anywhere); err == nil || !strings.Contains(err.Error(), "Principal") {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if _, err := b.Open(t.Context(), who, bellglass.SessionOptions{Allow: []string{"*"}}); err == nil || reason(err) != "" {
		t.Errorf("bad options: %v", err)
	}
	if _, err := b.Open(t.Context(), who, anywhere); reason(err) != bellglass.ReasonBrowserMissing {
		t.Errorf("no browser: %v", err)
	}
}

// TestWithClosesWhateverHappens: on return, error, panic and cancellation.
func TestWithClosesWhateverHappens(t *testing.T) {
	t.Parallel()
	url := serve("with.test", "<!doctype html><title>With</title>here")
	mine := errors.New("mine")
	var kept []*bellglass.Session
	use := func(s *bellglass.Session) {
		kept = append(kept, s)
		if v := s.Navigate(context.Background(), bellglass.NavigateRequest{URL: url}); v.Status != bellglass.StatusOK {
			t.Errorf("%s: %v", v.Reason, v.Err)
		}
	}
	if err := bg.With(t.Context(), who, anywhere, func(s *bellglass.Session) error { use(s); return nil }); err != nil {
		t.Error(err)
	}
	if err := bg.With(t.Context(), who, anywhere, func(s *bellglass.Session) error { use(s); return mine }); !errors.Is(err, mine) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		bg.With(t.Context(), who, anywhere, func(s *bellglass.Session) error { use(s); panic("x") })
	}()
	ctx, cancel := context.WithCancel(t.Context())
	bg.With(ctx, who, anywhere, func(s *bellglass.Session) error {
		use(s)
		cancel()
		<-s.Done()
		return nil
	})
	for i, s := range kept {
		select {
		case <-s.Done():
		default:
			t.Errorf("session %d is open", i)
		}
		if v := s.State(t.Context(), bellglass.StateRequest{}); v.Reason != bellglass.ReasonUnknownSession || v.Page != nil {
			t.Errorf("session %d: %s", i, v.Reason)
		}
		if _, err := bg.Session(who, s.ID()); reason(err) != bellglass.ReasonUnknownSession {
			t.Errorf("session %d is still known: %v", i, err)
		}
	}
}

// TestIdleAndOldSessionsEnd, and a call keeps one alive.
func TestIdleAndOldSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]bellglass.SessionOptions{
		"idle": {IdleTimeout: 300 * time.Millisecond}, "old": {MaxAge: 300 * time.Millisecond},
	} {
		s, err := bg.Open(t.Context(), who, o)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.Done():
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it has not ended", name)
		}
		if err := s.Close(); err != nil { // returns when it is over
			t.Error(err)
		}
	}
}

// TestASessionIsItsTenants: a handle is of no use to anybody else.
func TestASessionIsItsTenants(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{})
	if s, err := bg.Session(bellglass.Principal{Tenant: "test", Run: "another"}, a.s.ID()); err != nil || s != a.s {
		t.Errorf("its own tenant: %v", err)
	}
	for _, p := range []bellglass.Principal{{Tenant: "other", Run: "run"}, {}, {Tenant: " ", Run: "run"}} {
		if _, err := bg.Session(p, a.s.ID()); reason(err) != bellglass.ReasonUnknownSession {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if len(a.s.ID()) < 26 {
		t.Errorf("handle %q is short", a.s.ID())
	}
}

// TestQuota: a tenant's sessions are bounded, and so are all pages.
func TestQuota(t *testing.T) {
	t.Parallel()
	p := bellglass.Principal{Tenant: "test", Run: "quota"}
	o := anywhere
	o.MaxPerTenant = 1 // others of this tenant are open
	if _, err := bg.Open(t.Context(), p, bellglass.SessionOptions{MaxPerTenant: 1}); err == nil {
		s, err := bg.Open(t.Context(), p, o)
		if reason(err) != bellglass.ReasonTenantQuota {
			t.Errorf("got %v", err)
		}
		if err == nil {
			s.Close()
		}
	} else if reason(err) != bellglass.ReasonTenantQuota {
		t.Errorf("got %v", err)
	}
}

// TestCallsOfASessionAreSerialised, and one that waits can be cancelled.
func TestCallsOfASessionAreSerialised(t *testing.T) {
	t.Parallel()
	gate, entered := make(chan struct{}), make(chan struct{}, 10)
	web.Handle("slow.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "<!doctype html><title>Slow</title>slow")
	}))
	a := open(t, bellglass.SessionOptions{})
	var wg sync.WaitGroup
	wg.Go(func() { a.s.Navigate(context.Background(), bellglass.NavigateRequest{URL: "http://slow.test/"}) })
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if v := a.s.State(ctx, bellglass.StateRequest{}); v.Reason != bellglass.ReasonCancelled {
			t.Errorf("a call that was cancelled while it waited: %s", v.Reason)
		}
	})
	cancel()
	close(gate)
	wg.Wait()
	if v := a.s.State(t.Context(), bellglass.StateRequest{}); v.Status != bellglass.StatusOK || !strings.Contains(v.Digest(), "slow") {
		t.Errorf("%s\n%s", v.Reason, v.Digest())
	}
}

// TestSessionTools: the tools with sessions of their own: a default one for
// each principal, or handles.
func TestSessionTools(t *testing.T) {
	t.Parallel()
	url := serve("tools.test", "<!doctype html><title>Tools</title><button>Go</button>")
	call := func(s *tools.Sessions, p bellglass.Principal, name, args string) tools.Result {
		for _, tool := range s.Tools() {
			if tool.Name == name {
				return tool.Call(t.Context(), p, json.RawMessage(args))
			}
		}
		t.Fatalf("no tool %s", name)
		return tools.Result{}
	}
	o := anywhere
	o.Guardrails.DeniedTools = []string{"browser_screenshot"}
	s, err := tools.NewSessions(bg, tools.SessionsOptions{Session: o})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Tools()); n != 6 {
		t.Errorf("%d tools", n)
	}
	p := bellglass.Principal{Tenant: "test", Run: "tools"}
	if r := call(s, p, "browser_state", `{}`); r.Fields["reason"] != "unknown_session" {
		t.Errorf("before any page: %s", r.Text)
	}
	if r := call(s, p, "browser_navigate", `{"url":"`+url+`"}`); r.IsError {
		t.Errorf("navigate: %s", r.Text)
	}
	if r := call(s, p, "browser_state", `{}`); r.IsError || r.Fields["session"] != nil {
		t.Errorf("state: %s", r.Text)
	}
	if r := call(s, p, "browser_state", `{"session":"x"}`); r.Fields["reason"] != "unknown_session" {
		t.Errorf("another handle: %s", r.Text)
	}
	if r := call(s, bellglass.Principal{Tenant: "test", Run: "another"}, "browser_state", `{}`); r.Fields["reason"] != "unknown_session" {
		t.Errorf("another run: %s", r.Text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if r := call(s, p, "browser_state", `{}`); r.Fields["reason"] != "unknown_session" {
		t.Errorf("after close: %s", r.Text)
	}

	h, err := tools.NewSessions(bg, tools.SessionsOptions{Session: o, Handles: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := call(h, p, "browser_navigate", `{"url":"`+url+`"}`)
	id, _ := r.Fields["session"].(string)
	if r.IsError || id == "" || !strings.HasPrefix(r.Text, "session: "+id) {
		t.Fatalf("handle: %s", r.Text)
	}
	if r := call(h, p, "browser_state", `{}`); r.Fields["reason"] != "unknown_session" {
		t.Errorf("without a handle: %s", r.Text)
	}
	if r := call(h, p, "browser_click", `{"session":"`+id+`","index":0,"generation":1}`); r.IsError {
		t.Errorf("with it: %s", r.Text)
	}
	if r := call(h, bellglass.Principal{Tenant: "evil", Run: "tools"}, "browser_state", `{"session":"`+id+`"}`); r.Fields["reason"] != "unknown_session" {
		t.Errorf("somebody else: %s", r.Text)
	}
	for _, args := range []string{`{"session":5}`, `{"session":"` + id + `","index":0}`, `{"session":"` + id + `","generation":1}`, `{"session":"` + id + `","index":-1,"generation":1}`, `{"session":"` + id + `","index":"0","generation":1}`, `{"session":"` + id + `","index":0.5,"generation":1}`} {
		if r := call(h, p, "browser_click", args); r.Fields["reason"] != "invalid_argument" {
			t.Errorf("%s: %s", args, r.Text)
		}
	}
	if r := call(h, p, "browser_navigate", `{"session":"`+id+`","close":true}`); r.IsError {
		t.Errorf("close: %s", r.Text)
	}
	if r := call(h, p, "browser_state", `{"session":"`+id+`"}`); r.Fields["reason"] != "unknown_session" {
		t.Errorf("after closing: %s", r.Text)
	}
}
