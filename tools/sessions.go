package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bellglass/bellglass"
)

// Sessions are the tools of the act profile: the tools of [bellglass.Session],
// with the sessions that they run in. Close them with the connection.
type Sessions struct {
	b *bellglass.Browser
	o SessionsOptions

	mu       sync.Mutex
	closed   bool
	defaults map[bellglass.Principal]*bellglass.Session
	own      map[string]*bellglass.Session // by handle, those opened here
}

// SessionsOptions configure [NewSessions].
type SessionsOptions struct {
	Session bellglass.SessionOptions
	// Handles: a call without a handle has no session, and browser_navigate
	// opens a new one each time. Otherwise each principal has a session of its
	// own, opened by its first browser_navigate.
	Handles bool
}

// NewSessions checks the options.
func NewSessions(b *bellglass.Browser, o SessionsOptions) (*Sessions, error) {
	if err := o.Session.Check(b); err != nil {
		return nil, err
	}
	return &Sessions{b: b, o: o, defaults: map[bellglass.Principal]*bellglass.Session{}, own: map[string]*bellglass.Session{}}, nil
}

// Tools returns the session tools, those apart that the guardrails deny.
func (s *Sessions) Tools() []Tool {
	var out []Tool
	for _, t := range SessionList(s.o.Session) {
		t.Call = s.call(t.Name)
		out = append(out, t)
	}
	return out
}

// SessionList returns the session tools that options leave, without a browser
// to run them: their Call is nil.
func SessionList(o bellglass.SessionOptions) []Tool {
	var out []Tool
	for _, t := range bellglass.SessionTools(o) {
		out = append(out, Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: withSession(t.InputSchema),
			ReadOnly: t.ReadOnly, Destructive: t.Destructive,
		})
	}
	return out
}

// withSession adds the parameter that all session tools have in common.
func withSession(schema json.RawMessage) json.RawMessage {
	const before = `"properties":{`
	s := strings.Replace(string(schema), before, before+`"session":{"type":"string"},`, 1)
	return json.RawMessage(strings.Replace(s, `,}`, `}`, 1))
}

func (s *Sessions) call(name string) func(context.Context, bellglass.Principal, json.RawMessage) Result {
	return func(ctx context.Context, p bellglass.Principal, raw json.RawMessage) Result {
		handle, rest, err := splitSession(raw)
		if err != nil {
			return badArguments(err)
		}
		ses, opened, err := s.session(ctx, p, name, handle)
		if err != nil {
			return refused(err)
		}
		r := ses.Call(ctx, name, rest)
		if ses.ID() != "" && (s.o.Handles || handle != "") {
			if opened {
				r.Text = fmt.Sprintf("session: %s\n%s", ses.ID(), r.Text)
			}
			if r.Fields == nil {
				r.Fields = map[string]any{}
			}
			r.Fields["session"] = ses.ID()
		}
		return r
	}
}

// splitSession takes the handle out of the arguments.
func splitSession(raw json.RawMessage) (handle string, rest json.RawMessage, err error) {
	var args map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &args) != nil {
		return "", raw, nil // told by the tool itself
	}
	h, ok := args["session"]
	if !ok {
		return "", raw, nil
	}
	if string(h) != "null" && json.Unmarshal(h, &handle) != nil {
		return "", nil, errors.New(`"session" must be a string`)
	}
	delete(args, "session")
	rest, err = json.Marshal(args)
	return handle, rest, err
}

// session finds the session that a call is about, or opens it.
func (s *Sessions) session(ctx context.Context, p bellglass.Principal, tool, handle string) (ses *bellglass.Session, opened bool, err error) {
	if handle != "" {
		ses, err = s.b.Session(p, handle)
		return ses, false, err
	}
	s.mu.Lock()
	if ses = s.defaults[p]; ses != nil {
		select {
		case <-ses.Done():
			delete(s.defaults, p)
			ses = nil
		default:
		}
	}
	s.mu.Unlock()
	if ses != nil {
		return ses, false, nil
	}
	if tool != "browser_navigate" {
		_, err := s.b.Session(p, "")
		return nil, false, err
	}
	if ses, err = s.b.Open(ctx, p, s.o.Session); err != nil {
		return nil, false, err
	}
	return s.keep(p, ses)
}

// keep remembers a session that was just opened.
func (s *Sessions) keep(p bellglass.Principal, ses *bellglass.Session) (*bellglass.Session, bool, error) {
	s.mu.Lock()
	other := s.defaults[p]
	switch {
	case s.closed:
		s.mu.Unlock()
		ses.Close()
		return nil, false, bellglass.ErrClosed
	case !s.o.Handles && other != nil: // another call was faster
		s.mu.Unlock()
		ses.Close()
		return other, false, nil
	case !s.o.Handles:
		s.defaults[p] = ses
	}
	for id, o := range s.own {
		select {
		case <-o.Done():
			delete(s.own, id)
		default:
		}
	}
	s.own[ses.ID()] = ses
	s.mu.Unlock()
	return ses, true, nil
}

// refused is the answer to a call without a session.
func refused(err error) Result {
	var e *bellglass.Error
	if !errors.As(err, &e) {
		return failed(err)
	}
	w := &writer{}
	w.Outcome(string(e.Status), string(e.Reason), e.Hint, e.RetryAfter)
	return w.result(e.Status)
}

// Close closes all sessions that were opened here.
func (s *Sessions) Close() error {
	s.mu.Lock()
	s.closed = true
	all := make([]*bellglass.Session, 0, len(s.own))
	for _, o := range s.own {
		all = append(all, o)
	}
	clear(s.own)
	clear(s.defaults)
	s.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, o := range all {
		wg.Go(func() { errs[i] = o.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
