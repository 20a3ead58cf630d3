// Package cdptest stands between a DevTools client and its browser and lets
// commands go wrong: the n-th call of a method fails, is never answered, is
// answered with nonsense, or is the last that the browser hears. For tests.
package cdptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Fault is what becomes of a command.
type Fault string

const (
	None    Fault = ""        // it passes
	Fail    Fault = "fail"    // the browser is said to refuse it
	Hang    Fault = "hang"    // it is never answered
	Garbage Fault = "garbage" // its result has members of the wrong types
	Empty   Fault = "empty"   // its result has no members
	Broken  Fault = "broken"  // its answer is no JSON, which ends the connection
	Die     Fault = "die"     // the browser's end of the pipe is closed
)

// Faults are all that [Line] can do.
var Faults = []Fault{Fail, Hang, Garbage, Empty, Broken, Die}

// Line is a connection to one browser. Use [Line.Wrap] where its pipe is made.
type Line struct {
	// Plan decides about the n-th call of a method on this connection, from 1.
	// It is called from one goroutine at a time. Nil lets all pass.
	Plan func(method string, n int) Fault

	mu   sync.Mutex // of writes to the client, too
	seen map[string]int
}

// Calls returns how often each method was called so far.
func (l *Line) Calls() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for m, n := range l.seen {
		out[m] = n
	}
	return out
}

// SetPlan changes the plan, and counts calls anew.
func (l *Line) SetPlan(plan func(method string, n int) Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Plan, l.seen = plan, nil
}

// Wrap takes the client's two ends of a pipe to a browser and returns those
// that the client is to use instead. Closing them closes the pipe.
func (l *Line) Wrap(r io.ReadCloser, w io.WriteCloser) (io.ReadCloser, io.WriteCloser) {
	fromBrowser, toClient := io.Pipe()
	fromClient, toBrowser := io.Pipe()
	go func() { // what the browser says
		err := frames(r, func(frame []byte) error { return l.write(toClient, frame) })
		toClient.CloseWithError(err)
		r.Close()
	}()
	go func() { // what the client says
		err := frames(fromClient, func(frame []byte) error { return l.command(frame, w, toClient) })
		fromClient.CloseWithError(err)
		w.Close()
	}()
	return closer{fromBrowser, r}, closeWriter{toBrowser, w}
}

// closer closes what lies behind it, too: a reader of it may be waiting there.
type closer struct {
	*io.PipeReader
	behind io.Closer
}

func (c closer) Close() error { c.PipeReader.Close(); return c.behind.Close() }

type closeWriter struct {
	*io.PipeWriter
	behind io.Closer
}

func (c closeWriter) Close() error { c.PipeWriter.Close(); return c.behind.Close() }

// frames calls do with each NUL-terminated message, the NUL included.
func frames(r io.Reader, do func([]byte) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		frame, err := br.ReadBytes(0)
		if err != nil {
			return err
		}
		if err := do(frame); err != nil {
			return err
		}
	}
}

func (l *Line) write(w io.Writer, frame []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := w.Write(frame)
	return err
}

func (l *Line) command(frame []byte, browser io.Writer, client io.Writer) error {
	var m struct {
		ID        int64  `json:"id"`
		SessionID string `json:"sessionId"`
		Method    string `json:"method"`
	}
	if err := json.Unmarshal(frame[:len(frame)-1], &m); err != nil {
		return err
	}
	l.mu.Lock()
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	l.seen[m.Method]++
	fault := None
	if l.Plan != nil {
		fault = l.Plan(m.Method, l.seen[m.Method])
	}
	l.mu.Unlock()
	answer := func(format string, args ...any) error {
		s := ""
		if m.SessionID != "" {
			s = fmt.Sprintf(`"sessionId":%q,`, m.SessionID)
		}
		return l.write(client, append(fmt.Appendf(nil, `{"id":%d,%s`+format+`}`, append([]any{m.ID, s}, args...)...), 0))
	}
	switch fault {
	case Fail:
		return answer(`"error":{"code":-32000,"message":"injected failure"}`)
	case Hang:
		return nil
	case Garbage:
		return answer(`"result":{"result":[7],"frameId":{},"targetId":[],"browserContextId":{"x":1},"executionContextId":"x","loaderId":3,"data":9,"object":[],"body":{},"cookies":1,"entries":"no","currentIndex":"no","node":4,"nodes":"no","model":5,"identifier":8}`)
	case Empty:
		return answer(`"result":{}`)
	case Broken:
		return l.write(client, []byte("{\"id\":\x00"))
	case Die:
		return io.EOF
	}
	_, err := browser.Write(frame)
	return err
}
