package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/plain"
)

// enough of the words that a person marked as the main part of a page, as it
// stood on screen with all its scripts run, is what makes it read.
const enough = .8

// engineCount counts the decisions of engine auto over some pages, against
// whether the plain text would have done.
type engineCount struct {
	pages                         int
	kept, handed                  int // by the decision
	wronglyKept, needlessly       int // and against what was right
	recall, precision, main, best float64
	needs                         map[plain.Need]int
}

// engines compares the plain text of each page with the browser's, and prints
// how often auto would have been right.
func (s *source) engines(items []*item, out io.Writer) error {
	all := map[string]*engineCount{}
	var kinds []string
	for _, it := range items {
		html, err := it.html()
		if err != nil {
			return err
		}
		rendered, _, err := s.doc(it, html)
		if err != nil {
			return fmt.Errorf("%s %s: %w", it.set, it.id, err)
		}
		d, err := plain.Parse(html, "http://"+pageHost+"/")
		if err != nil {
			return fmt.Errorf("%s %s: %w", it.set, it.id, err)
		}
		if all[it.kind] == nil {
			all[it.kind] = &engineCount{needs: map[plain.Need]int{}}
			kinds = append(kinds, it.kind)
		}
		all[it.kind].add(it, d, rendered)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kind\tpages\tkept\thanded over\twrongly kept\thanded over in vain\trecall\tprecision\tmain recall\tof the browser\tsignals")
	total := &engineCount{needs: map[plain.Need]int{}}
	for _, kind := range kinds {
		c := all[kind]
		c.print(w, kind)
		total.pages += c.pages
		total.kept += c.kept
		total.handed += c.handed
		total.wronglyKept += c.wronglyKept
		total.needlessly += c.needlessly
		total.recall += c.recall
		total.precision += c.precision
		total.main += c.main
		total.best += c.best
		for n, k := range c.needs {
			total.needs[n] += k
		}
	}
	total.print(w, "all")
	return w.Flush()
}

// add compares one page.
func (c *engineCount) add(it *item, d *plain.Doc, rendered *extract.Doc) {
	whole := extract.TextOptions{Whole: true}
	ours, theirs := words(plainText(d.Doc, whole)), words(plainText(rendered, whole))
	want := words(it.want)
	recall, precision := share(theirs, ours), share(ours, theirs)
	main, best := share(want, ours), share(want, theirs)
	need := d.Needs()
	// Chromium has no network here, so that it may have no more: what it would
	// have with one is known from what was marked.
	does := main >= enough
	c.pages++
	c.recall += recall
	c.precision += precision
	c.main += main
	c.best += best
	switch {
	case need == "":
		c.kept++
		if !does {
			c.wronglyKept++
			if *verbose {
				fmt.Printf("wrongly kept: %s %s %s: recall %.2f main %.2f (browser %.2f)\n", it.set, it.kind, it.id, recall, main, best)
			}
		}
	default:
		c.handed++
		c.needs[need]++
		if does {
			c.needlessly++
			if *verbose {
				fmt.Printf("in vain (%s): %s %s %s: recall %.2f main %.2f (browser %.2f)\n", need, it.set, it.kind, it.id, recall, main, best)
			}
		}
	}
}

func (c *engineCount) print(w io.Writer, name string) {
	n := float64(c.pages)
	var needs []string
	for _, k := range []plain.Need{plain.NeedFrames, plain.NeedBlank, plain.NeedBusy, plain.NeedMount, plain.NeedReplace, plain.NeedData, plain.NeedSparse} {
		if c.needs[k] > 0 {
			needs = append(needs, fmt.Sprintf("%s %d", k, c.needs[k]))
		}
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%s\n", name, c.pages, c.kept, c.handed, c.wronglyKept, c.needlessly,
		c.recall/n, c.precision/n, c.main/n, c.best/n, strings.Join(needs, ", "))
}

func plainText(d *extract.Doc, o extract.TextOptions) string { return unmarked(d.Text(o)) }

func words(text string) map[string]int { return bag(strings.ToLower(text), 1) }

// share is how much of the words in all is in some.
func share(all, some map[string]int) float64 {
	n, hits := 0, 0
	for w, k := range all {
		n += k
		hits += min(k, some[w])
	}
	if n == 0 {
		return 1
	}
	return float64(hits) / float64(n)
}
