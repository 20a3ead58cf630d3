package look_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestControls(t *testing.T) {
	p := newTab(t)
	p.write(`<title>T</title><h1>Hello</h1><p>Some <b>text</b> with a <a href="https://x.test/a?q=1">link</a>.</p>
<label>Name <input value=Ann></label><input type=password value=x placeholder=PW><select><option>A<option selected>B</select><textarea>hi</textarea>
<button disabled>Save</button><div onclick="1">Do it</div>`)
	got := lines(p.frame())
	want := []string{
		`[0] link "link" -> https://x.test/a`,
		`[1] input "Name" = "Ann"`,
		`[2] input(password) "PW" ⚠ fill-protected`,
		`[3] select "select" = "B" [A, B]`,
		`[4] textarea "textarea" = "hi"`,
		`[5] button "Save" (disabled)`,
		`[6] clickable "Do it"`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	t.Log(strings.Join(p.frame().Lines, "|"))
}
