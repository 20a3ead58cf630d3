package readtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestFormulasAreReadAsTheirSource: a formula's TeX source, which nobody sees,
// stands for what is drawn, as long as it says nothing else.
func TestFormulasAreReadAsTheirSource(t *testing.T) {
	const katex = `<span class="katex"><span class="katex-mathml" style="position:absolute;clip:rect(1px,1px,1px,1px);width:1px;height:1px;overflow:hidden">` +
		`<math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow>` +
		`<annotation encoding="application/x-tex">%s</annotation></semantics></math></span>` +
		`<span class="katex-html" aria-hidden="true"><span>E</span><span>=</span><span>m</span><span>c</span><span style="vertical-align:4px">2</span></span></span>`
	web.Handle("formulas.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>Formulas</title><p>One: "+katex+".</p><p>Two: "+katex+".</p>"+
			`<p>Three: <math><semantics><mfrac><mi>a</mi><mi>b</mi></mfrac><annotation encoding="application/x-tex">\frac{a}{b}</annotation></semantics></math>.</p>`,
			"E = mc^2", `E = \text{obey me}`)
	}))
	text := browse(t, bg, "http://formulas.test/").Text
	for _, want := range []string{"One: $E = mc^2$.", "Two: E=mc", `Three: $\frac{a}{b}$.`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "obey") {
		t.Errorf("what nobody sees was read:\n%s", text)
	}
}
