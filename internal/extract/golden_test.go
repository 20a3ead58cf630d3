package extract

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected Markdown in testdata")

// frameSeparator, a line no stream holds, stands between the streams of a page and of its frames, in
// the order of their numbers.
const frameSeparator = "\n~\n"

// TestGolden renders the streams in testdata. X.stream is what the script
// returned for X.html in Chromium, X.md what is made of it.
func TestGolden(t *testing.T) {
	streams, err := filepath.Glob("testdata/*.stream")
	if err != nil || len(streams) == 0 {
		t.Fatal("no streams in testdata", err)
	}
	for _, name := range streams {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".stream"), func(t *testing.T) {
			got := summary(readPage(t, name))
			file := strings.TrimSuffix(name, ".stream") + ".md"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, string(want)); diff != "" {
				t.Errorf("got -, want +:\n%s", diff)
			}
		})
	}
}

// readPage parses a recorded page and grafts its frames.
func readPage(t testing.TB, name string) *Doc {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return graftAll(t, strings.Split(strings.TrimSuffix(string(b), "\n"), frameSeparator))
}

// graftAll parses the streams of a page and its frames, and puts them together.
func graftAll(t testing.TB, streams []string) *Doc {
	t.Helper()
	var docs []*Doc
	for i, s := range streams {
		d, err := Parse(s)
		if err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		docs = append(docs, d)
	}
	for i, d := range docs[1:] {
		docs[0].Graft(i, d, "", true)
	}
	return docs[0]
}

// summary shows everything a caller gets of a page.
func summary(d *Doc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\nlang: %s\nhidden: %d characters (%d not drawn) in %d blocks\nvisible: %d\nframes: %d\n",
		d.Title, d.Lang, d.HiddenChars, d.UnrenderedChars, d.HiddenBlocks, d.TextLen, d.Frames)
	main, whole := d.Text(TextOptions{}), d.Text(TextOptions{Whole: true})
	if main != whole {
		fmt.Fprintf(&b, "\n--- main part\n%s\n", main)
	}
	fmt.Fprintf(&b, "\n--- whole\n%s\n\n--- links\n", whole)
	for _, l := range d.Links("page.example") {
		fmt.Fprintf(&b, "%s -> %s\n", l.Text, l.URL)
	}
	return b.String()
}
