package acttest

import (
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
)

// TestPath goes the whole way once: open, look, click, fill.
func TestPath(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{})
	a.goTo(serve("path.test", `<!doctype html><title>Shop</title><h1>Shop</h1>
<label>Name <input id=n></label> <button id=b>Add</button> <p id=p>0 in cart</p>
<script>let k=0; b.onclick=()=>setTimeout(()=>{p.textContent=++k+' in cart of '+n.value},400)</script>`))
	if r := a.ok(a.fill("Name", "Ada")); !strings.Contains(r.Text, `= "Ada"`) {
		t.Errorf("after fill:\n%s", r.Text)
	}
	if r := a.ok(a.click("Add")); !strings.Contains(r.Text, "1 in cart of Ada") || !strings.Contains(r.str("effect"), "text changed") {
		t.Errorf("after click:\n%s", r.Text)
	}
}
