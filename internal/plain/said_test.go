package plain

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestSaid: the descriptions in structured data, without markup, and no more of
// them than counts.
func TestSaid(t *testing.T) {
	for page, want := range map[string]string{
		`{"@type":"Product","name":"Chair","description":"A <b>soft<\/b> &amp; &lt;i&gt;low chair"}`: "A  soft     low chair",
		`{"description": "two` + "\n" + `lines", "articleBody" : "say \"so\""}`:                      `two lines say "so"`,
		`{"description": 3, "description": "broken \x"}`:                                             "",
		`{"description": "no end`: "",
	} {
		root, err := html.Parse(strings.NewReader(`<script type="application/ld+json">` + page + `</script>`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(survey(root).said); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%s: got %q, want %q", page, got, want)
		}
	}
	long := `{"description":"` + strings.Repeat("word ", maxSaid) + `"}`
	root, err := html.Parse(strings.NewReader(`<script type="application/ld+json">` + long + `</script>`))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(survey(root).said); n > maxSaid+1 {
		t.Errorf("%d bytes", n)
	}
}
