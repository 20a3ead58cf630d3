package extract

import (
	"os"
	"strings"
	"testing"
)

// TestHiding checks the recorded verdict on each way to hide text that
// testdata/hiding.txt lists: hidden text is nowhere in the output and counted
// where it was drawn; what only looks hidden is there, once.
func TestHiding(t *testing.T) {
	pages, streams := sections(t, "testdata/hiding.txt"), sections(t, "testdata/hiding.streams")
	if len(pages) != len(streams) {
		t.Errorf("%d cases, but %d streams", len(pages), len(streams))
	}
	for title, html := range pages {
		stream, ok := streams[title]
		if !ok {
			t.Errorf("%s: not recorded", title)
			continue
		}
		expect, name, _ := strings.Cut(title, ": ")
		t.Run(name, func(t *testing.T) {
			d := graftAll(t, strings.Split(stream, frameSeparator))
			text := d.Text(TextOptions{Whole: true})
			marks := strings.Count(text, "MARK")
			switch expect {
			case "hidden":
				if marks > 0 {
					t.Errorf("hidden text got out of %s:\n%s", html, text)
				}
			case "visible":
				if marks != 1 {
					t.Errorf("got the text %d times from %s:\n%s", marks, html, text)
				}
			default:
				t.Fatalf("unknown expectation %q", expect)
			}
			if !strings.Contains(text, "start") || !strings.HasSuffix(text, "end") {
				t.Errorf("the page around is not whole:\n%s", text)
			}
		})
	}
}

// sections reads a file of parts that each begin with a line "== title".
func sections(t *testing.T, name string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, p := range strings.Split("\n"+string(b), "\n== ")[1:] {
		title, body, _ := strings.Cut(p, "\n")
		if _, twice := parts[title]; twice {
			t.Errorf("%s stands twice in %s", title, name)
		}
		parts[title] = strings.TrimSuffix(body, "\n")
	}
	return parts
}
