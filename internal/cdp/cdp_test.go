package cdp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"go.uber.org/goleak"

	"github.com/bellglass/bellglass/internal/cdp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is what a fake browser receives.
type message struct {
	ID        int64           `json:"id"`
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
}

// fake is the other end of a connection: it is told of every message and
// writes whatever it likes.
type fake struct {
	r *os.File
	w *os.File
}

func (f *fake) send(format string, args ...any) {
	fmt.Fprintf(f.w, format, args...)
	f.w.Write([]byte{0})
}

// serve calls handle for each message until the pipe is closed.
func (f *fake) serve(handle func(message)) {
	br := bufio.NewReader(f.r)
	for {
		b, err := br.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(b[:len(b)-1], &m) == nil {
			handle(m)
		}
	}
}

// dial connects a Conn to a fake browser that answers through handle; nil
// never answers, and never reads either.
func dial(t *testing.T, attach cdp.AttachFunc, handle func(*fake, message)) (*cdp.Conn, *fake) {
	t.Helper()
	theirR, ourW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourR, theirW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{r: theirR, w: theirW}
	c := cdp.New(ourR, ourW, attach)
	var wg sync.WaitGroup
	if handle != nil {
		wg.Go(func() { f.serve(func(m message) { handle(f, m) }) })
	}
	t.Cleanup(func() {
		c.Close()
		theirW.Close()
		theirR.Close()
		wg.Wait()
	})
	return c, f
}

func echo(f *fake, m message) { f.send(`{"id":%d,"result":{"url":%q}}`, m.ID, m.Method) }

func evaluate(ctx context.Context, s *cdp.Session) error {
	_, err := cdpt.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: "1"})
	return err
}

func TestCallsArePipelinedAndAnsweredInAnyOrder(t *testing.T) {
	var held []message
	c, _ := dial(t, nil, func(f *fake, m message) {
		if held = append(held, m); len(held) < 3 {
			return
		}
		for i := len(held) - 1; i >= 0; i-- { // last one first
			var p struct{ URL string }
			json.Unmarshal(held[i].Params, &p)
			f.send(`{"id":%d,"result":{"frameId":%q}}`, held[i].ID, p.URL)
		}
	})
	var ps []cdp.Pending[page.NavigateResult]
	for _, u := range []string{"a", "b", "c"} {
		ps = append(ps, cdp.Go(c.Browser, page.Navigate, page.NavigateParams{URL: u}))
	}
	for i, p := range ps {
		res, err := p.Wait(t.Context())
		if want := string(rune('a' + i)); err != nil || string(res.FrameID) != want {
			t.Errorf("answer %d is %q, %v, want %q", i, res.FrameID, err, want)
		}
	}
}

func TestBrowserErrorsAreErrors(t *testing.T) {
	c, _ := dial(t, nil, func(f *fake, m message) {
		f.send(`{"id":%d,"error":{"code":-32601,"message":"'Runtime.evaluate' wasn't found"}}`, m.ID)
	})
	err := evaluate(t.Context(), c.Browser)
	var e *cdp.Error
	if !errors.As(err, &e) || e.Code != -32601 || e.Method != "Runtime.evaluate" {
		t.Errorf("got %v", err)
	}
}

func TestAttachedSessionIsKnownBeforeItsFirstMessage(t *testing.T) {
	got := make(chan string, 1)
	_, f := dial(t, func(_, child *cdp.Session, ev *target.EventAttachedToTarget) {
		cdp.On(child, page.LoadEventFired, func(*page.EventLoadEventFired) { got <- child.Type + " " + ev.TargetInfo.URL })
	}, nil)
	f.send(`{"method":"Target.attachedToTarget","params":{"sessionId":"S","targetInfo":{"targetId":"T","type":"page","title":"","url":"about:blank","attached":true},"waitingForDebugger":true}}`)
	f.send(`{"method":"Page.loadEventFired","params":{"timestamp":1},"sessionId":"S"}`)
	if s := <-got; s != "page about:blank" {
		t.Errorf("got %q", s)
	}
}

func TestDetachFailsThePendingCallsOfThatSessionOnly(t *testing.T) {
	sessions := make(chan *cdp.Session, 1)
	c, f := dial(t, func(_, child *cdp.Session, _ *target.EventAttachedToTarget) { sessions <- child }, func(f *fake, m message) {
		switch {
		case m.SessionID == "S":
			f.send(`{"method":"Target.detachedFromTarget","params":{"sessionId":"S"}}`)
		default:
			echo(f, m)
		}
	})
	f.send(`{"method":"Target.attachedToTarget","params":{"sessionId":"S","targetInfo":{"targetId":"T","type":"page","title":"","url":"","attached":true},"waitingForDebugger":true}}`)
	s := <-sessions
	ended := make(chan struct{})
	s.OnEnd(func() { close(ended) })
	if err := evaluate(t.Context(), s); !errors.Is(err, cdp.ErrDetached) {
		t.Errorf("pending call of the detached session: %v", err)
	}
	<-s.Done()
	<-ended
	if err := evaluate(t.Context(), s); !errors.Is(err, cdp.ErrDetached) {
		t.Errorf("new call on the detached session: %v", err)
	}
	if err := evaluate(t.Context(), c.Browser); err != nil {
		t.Errorf("call on the browser's session: %v", err)
	}
}

func TestCloseFailsPendingCalls(t *testing.T) {
	c, _ := dial(t, nil, func(*fake, message) {})
	p := cdp.Go(c.Browser, runtime.Evaluate, runtime.EvaluateParams{})
	c.Close()
	c.Close()
	if _, err := p.Wait(t.Context()); !errors.Is(err, cdp.ErrClosed) {
		t.Errorf("pending: %v", err)
	}
	if err := evaluate(t.Context(), c.Browser); !errors.Is(err, cdp.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if !errors.Is(c.Err(), cdp.ErrClosed) {
		t.Errorf("Err: %v", c.Err())
	}
}

func TestBrowserEndFailsPendingCalls(t *testing.T) {
	c, f := dial(t, nil, func(f *fake, _ message) { f.w.Close() })
	if err := evaluate(t.Context(), c.Browser); !errors.Is(err, cdp.ErrClosed) {
		t.Errorf("got %v", err)
	}
	<-c.Done()
	_ = f
}

func TestCancelledCallIsForgotten(t *testing.T) {
	answer := make(chan message, 1)
	c, f := dial(t, nil, func(f *fake, m message) {
		if m.Method == "Runtime.evaluate" {
			answer <- m
			return
		}
		echo(f, m)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the caller's reason")
	go func() { m := <-answer; cancel(why); answer <- m }()
	if err := evaluate(ctx, c.Browser); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	f.send(`{"id":%d,"result":{}}`, (<-answer).ID) // too late, and harmless
	if _, err := cdpt.Call(t.Context(), c.Browser, page.Enable, page.EnableParams{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestSendingNeverBlocks: a browser that stops reading must not stop us, not
// even inside an event handler; at a bound the connection ends.
func TestSendingNeverBlocks(t *testing.T) {
	c, _ := dial(t, nil, nil) // never reads: the pipe holds 64 KiB
	big := strings.Repeat("x", 1<<20)
	for range 100 {
		cdp.Go(c.Browser, runtime.Evaluate, runtime.EvaluateParams{Expression: big})
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("100 MB were queued for a browser that does not read")
	}
}

func TestMalformedMessages(t *testing.T) {
	const attached = `{"method":"Target.attachedToTarget","params":`
	for _, k := range []struct {
		name, frame string
		ends        bool // the connection
	}{
		{"not JSON", `hello`, true},
		{"half a message", `{"id":1,"resu`, true},
		{"array", `[]`, true},
		{"empty", ``, true},
		{"empty object", `{}`, false},
		{"unknown session", `{"method":"Page.loadEventFired","sessionId":"nobody","params":{}}`, false},
		{"answer nobody asked for", `{"id":999,"result":{}}`, false},
		{"negative id", `{"id":-5,"result":{}}`, false},
		{"event with odd params", `{"method":"Page.loadEventFired","params":[1,2]}`, false},
		{"attach without target", attached + `{"sessionId":"S"}}`, false},
		{"attach without session", attached + `{"targetInfo":{"targetId":"T","type":"page"}}}`, false},
		{"attach to the browser's own session", attached + `{"sessionId":"","targetInfo":{"targetId":"T","type":"page"}}}`, false},
		{"detach of nobody", `{"method":"Target.detachedFromTarget","params":{"sessionId":"nobody"}}`, false},
		{"detach of the browser", `{"method":"Target.detachedFromTarget","params":{"sessionId":""}}`, false},
		{"lone surrogate", `{"method":"Page.javascriptDialogOpening","params":{"message":"\ud83d"}}`, false},
		{"invalid UTF-8", "{\"method\":\"Page.x\",\"params\":\"\xff\"}", false},
	} {
		t.Run(k.name, func(t *testing.T) {
			c, f := dial(t, nil, echo)
			cdp.On(c.Browser, page.LoadEventFired, func(*page.EventLoadEventFired) {})
			f.send("%s", k.frame)
			err := evaluate(t.Context(), c.Browser)
			if ended := errors.Is(err, cdp.ErrClosed); ended != k.ends {
				t.Errorf("connection ended: %v (%v), want %v", ended, err, k.ends)
			}
		})
	}
}

func TestOversizeMessageEndsTheConnection(t *testing.T) {
	c, f := dial(t, nil, echo)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 70 {
		if _, err := f.w.Write(chunk); err != nil {
			break // our end hung up, as it should
		}
	}
	select {
	case <-c.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("70 MB without an end were accepted")
	}
}

func TestSubscribeEndsRatherThanSkips(t *testing.T) {
	c, f := dial(t, nil, echo)
	slow, _ := c.Browser.Subscribe(page.LoadEventFired.Method)
	brisk, cancel := c.Browser.Subscribe(page.LoadEventFired.Method)
	const events = 3000
	taken := make(chan struct{}, 500) // how far the sender may be ahead of the brisk one, which may be 1,024 behind
	go func() {
		for range events {
			taken <- struct{}{}
			f.send(`{"method":"Page.loadEventFired","params":{"timestamp":1}}`)
		}
	}()
	for range events {
		if _, ok := <-brisk; !ok {
			t.Fatal("a subscriber that keeps up was cut off")
		}
		<-taken
	}
	cancel()
	if _, ok := <-brisk; ok {
		t.Error("cancelled subscription is still open")
	}
	n := 0
	for range slow { // must be closed by now, with what fitted
		n++
	}
	if n == 0 || n >= events {
		t.Errorf("slow subscriber got %d of %d events", n, events)
	}
}

func TestHandlersMaySend(t *testing.T) {
	done := make(chan struct{})
	c, f := dial(t, nil, func(f *fake, m message) {
		if m.Method == "Page.handleJavaScriptDialog" {
			close(done)
		}
	})
	off := cdp.On(c.Browser, page.JavascriptDialogOpening, func(*page.EventJavascriptDialogOpening) {
		cdp.Go(c.Browser, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
	})
	defer off()
	f.send(`{"method":"Page.javascriptDialogOpening","params":{"url":"","message":"x","type":"alert","hasBrowserHandler":false,"frameId":"F"}}`)
	<-done
}

// FuzzBrowser writes arbitrary bytes as a browser would: no panic, no
// goroutine left, and Close always returns.
func FuzzBrowser(f *testing.F) {
	for _, s := range []string{
		"{}\x00", `{"id":1,"result":{"a":1}}` + "\x00", `{"id":1,"error":{"code":1,"message":"x"}}` + "\x00",
		`{"method":"Target.attachedToTarget","params":{"sessionId":"S","targetInfo":{"targetId":"T","type":"page"}}}` + "\x00" +
			`{"method":"Page.loadEventFired","sessionId":"S","params":{}}` + "\x00" +
			`{"method":"Target.detachedFromTarget","params":{"sessionId":"S"}}` + "\x00",
		"\x00\x00\x00", `{"id":1e999}` + "\x00", strings.Repeat(`{"a":`, 5000) + "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		sink, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		c := cdp.New(r, sink, func(_, child *cdp.Session, _ *target.EventAttachedToTarget) {
			cdp.On(child, page.LoadEventFired, func(*page.EventLoadEventFired) {})
			cdp.Go(child, runtime.RunIfWaitingForDebugger, cdpt.Empty{})
		})
		cdp.On(c.Browser, page.JavascriptDialogOpening, func(*page.EventJavascriptDialogOpening) {})
		p := cdp.Go(c.Browser, runtime.Evaluate, runtime.EvaluateParams{})
		w.Write(b)
		w.Close()
		<-c.Done()
		p.Wait(t.Context())
		c.Close()
	})
}
