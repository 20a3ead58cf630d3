package cdptest

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Browser is a Chromium made of Go: it knows contexts and pages, goes to any
// address at once, and answers every evaluation with Text. It runs in tests
// whose clock is not real. The zero value is ready.
type Browser struct {
	// Text is what every evaluation yields.
	Text string
	// Answer, if not nil, may answer a command in the place of the browser: with
	// the JSON of a result. "" leaves it to the browser.
	Answer func(method string, params json.RawMessage) string

	mu       sync.Mutex
	contexts map[string]bool // alive
	made     int
}

// Contexts returns how many browser contexts are alive.
func (b *Browser) Contexts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.contexts)
}

// Pipe starts the browser and returns the client's ends of its pipe. It ends
// when one of them is closed.
func (b *Browser) Pipe() (io.ReadCloser, io.WriteCloser) {
	fromBrowser, out := io.Pipe()
	in, toBrowser := io.Pipe()
	b.contexts = map[string]bool{}
	go func() {
		err := frames(in, func(frame []byte) error {
			var c command
			if err := json.Unmarshal(frame[:len(frame)-1], &c); err != nil {
				return err
			}
			_, err := out.Write(b.react(c))
			return err
		})
		in.CloseWithError(err)
		out.CloseWithError(err)
	}()
	return fromBrowser, toBrowser
}

type command struct {
	ID        int64           `json:"id"`
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
}

// script collects what is said.
type script struct{ out []byte }

func (s *script) event(session, method, params string) {
	if session != "" {
		session = fmt.Sprintf(`"sessionId":%q,`, session)
	}
	s.out = append(fmt.Appendf(s.out, `{%s"method":%q,"params":%s}`, session, method, params), 0)
}

func (s *script) answer(c command, result string) {
	session := ""
	if c.SessionID != "" {
		session = fmt.Sprintf(`"sessionId":%q,`, c.SessionID)
	}
	s.out = append(fmt.Appendf(s.out, `{"id":%d,%s"result":%s}`, c.ID, session, result), 0)
}

// react returns what the browser says to a command: events before its answer,
// and after it.
func (b *Browser) react(c command) []byte {
	s := &script{}
	if b.Answer != nil {
		if result := b.Answer(c.Method, c.Params); result != "" {
			s.answer(c, result)
			return s.out
		}
	}
	var p struct {
		BrowserContextID string `json:"browserContextId"`
		URL              string `json:"url"`
	}
	json.Unmarshal(c.Params, &p)
	switch c.Method {
	case "Browser.getVersion":
		s.answer(c, `{"protocolVersion":"1.3","product":"HeadlessChrome/156.0.0.0","revision":"","userAgent":"","jsVersion":""}`)
	case "Target.createBrowserContext":
		b.mu.Lock()
		b.made++
		id := fmt.Sprintf("C%d", b.made)
		b.contexts[id] = true
		b.mu.Unlock()
		s.answer(c, fmt.Sprintf(`{"browserContextId":%q}`, id))
	case "Target.createTarget": // its target and session are named after the context
		s.event("", "Target.attachedToTarget", fmt.Sprintf(
			`{"sessionId":"S-%s","targetInfo":{"targetId":"T-S-%[1]s","type":"page","title":"","url":"about:blank","attached":true,"canAccessOpener":false,"browserContextId":%[1]q},"waitingForDebugger":true}`, p.BrowserContextID))
		s.answer(c, fmt.Sprintf(`{"targetId":"T-S-%s"}`, p.BrowserContextID))
	case "Target.disposeBrowserContext":
		b.mu.Lock()
		delete(b.contexts, p.BrowserContextID)
		b.mu.Unlock()
		s.event("", "Target.detachedFromTarget", fmt.Sprintf(`{"sessionId":"S-%s"}`, p.BrowserContextID))
		s.answer(c, "{}")
	case "Page.createIsolatedWorld":
		s.answer(c, `{"executionContextId":1}`)
	case "Runtime.evaluate":
		text, _ := json.Marshal(b.Text)
		s.answer(c, fmt.Sprintf(`{"result":{"type":"string","value":%s}}`, text))
	case "Page.navigate":
		s.load(c, p.URL)
	case "Emulation.setVirtualTimePolicy":
		s.answer(c, `{"virtualTimeTicksBase":0}`)
		s.event(c.SessionID, "Emulation.virtualTimeBudgetExpired", "{}")
	default:
		s.answer(c, "{}")
	}
	return s.out
}

// load is a navigation, as the browser tells of it.
func (s *script) load(c command, url string) {
	at := c.SessionID
	target := "T-" + at
	s.event(at, "Network.requestWillBeSent", fmt.Sprintf(`{"requestId":"L1","loaderId":"L1","request":{"url":%q},"type":"Document","frameId":%q}`, url, target))
	s.answer(c, fmt.Sprintf(`{"frameId":%q,"loaderId":"L1"}`, target))
	s.event(at, "Network.responseReceived", fmt.Sprintf(`{"requestId":"L1","response":{"url":%q,"status":200,"mimeType":"text/html","headers":{"Content-Type":"text/html"}}}`, url))
	s.event(at, "Page.frameNavigated", fmt.Sprintf(`{"frame":{"id":%q,"loaderId":"L1","url":%q,"mimeType":"text/html","securityOrigin":"","domainAndRegistry":"","secureContextType":"Secure","crossOriginIsolatedContextType":"NotIsolated","gatedAPIFeatures":[]},"type":"Navigation"}`, target, url))
	s.event(at, "Network.dataReceived", `{"requestId":"L1","dataLength":100}`)
	s.event(at, "Network.loadingFinished", `{"requestId":"L1"}`)
	s.event(at, "Page.domContentEventFired", `{"timestamp":1}`)
	s.event(at, "Page.loadEventFired", `{"timestamp":1}`)
}
