package digest

import (
	"fmt"
	"strings"
	"testing"
)

// TestTheSameRowIsNamedOnce: the second control of a row says so, unless it is
// of another row that reads the same.
func TestTheSameRowIsNamedOnce(t *testing.T) {
	add := func(f *Frame, node int64, name, row string) {
		e := button(node, name)
		e.Row = row
		f.Elements = append(f.Elements, e)
	}
	f := frame("d")
	add(f, 1, "Pay", "Invoice 1 · $40")
	add(f, 2, "Delete", "Invoice 1 · $40")
	add(f, 3, "Pay", "Invoice 2 · $50")
	add(f, 4, "Delete", "Invoice 2 · $50")
	add(f, 5, "Pay", "Invoice 2 · $50")
	add(f, 6, "Delete", "Invoice 2 · $50")
	add(f, 7, "Delete", "")
	add(f, 8, "Delete", "Invoice 2 · $50")
	for n := range int64(wholeRows) {
		add(f, 100+n, fmt.Sprint("Other ", n), "")
	}
	var tb Table
	got := tb.Update(f).Render(RenderOptions{Nonce: "n", NoText: true})
	want := `[0] button "Pay" in row "Invoice 1 · $40"
[1] button "Delete" in the same row
[2] button "Pay" in row "Invoice 2 · $50"
[3] button "Delete" in the same row
[4] button "Pay" in row "Invoice 2 · $50"
[5] button "Delete" in the same row
[6] button "Delete"
[7] button "Delete" in row "Invoice 2 · $50"
`
	if !strings.Contains(got, want) {
		t.Error(got)
	}
	f.Elements = f.Elements[:8]
	if got := tb.Update(f).Render(RenderOptions{Nonce: "n", NoText: true}); strings.Contains(got, "same row") {
		t.Error("where there is room:", got)
	}
}
