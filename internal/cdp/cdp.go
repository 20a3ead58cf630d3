// Package cdp speaks the Chrome DevTools Protocol to one browser over a pair
// of pipes (Chromium's --remote-debugging-pipe: no listening port), with the
// generated types of github.com/chromedp/cdproto.
//
// A [Conn] is the browser; a [Session] is one target of it (a page, a
// cross-origin frame, a worker), multiplexed over the same pipes ("flat"
// sessions). Calls are pipelined: [Go] sends a command and returns at once,
// [Pending.Wait] collects the answer, so that the set-up of a page costs one
// round trip instead of ten. Sending never blocks on the browser, so it is
// allowed inside event handlers.
//
// The other end is not trusted: a compromised browser process may write
// anything. Frames are bounded, malformed ones end the connection or are
// dropped, and nothing here panics on what it reads.
//
// The package does not start browsers, keep a mirror of the page, or know what
// a tab is.
package cdp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	cdpt "github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// Limits of one connection. A 10,000-element page's accessibility tree, the
// largest answer met so far, has 9.5 MB; a session costs about 1 KB here.
const (
	maxFrame    = 64 << 20 // bytes of one incoming message
	maxQueued   = 64 << 20 // bytes waiting to be written
	maxSessions = 4096     // attached targets
)

var (
	// ErrClosed is wrapped by every error of a connection that has ended.
	ErrClosed = errors.New("cdp: connection closed")
	// ErrDetached ends the calls of a session whose target went away.
	ErrDetached = errors.New("cdp: target detached")
)

// Error is the browser's own answer that a command failed.
type Error struct {
	Method  string `json:"-"`
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitzero"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("cdp: %s: %s (%d)", e.Method, e.Message, e.Code)
}

// options of every encode and decode: page strings may hold lone surrogates,
// which must become U+FFFD and not end the connection.
var jsonOpts = jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))

// envelope is every incoming message: an answer (ID != 0) or an event.
type envelope struct {
	ID        int64        `json:"id,omitzero"`
	SessionID string       `json:"sessionId,omitzero"`
	Method    string       `json:"method,omitzero"`
	Params    jsonv2.Value `json:"params,omitzero"`
	Result    jsonv2.Value `json:"result,omitzero"`
	Error     *Error       `json:"error,omitzero"`
}

// request is every outgoing message.
type request struct {
	ID        int64  `json:"id"`
	SessionID string `json:"sessionId,omitzero"`
	Method    string `json:"method"`
	Params    any    `json:"params,omitzero"`
}

// AttachFunc is told of a new target before any message of it is routed. It
// runs on the reading goroutine: it may send ([Go], [On]) but must not wait.
type AttachFunc func(parent, child *Session, ev *target.EventAttachedToTarget)

// Conn is the connection to one browser. Its methods are safe for concurrent
// use. Close it exactly when the browser is no longer needed; a connection
// that the browser ended must be closed too.
type Conn struct {
	// Browser is the session of the browser itself.
	Browser *Session

	r        io.ReadCloser
	w        io.WriteCloser
	onAttach AttachFunc

	mu       sync.Mutex
	err      error // non-nil once ended
	nextID   int64
	pending  map[int64]*call
	sessions map[string]*Session

	out     sync.Mutex
	outCond *sync.Cond
	queue   []byte
	stopped bool

	done chan struct{} // closed when the connection has ended
	wg   sync.WaitGroup
}

type call struct {
	id    int64
	s     *Session
	reply chan reply
}

type reply struct {
	raw jsonv2.Value
	err error
}

// New starts a connection that reads from r and writes to w and owns both.
// onAttach may be nil.
func New(r io.ReadCloser, w io.WriteCloser, onAttach AttachFunc) *Conn {
	c := &Conn{
		r: r, w: w, onAttach: onAttach,
		pending:  map[int64]*call{},
		sessions: map[string]*Session{},
		done:     make(chan struct{}),
	}
	c.outCond = sync.NewCond(&c.out)
	c.Browser = newSession(c, "", "", "browser")
	c.sessions[""] = c.Browser
	c.wg.Add(2)
	go c.readLoop()
	go c.writeLoop()
	return c
}

// Done is closed when the connection has ended, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is nil while the connection lives and wraps [ErrClosed] afterwards.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection, fails every pending call and returns when both
// goroutines are gone. It is idempotent. It must not be called from an event
// handler.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	c.wg.Wait()
	return nil
}

// fail ends the connection once, with err as the reason for everybody.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	pending, sessions := c.pending, c.sessions
	c.pending, c.sessions = map[int64]*call{}, map[string]*Session{}
	c.mu.Unlock()

	for _, p := range pending {
		p.reply <- reply{err: err}
	}
	for _, s := range sessions {
		s.end()
	}
	close(c.done)
	c.out.Lock()
	c.stopped = true
	c.outCond.Signal()
	c.out.Unlock()
	// Closing the pipes ends the two loops: both are os.Files in the runtime
	// poller, whose Close interrupts a blocked Read or Write.
	c.r.Close()
	c.w.Close()
}

func (c *Conn) readLoop() {
	defer c.wg.Done()
	br := bufio.NewReaderSize(c.r, 256<<10)
	var buf []byte
	for {
		frame, err := readFrame(br, buf[:0])
		if err != nil {
			c.fail(fmt.Errorf("%w: %w", ErrClosed, err))
			return
		}
		buf = frame
		if cap(buf) > 1<<20 { // do not keep a giant for the rest of the life
			buf = nil
		}
		if err := c.dispatch(frame[:len(frame)-1]); err != nil {
			c.fail(fmt.Errorf("%w: %w", ErrClosed, err))
			return
		}
	}
}

// readFrame appends one NUL-terminated message, the NUL included, to buf.
func readFrame(br *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := br.ReadSlice(0)
		if len(buf)+len(part) > maxFrame {
			return nil, fmt.Errorf("message over %d bytes", maxFrame)
		}
		buf = append(buf, part...)
		if err == nil {
			return buf, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// dispatch routes one message. An error ends the connection: after a message
// that is not JSON nothing behind it can be trusted to be in step.
func (c *Conn) dispatch(frame []byte) error {
	var m envelope
	if err := jsonv2.Unmarshal(frame, &m, jsonOpts); err != nil {
		return fmt.Errorf("malformed message: %w", err)
	}
	if m.ID != 0 {
		c.answer(&m)
		return nil
	}
	c.mu.Lock()
	s := c.sessions[m.SessionID]
	c.mu.Unlock()
	if s == nil {
		return nil // of a session that is gone already
	}
	switch m.Method {
	case target.AttachedToTarget.Method:
		c.attached(s, m.Params)
	case target.DetachedFromTarget.Method:
		c.detached(m.Params)
	}
	s.deliver(m.Method, m.Params)
	return nil
}

func (c *Conn) answer(m *envelope) {
	c.mu.Lock()
	p := c.pending[m.ID]
	delete(c.pending, m.ID)
	c.mu.Unlock()
	if p == nil {
		return // abandoned by its caller
	}
	if m.Error != nil {
		p.reply <- reply{err: m.Error}
		return
	}
	p.reply <- reply{raw: m.Result}
}

func (c *Conn) attached(parent *Session, params jsonv2.Value) {
	var ev target.EventAttachedToTarget
	if jsonv2.Unmarshal(params, &ev, jsonOpts) != nil || ev.TargetInfo == nil || ev.SessionID == "" {
		return
	}
	child := newSession(c, string(ev.SessionID), ev.TargetInfo.TargetID, ev.TargetInfo.Type)
	c.mu.Lock()
	if c.err != nil || len(c.sessions) >= maxSessions || c.sessions[child.id] != nil {
		c.mu.Unlock()
		return
	}
	c.sessions[child.id] = child
	c.mu.Unlock()
	if c.onAttach != nil {
		c.onAttach(parent, child, &ev)
	}
}

func (c *Conn) detached(params jsonv2.Value) {
	var ev target.EventDetachedFromTarget
	if jsonv2.Unmarshal(params, &ev, jsonOpts) != nil || ev.SessionID == "" {
		return
	}
	c.mu.Lock()
	s := c.sessions[string(ev.SessionID)]
	delete(c.sessions, string(ev.SessionID))
	var lost []*call
	for id, p := range c.pending {
		if s != nil && p.s == s {
			lost = append(lost, p)
			delete(c.pending, id)
		}
	}
	c.mu.Unlock()
	for _, p := range lost {
		p.reply <- reply{err: ErrDetached}
	}
	if s != nil {
		s.end()
	}
}

func (c *Conn) writeLoop() {
	defer c.wg.Done()
	var spare []byte
	for {
		c.out.Lock()
		for len(c.queue) == 0 && !c.stopped {
			c.outCond.Wait()
		}
		if c.stopped {
			c.out.Unlock()
			return
		}
		batch := c.queue
		c.queue = spare[:0]
		c.out.Unlock()
		if _, err := c.w.Write(batch); err != nil {
			c.fail(fmt.Errorf("%w: %w", ErrClosed, err))
			return
		}
		spare = batch
		if cap(spare) > 1<<20 {
			spare = nil
		}
	}
}

// send queues one message for the writer. It never blocks; a browser that
// stops reading ends the connection once maxQueued bytes wait for it.
func (c *Conn) send(q *request) error {
	b, err := jsonv2.Marshal(q, jsonOpts)
	if err != nil {
		return fmt.Errorf("cdp: %s: encode: %w", q.Method, err)
	}
	c.out.Lock()
	if c.stopped {
		c.out.Unlock()
		return ErrClosed
	}
	full := len(c.queue)+len(b) > maxQueued
	if !full {
		c.queue = append(append(c.queue, b...), 0)
		c.outCond.Signal()
	}
	c.out.Unlock()
	if full {
		err := fmt.Errorf("%w: browser does not read", ErrClosed)
		c.fail(err)
		return err
	}
	return nil
}

// start registers and sends one command.
func (c *Conn) start(s *Session, method string, params any) *call {
	p := &call{s: s, reply: make(chan reply, 1)}
	if _, empty := params.(cdpt.Empty); empty {
		params = nil
	}
	c.mu.Lock()
	err := c.err
	if err == nil && s.gone() {
		err = ErrDetached
	}
	if err != nil {
		c.mu.Unlock()
		p.reply <- reply{err: err}
		return p
	}
	c.nextID++
	p.id = c.nextID
	c.pending[p.id] = p
	c.mu.Unlock()
	if err := c.send(&request{ID: p.id, SessionID: s.id, Method: method, Params: params}); err != nil {
		c.mu.Lock()
		_, mine := c.pending[p.id]
		delete(c.pending, p.id)
		c.mu.Unlock()
		if mine { // else fail has answered it
			p.reply <- reply{err: err}
		}
	}
	return p
}

// forget drops a call whose caller no longer waits.
func (c *Conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}
