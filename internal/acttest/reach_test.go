package acttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
)

// TestEveryElementIsReachable: the last of 400 links is found by offset, and
// clicked with the index it was listed by, far below the fold.
func TestEveryElementIsReachable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("<!doctype html><title>Many</title>")
	for i := range 400 {
		fmt.Fprintf(&b, "<p><a href='#at%d'>Link number %d</a></p>", i, i)
	}
	a := open(t, bellglass.SessionOptions{})
	r := a.goTo(serve("many.test", b.String()))
	if len(r.Text) > 7700 {
		t.Errorf("%d bytes", len(r.Text))
	}
	for offset := 0; ; {
		r := a.ok(a.call("state", map[string]any{"offset": offset}))
		if n, ok := r.index(`"Link number 399"`); ok {
			r := a.ok(a.call("click", map[string]any{"index": n, "generation": r.generation()}))
			a.has(r, "#at399")
			return
		}
		n := len(indexed.FindAllString(r.Text, -1))
		if n == 0 {
			t.Fatalf("nothing listed from %d on", offset)
		}
		offset += n
	}
}

// TestTickingPagesStayUsable: a clock in a button's row, and one that moves.
func TestTickingPagesStayUsable(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{RealTime: true})
	a.goTo(serve("tick.test", `<!doctype html><title>Tick</title><style>@keyframes in{from{transform:translateX(600px)}}#m{animation:in .8s linear}</style>
<p id=log>none</p><p id=clock>0</p><button onclick="log.textContent='stopped'">Stop</button><button id=m onclick="log.textContent='moved'">Moving</button>
<script>let n=0;setInterval(()=>{clock.textContent=++n},20)</script>`))
	a.has(a.ok(a.click("Stop")), "stopped")
	a.has(a.ok(a.click("Moving")), "moved")
}

// TestOneClickSubmitsOnce, and one Enter.
func TestOneClickSubmitsOnce(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{})
	a.goTo(serve("once.test", `<!doctype html><title>Once</title><form action="/sent"><label><input type=checkbox name=x> Terms</label><input name=q aria-label=Query required><button name=go value=1>Send</button></form>`))
	if r := a.call("fill", map[string]any{"index": a.find("Query"), "generation": a.last.generation(), "text": "", "submit": true}); !strings.Contains(r.Text, "not sent") {
		t.Errorf("an invalid form: %s", r.Text)
	}
	a.has(a.ok(a.click("Terms")), "(checked")
	a.ok(a.fill("Query", "x"))
	a.ok(a.click(`"Send"`))
	a.goTo("http://once.test/")
	a.ok(a.call("fill", map[string]any{"index": a.find("Query"), "generation": a.last.generation(), "text": "y", "submit": true}))
	sent := 0
	for _, h := range web.Hits("once.test") {
		if h.Path == "/sent" {
			sent++
		}
	}
	if sent != 2 {
		t.Errorf("sent %d times, want 2", sent)
	}
}
