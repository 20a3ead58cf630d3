package tab

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/internal/cdp"
)

// A browser without a window denies what a page asks a person for and says so
// to nobody: no event of the protocol tells of it. A script in the page's own
// world tells one in ours, by events whose names no page can know. (A binding
// would tell at once, but only with the domain Runtime enabled; then everything
// that a page writes to its console comes, too, however large.)

//go:embed requests.js
var requestsSource string

//go:embed asked.js
var askedSource string

// requests are what a page may ask for, by the name that requests.js gives it.
var requests = map[string]Event{
	"print": {Kind: EventPrint},
	"file":  {Kind: EventFileChooser},

	"geolocation": permission("geolocation"), "camera or microphone": permission("camera or microphone"),
	"screen sharing": permission("screen sharing"), "midi": permission("midi"), "clipboard reading": permission("clipboard reading"),
	"clipboard writing": permission("clipboard writing"), "storage access": permission("storage access"),
	"pointer lock": permission("pointer lock"), "fullscreen": permission("fullscreen"), "payment": permission("payment"),
	"device": permission("device"), "notifications": permission("notifications"), "idle detection": permission("idle detection"),
	"fonts": permission("fonts"), "window management": permission("window management"),
}

func permission(what string) Event { return Event{Kind: EventPermission, What: what} }

var requestsScript, askedScript = requestScripts()

func requestScripts() (theirs, ours string) {
	prefix := "bellglass-" + rand.Text() + "-"
	var names []string
	for _, what := range slices.Sorted(maps.Keys(requests)) {
		names = append(names, strconv.Quote(what))
	}
	return fmt.Sprintf(requestsSource, prefix), fmt.Sprintf(askedSource, strings.Join(names, ", "), prefix)
}

// watchRequests has the documents of a session note what they ask for.
func watchRequests(s *cdp.Session) {
	add := func(source, world string) {
		cdp.Go(s, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source, WorldName: world})
	}
	add(askedScript, world)
	add(requestsScript, "")
}

const takeAsked = "(globalThis[Symbol.for('bellglass.asked')]??(()=>''))()"

// asked fetches what the frames of a page have asked for, and notes it.
func (l *Live) asked(ctx context.Context, t *Tab) {
	t.mu.Lock()
	ids := slices.Collect(maps.Keys(t.frames))
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, id := range ids[:min(len(ids), maxAsked)] {
		wg.Go(func() { l.askedIn(ctx, t, id) })
	}
	wg.Wait()
}

// maxAsked is how many frames are asked.
const maxAsked = 50

func (l *Live) askedIn(ctx context.Context, t *Tab, id cdpt.FrameID) {
	all, err := t.evaluateIn(ctx, id, takeAsked)
	if err != nil {
		return // a frame that is gone, or does not answer
	}
	for what := range strings.SplitSeq(all, "\n") {
		if e, known := requests[what]; known {
			l.note(e)
		}
	}
}

// prompting are the schemes of challenges (RFC 9110, 11.3) that a browser with a
// window asks a person about, and realm what such a challenge says it protects.
var (
	prompting = regexp.MustCompile(`(?im)(?:^|,)\s*(?:basic|digest|ntlm|negotiate)\b`)
	realm     = regexp.MustCompile(`(?i)\brealm\s*=\s*"((?:[^"\\]|\\.)*)"`)
)

// challenged notes that a site asks for name and password. The browser answers
// with what it was given, nothing, and shows the page that comes with it.
func (l *Live) challenged(ev *responseReceived) {
	if ev.Response.Status != 401 {
		return
	}
	for name, val := range ev.Response.Headers {
		if s, _ := val.(string); strings.EqualFold(name, "www-authenticate") && prompting.MatchString(s) {
			e := Event{Kind: EventLogin, URL: ev.Response.URL}
			if m := realm.FindStringSubmatch(s); m != nil {
				e.Text = strings.ReplaceAll(m[1], `\`, "")
			}
			l.note(e)
		}
	}
}
