package acttest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// TestHiddenTextIsInNoAnswerOfASession: nine ways to hide text from a person,
// who is shown one paragraph, and controls hidden in the same ways.
func TestHiddenTextIsInNoAnswerOfASession(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i, style := range []string{
		"opacity:0", "position:absolute;left:-9999px", "font-size:0", "color:#fff", "height:0;overflow:hidden", "visibility:hidden",
		"display:none", "clip-path:inset(50%)", "text-indent:-9999px;overflow:hidden;white-space:nowrap",
	} {
		fmt.Fprintf(&body, `<div style="%s"><p>hidden words %d</p><button style="font-size:inherit;color:inherit;background:none;border:0">hidden control %d</button></div>`, style, i, i)
	}
	a := open(t, bellglass.SessionOptions{})
	url := serve("hides.test", `<!doctype html><title>Hides</title><body style="background:#fff">`+body.String()+`<p>shown words</p><button>Shown</button>`)
	for _, r := range []answer{a.goTo(url), a.ok(a.call("read", nil)), a.ok(a.call("extract", nil)), a.ok(a.call("extract", map[string]any{"mode": "html", "selector": "body"}))} {
		a.has(r, "shown words")
		if strings.Contains(r.Text, "hidden words") {
			t.Errorf("hidden text is shown:\n%s", r.Text)
		}
	}
	for _, line := range a.lines {
		// What has lost only its text to be seen can still be clicked.
		if strings.Contains(line, "hidden control") && !strings.Contains(line, "hidden control 3") && !strings.Contains(line, "hidden control 8") {
			t.Errorf("hidden control: %s", line)
		}
	}
}

// TestLongTitlesAndAddressesLeaveRoomForElements: the cap holds, and what can be
// clicked is still there.
func TestLongTitlesAndAddressesLeaveRoomForElements(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{FullURLs: true})
	r := a.goTo(serve("long-title.test", `<!doctype html><title>`+strings.Repeat("long ", 1800)+`</title><p id=p>no</p>
<a href="/`+strings.Repeat("x", 100_000)+`">Far</a>`+strings.Repeat(`<button onclick="p.textContent='clicked'">Go</button>`, 12)+
		`<script>history.replaceState(0, '', '/?' + 'y'.repeat(100000))</script>`))
	if len(r.Text) > 7500+300 || strings.Count(r.Text, `button "Go"`) != 12 {
		t.Errorf("%d bytes:\n%s", len(r.Text), r.Text)
	}
	a.has(a.ok(a.click(`button "Go"`)), "clicked")
}

// TestRefusalsReadAlikeOverHTTPAndHTTPS: by address, by link, by redirect and by
// script, over both, one refusal has one status and one reason, and nothing of
// what was refused is asked for.
func TestRefusalsReadAlikeOverHTTPAndHTTPS(t *testing.T) {
	t.Parallel()
	web.Handle("both.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		if r.URL.Path == "/go" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Both</title><a href="%s">Link</a> <a href="/go?to=%s">Redirect</a> <button onclick="location='%s'">Script</button>`, to, to, to)
	}))
	serve("denied.both.test", "<!doctype html>denied")
	a := open(t, bellglass.SessionOptions{Mode: "allowlist", Allow: []string{"both.test"}, AllowInsecureHTTP: true})
	for _, scheme := range []string{"http", "https"} {
		to := scheme + "://denied.both.test/x"
		check := func(how string, r answer) {
			t.Helper()
			if r.str("status") != "rejected" || r.str("reason") != "host_not_allowed" {
				t.Errorf("%s by %s: %s", scheme, how, r.Text)
			}
		}
		check("address", a.call("navigate", map[string]any{"url": to}))
		for _, how := range []string{"Link", "Redirect", "Script"} {
			a.goTo(scheme + "://both.test/?to=" + to)
			check(how, a.click(`"`+how))
		}
	}
	if hits := web.Hits("denied.both.test"); len(hits) > 0 {
		t.Errorf("it was reached: %v", hits)
	}
}

// TestSessionsDoNotReachLoopback in any spelling, by address, link, frame and
// script.
func TestSessionsDoNotReachLoopback(t *testing.T) {
	t.Parallel()
	canary := testweb.NewCanary(t)
	_, port, _ := strings.Cut(canary.HostPort(), ":")
	a := open(t, bellglass.SessionOptions{})
	for i, host := range []string{"127.0.0.1", "[::]", "[::1]", "[::ffff:127.0.0.1]", "localhost", "localhost.", "x.localhost", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1", "127.1"} {
		to := "http://" + host + ":" + port + "/"
		if r := a.call("navigate", map[string]any{"url": to}); r.str("status") != "rejected" {
			t.Errorf("%s: %s", to, r.Text)
		}
		if i%3 == 0 {
			a.goTo(serve(fmt.Sprintf("near%d.test", i), fmt.Sprintf(`<!doctype html><title>N</title><iframe src=%q></iframe><img src=%q><button onclick="fetch('%s',{mode:'no-cors'}).catch(()=>{});location='%s'">Go</button>`, to, to, to, to)))
			if r := a.click(`"Go"`); r.str("status") != "rejected" {
				t.Errorf("%s by script: %s", to, r.Text)
			}
		}
	}
	if hits := canary.Hits(); len(hits) > 0 {
		t.Error("loopback was reached:", hits)
	}
}

// TestWhatTakesNoTextIsNotFilled: nothing is toggled, sent or claimed.
func TestWhatTakesNoTextIsNotFilled(t *testing.T) {
	t.Parallel()
	url := serve("notext.test", `<!doctype html><title>N</title><p id=log>untouched</p><form action="/sent"><input type=checkbox aria-label=Box onchange="log.textContent='toggled'">
<input type=radio aria-label=Radio onchange="log.textContent='toggled'"><input type=file aria-label=File><input type=submit value=Submit><input type=image alt=Image width=20 height=20><input type=reset value=Reset><button type=button>Button</button></form><a href="/sent">Link</a>`)
	a := open(t, bellglass.SessionOptions{})
	a.goTo(url)
	for _, name := range []string{"Box", "Radio", "File", "Submit", "Image", "Reset", "Button", "Link"} {
		if r := a.fill(`"`+name+`"`, "some words"); r.str("reason") != "not_editable" {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	a.has(a.ok(a.call("state", map[string]any{"full": true})), "untouched", "Page: N")
	for _, h := range web.Hits("notext.test") {
		if h.Path == "/sent" {
			t.Error("the form was sent")
		}
	}
}

// TestBlockedPartsLeaveThePageUsable: what a page may not load is counted, once,
// and no call is blamed for it, neither the one in which it happens nor the next.
func TestBlockedPartsLeaveThePageUsable(t *testing.T) {
	t.Parallel()
	serve("third.parts.test", "x")
	a := open(t, bellglass.SessionOptions{Mode: "allowlist", Allow: []string{"parts.test"}, AllowInsecureHTTP: true})
	r := a.goTo(serve("parts.test", `<!doctype html><title>Parts</title><p>words</p><img src="http://third.parts.test/a.png"><button onclick="setTimeout(()=>{new Image().src='http://third.parts.test/late.png'},500)">Late</button><button>Other</button>`))
	a.has(r, "words", "1 request blocked (third.parts.test)")
	r = a.ok(a.click(`"Late"`))
	a.has(r, "1 request blocked (third.parts.test)")
	for _, r := range []answer{a.ok(a.click(`"Other"`)), a.ok(a.call("state", nil)), a.goTo("http://parts.test/?again")} {
		if n := strings.Count(r.Text, "blocked"); n > 1 || r.str("url") != "http://parts.test/?again" && n > 0 && !strings.Contains(r.Text, "?again") && r.events() != "1 request blocked (third.parts.test)" {
			t.Errorf("blamed: %s", r.Text)
		}
	}
	if hits := web.Hits("third.parts.test"); len(hits) > 0 {
		t.Errorf("it was reached: %v", hits)
	}
}

// TestSessionsShareNothing: what one session stores, another one of the same
// browser does not find, at the same time and afterwards, and its server sees no
// cookie; the same page in the same session is the control.
func TestSessionsShareNothing(t *testing.T) {
	t.Parallel()
	web.Handle("stores.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cache-Control", "max-age=9999")
		http.SetCookie(w, &http.Cookie{Name: "mine", Value: r.URL.Query().Get("who"), MaxAge: 999})
		seen := ""
		if c, err := r.Cookie("mine"); err == nil {
			seen = c.Value
		}
		fmt.Fprintf(w, `<!doctype html><title>S</title><p id=p></p><script>p.textContent='cookie:%s storage:'+(localStorage.mine||'')+' end'; localStorage.mine='%s'</script>`, seen, r.URL.Query().Get("who"))
	}))
	a, b := open(t, bellglass.SessionOptions{}), open(t, bellglass.SessionOptions{})
	a.has(a.goTo("https://stores.test/?who=a"), "cookie: storage: end")
	a.has(a.goTo("https://stores.test/?who=a2"), "cookie:a storage:a end")
	b.has(b.goTo("https://stores.test/?who=a"), "cookie: storage: end")
	if err := a.s.Close(); err != nil {
		t.Error(err)
	}
	c := open(t, bellglass.SessionOptions{})
	c.has(c.goTo("https://stores.test/?who=a"), "cookie: storage: end")
}

// TestCancelledNavigationLeavesTheSessionUsable: the call ends when its context
// does, though the site never answers, and the next one works.
func TestCancelledNavigationLeavesTheSessionUsable(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 4)
	web.Handle("never.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	a := open(t, bellglass.SessionOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	began := time.Now()
	v := a.s.Navigate(ctx, bellglass.NavigateRequest{URL: "http://never.test/"})
	if v.Reason != bellglass.ReasonCancelled || time.Since(began) > 10*time.Second {
		t.Errorf("got %s after %v", v.Reason, time.Since(began))
	}
	a.has(a.goTo(serve("after.never.test", "<!doctype html><title>After</title>fine")), "Page: After", "fine")
}

// TestStatusesAreShown: a page of an error is a page, with its status; what is
// no page says what it is.
func TestStatusesAreShown(t *testing.T) {
	t.Parallel()
	web.Handle("status.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/404":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<!doctype html><title>No</title>nothing here")
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "<!doctype html><title>Oh</title>it broke")
		case "/pdf":
			w.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(w, "%PDF-1.4")
		}
	}))
	a := open(t, bellglass.SessionOptions{})
	a.has(a.goTo("http://status.test/404"), "HTTP 404", "nothing here")
	a.has(a.goTo("http://status.test/500"), "HTTP 500", "it broke")
	r := a.call("navigate", map[string]any{"url": "http://status.test/pdf"})
	if why := r.str("reason"); why != "unsupported_content" && why != "download_refused" || !strings.Contains(r.Text, "pdf") {
		t.Errorf("a PDF: %s", r.Text)
	}
}

// TestBusyPagesStayUsable: a page that changes a thousand nodes a second, in
// stepped time and in real, is looked at, clicked and filled, rightly, and the
// server gets what was meant.
func TestBusyPagesStayUsable(t *testing.T) {
	t.Parallel()
	url := serve("busy.test", `<!doctype html><title>Busy</title><style>li{height:18px;overflow:hidden}</style><p id=log>none</p>
<form action="/sent"><input name=city aria-label=City><button name=go value=right>Right</button><button name=go value=wrong>Wrong</button></form>
<button onclick="log.textContent='clicked '+(++n>0)">Count</button><ul id=u></ul><script>let n = 0, k = 0;
for (let i = 0; i < 300; i++) u.append(document.createElement('li'));
setInterval(() => { for (let i = 0; i < 10; i++) { const li = document.createElement('li'); li.innerHTML = '<a href="#' + (++k) + '">item ' + k + '</a>'; u.firstChild.remove(); u.append(li) } }, 10)</script>`)
	t.Cleanup(func() {
		for _, h := range web.Hits("busy.test") {
			if strings.Contains(h.Query, "wrong") {
				t.Error("the wrong one was clicked")
			}
		}
	})
	for name, real := range map[string]bool{"stepped": false, "real": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, bellglass.SessionOptions{RealTime: real, FullURLs: true})
			a.goTo(url)
			for range 3 {
				a.ok(a.call("state", nil))
				a.has(a.ok(a.click(`"Count"`)), "clicked true")
			}
			a.has(a.ok(a.fill(`"City"`, "Oslo "+name)), `"Oslo `+name+`"`)
			r := a.ok(a.click(`"Right"`))
			a.has(r, "go=right")
			if len(r.Text) > 7500+300 {
				t.Errorf("%d bytes", len(r.Text))
			}
			if _, ok := web.Wait(t.Context(), "busy.test", func(h testweb.Hit) bool { return h.Path == "/sent" && strings.Contains(h.Query, "Oslo+"+name) }); !ok {
				t.Error("the server did not get it")
			}
		})
	}
}
