package acttest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
)

// TestFramesOfOtherSites: controls in frames in other processes, below the
// fold and scrolled inside, are listed with their origin, clicked and filled;
// what lies over a frame covers what is in it; frames of hosts that may not be
// read show nothing.
func TestFramesOfOtherSites(t *testing.T) {
	t.Parallel()
	const inner = `<!doctype html><title>Inner</title><div style="height:%dpx">words of the frame</div><label>City <input id=c></label>
<button onclick="parent.postMessage('clicked '+document.getElementById('c').value,'*')">Inside</button><a href="#x">Stay</a><div style="height:900px"></div>`
	serve("inner.frames.test", fmt.Sprintf(inner, 10))
	serve("deep.frames.other.test", fmt.Sprintf(inner, 700))
	serve("hidden.frames.test", `<!doctype html>secret words<button>Secret</button>`)
	web.Handle("outer.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>Outer</title><p id=log>none</p><div style="height:`+r.URL.Query().Get("h")+`px"></div>
<iframe src="http://`+r.URL.Query().Get("f")+`/" width=400 height=200 style="border:7px solid;padding:11px 3px"></iframe>
<button onclick="const d=document.createElement('div');d.style='position:fixed;inset:0;background:#fff';d.textContent='Overlay';document.body.append(d)">Cover</button>
<script>onmessage=e=>{log.textContent=e.data}</script>`)
	}))
	a := open(t, bellglass.SessionOptions{Mode: "allowlist", Allow: []string{"outer.test", "inner.frames.test", "deep.frames.other.test"}, Resources: []string{"hidden.frames.test"}, AllowInsecureHTTP: true})
	for _, q := range []string{"h=10&f=inner.frames.test", "h=3000&f=deep.frames.other.test"} {
		r := a.goTo("http://outer.test/?" + q)
		_, host, _ := strings.Cut(q, "f=")
		a.has(r, "in frame http://"+host, "words of the frame")
		if r := a.ok(a.fill("City", "Oslo")); !strings.Contains(r.Text, `"Oslo"`) {
			t.Errorf("%s: fill: %s", q, r.Text)
		}
		a.has(a.ok(a.click(`"Inside"`)), "clicked Oslo")
	}
	a.ok(a.click(`"Cover"`))
	if r := a.click(`"Inside"`); r.str("reason") != "covered" || !strings.Contains(r.str("detail"), "Overlay") {
		t.Errorf("covered: %s", r.Text)
	}
	r := a.goTo("http://outer.test/?h=10&f=hidden.frames.test")
	if strings.Contains(r.Text, "ecret") {
		t.Errorf("a frame that may not be read is shown: %s", r.Text)
	}
	if r := a.ok(a.call("read", nil)); strings.Contains(r.Text, "ecret") {
		t.Errorf("a frame that may not be read is read: %s", r.Text)
	}
}
