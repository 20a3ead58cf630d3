package acttest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// sender is a page with a form that its script sends elsewhere than it says:
// how, by which method and in which frame's place is in the query.
func sender(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.URL.Query().Get("n"))
	k := formsInFrames[n]
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, `<!doctype html><title>Sender</title><form id=f method=%q target=%q action="/fine"><input type=hidden name=q value=1><button id=s>Send</button></form>
<button id=b>By script</button><script>
const to = %q, how = %q, by = document.getElementById('b');
if (how === 'onsubmit') f.onsubmit = () => { f.action = to };
if (how === 'formaction') s.onclick = () => { s.formAction = to };
if (how === 'submit') by.onclick = () => { f.action = to; f.submit() };
if (how === 'later') by.onclick = () => setTimeout(() => { f.action = to; f.requestSubmit() }, 200);
if (how === 'fresh') by.onclick = () => { const g = document.createElement('form'); g.action = to; g.method = f.method; g.target = f.target; document.body.append(g); g.submit() };
</script>`, k.method, k.target, k.to, k.how)
}

// Where the forms go. The first three may not be sent anything: by the act
// list, the guardrails and the policy.
const (
	sinkTarget    = "http://sink.forms.test/got"
	guardedTarget = "http://outer.forms.test/forbidden"
	refusedTarget = "http://refused.forms.test/got"
	fineTarget    = "http://outer.forms.test/taken"
)

var formsInFrames = []struct{ frame, how, method, target, to, reason string }{
	{"outer.forms.test", "onsubmit", "get", "", sinkTarget, "act_not_allowed"},
	{"outer.forms.test", "formaction", "post", "", guardedTarget, "guardrail_input"},
	{"outer.forms.test", "submit", "get", "", refusedTarget, "host_not_allowed"},
	{"outer.forms.test", "fresh", "get", "other", sinkTarget, "act_not_allowed"},
	{"outer.forms.test", "submit", "get", "", fineTarget + "/1", ""},
	{"inner.forms-other.test", "onsubmit", "post", "", sinkTarget, "act_not_allowed"},
	{"inner.forms-other.test", "formaction", "get", "", sinkTarget, "act_not_allowed"},
	{"inner.forms-other.test", "submit", "get", "", sinkTarget, "act_not_allowed"},
	{"inner.forms-other.test", "later", "get", "", guardedTarget, "guardrail_input"},
	{"inner.forms-other.test", "submit", "post", "", refusedTarget, "host_not_allowed"},
	{"inner.forms-other.test", "submit", "get", "_top", sinkTarget, "act_not_allowed"},
	{"inner.forms-other.test", "submit", "get", "other", sinkTarget, "act_not_allowed"},
	{"inner.forms-other.test", "submit", "get", "_blank", sinkTarget, "act_not_allowed"},
	{"inner.forms-other.test", "formaction", "post", "", fineTarget + "/2", ""},
	{"inner.forms-other.test", "submit", "get", "other", fineTarget + "/3", ""},
	{"inner.forms-other.test", "submit", "get", "_blank", fineTarget + "/4", ""},
}

// TestFormsInFramesAreHeldToTheRules: where a form in a frame goes is judged
// once more when it is sent, however late its script has decided on that, and
// whichever frame or page is to show the answer. The server sees nothing of
// what may not be sent, and what may.
func TestFormsInFramesAreHeldToTheRules(t *testing.T) {
	t.Parallel()
	outer := func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Outer</title><iframe src="http://%s/send?n=%d" width=500 height=200></iframe><iframe name=other src="/other"></iframe>`, formsInFrames[n].frame, n)
	}
	for _, host := range []string{"outer.forms.test", "inner.forms-other.test"} {
		web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				outer(w, r)
			case "/send":
				sender(w, r)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<!doctype html><title>Plain</title>%s arrived", r.URL.Path)
			}
		}))
	}
	serve("sink.forms.test", `<!doctype html>sink`)
	serve("refused.forms.test", `<!doctype html>refused`)
	o := bellglass.SessionOptions{
		Mode: "allowlist", Allow: []string{"outer.forms.test", "inner.forms-other.test", "sink.forms.test"}, Act: []string{"outer.forms.test", "inner.forms-other.test"},
		Resources: []string{"refused.forms.test"}, AllowInsecureHTTP: true, Guardrails: bellglass.Guardrails{DenyCommands: []string{"/forbidden"}},
	}
	// From another site's frame "other" is no name of this page's: what is sent
	// there, as to _blank, gets a page of its own, which is told as an event.
	ownPage := map[string]bool{"_blank": true, "other": true}
	for i, k := range formsInFrames {
		a := open(t, o)
		a.goTo(fmt.Sprintf("http://outer.forms.test/?n=%d", i))
		button := `button "By script"`
		if k.how == "onsubmit" || k.how == "formaction" {
			button = `button "Send"`
		}
		r := a.click(button)
		if k.reason != "" {
			a.s.Close()
			if !strings.Contains(r.Text, k.reason) || !ownPage[k.target] && r.str("reason") != k.reason {
				t.Errorf("%d %+v: %s", i, k, r.Text)
			}
			continue
		}
		a.ok(r)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, arrived := web.Wait(ctx, "outer.forms.test", func(h testweb.Hit) bool { return strings.HasSuffix(k.to, h.Path) && h.Path != "/" }); !arrived {
			t.Errorf("%d %+v: the control did not arrive:\n%s", i, k, r.Text)
		}
		cancel()
		a.s.Close()
	}
	for _, host := range []string{"sink.forms.test", "refused.forms.test", "outer.forms.test"} {
		for _, h := range web.Hits(host) {
			if h.Path == "/got" || h.Path == "/forbidden" {
				t.Errorf("%s %s%s was sent", h.Method, host, h.Path)
			}
		}
	}
}
