package main

import (
	"fmt"
	"io"
	"slices"
)

// table gathers the figures of each extractor, for each kind of page.
type table struct{ rows map[string]map[string]*cell }

// cell is the sums over one kind of page.
type cell struct {
	n                 int
	f1                float64 // of words
	precision, recall float64 // of runs of four words
	with, ofWith      int
	without, ofOut    int
}

func newTable() *table { return &table{rows: map[string]map[string]*cell{}} }

var extractors = []string{"bellglass", "go-trafilatura", "go-readability", "innerText"}

var kinds = []string{"article", "documentation", "service", "forum", "collection", "listing", "product"}

// add measures one text and returns its score.
func (t *table) add(it *item, name, text string) float64 {
	if t.rows[name] == nil {
		t.rows[name] = map[string]*cell{}
	}
	c := t.rows[name][it.kind]
	if c == nil {
		c = &cell{}
		t.rows[name][it.kind] = c
	}
	c.n++
	if it.set == "aeb" {
		p, r := precisionRecall(text, it.want)
		c.precision += p
		c.recall += r
		if p+r == 0 {
			return 0
		}
		return 2 * p * r / (p + r)
	}
	f1 := wordF1(text, it.want)
	c.f1 += f1
	hits, all := found(text, it.with)
	c.with, c.ofWith = c.with+hits, c.ofWith+all
	hits, all = found(text, it.without)
	c.without, c.ofOut = c.without+hits, c.ofOut+all
	return f1
}

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "%-16s", "word-F1")
	for _, k := range kinds {
		fmt.Fprintf(w, " %13s", k)
	}
	fmt.Fprintf(w, " %9s %9s %9s %9s\n", "overall", "required", "forbidden", "AEB F1")
	for _, name := range extractors {
		row := t.rows[name]
		if row == nil {
			continue
		}
		fmt.Fprintf(w, "%-16s", name)
		var sum cell
		for _, k := range kinds {
			c := row[k]
			if c == nil {
				fmt.Fprintf(w, " %13s", "-")
				continue
			}
			fmt.Fprintf(w, " %13.3f", c.f1/float64(c.n))
			sum.add(c)
		}
		fmt.Fprintf(w, " %9s %9s %9s %9s\n", ratio(sum.f1, sum.n), ratio(float64(sum.with), sum.ofWith), ratio(float64(sum.without), sum.ofOut), f1(row["aeb"]))
	}
	for _, name := range extractors[:1] {
		fmt.Fprintf(w, "%-16s", "pages")
		for _, k := range append(slices.Clone(kinds), "aeb") {
			if c := t.rows[name][k]; c != nil {
				fmt.Fprintf(w, " %s %d,", k, c.n)
			}
		}
		fmt.Fprintln(w)
	}
}

func (c *cell) add(d *cell) {
	c.n += d.n
	c.f1 += d.f1
	c.with += d.with
	c.ofWith += d.ofWith
	c.without += d.without
	c.ofOut += d.ofOut
}

func ratio(sum float64, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", sum/float64(n))
}

func f1(c *cell) string {
	if c == nil || c.precision+c.recall == 0 {
		return "-"
	}
	p, r := c.precision/float64(c.n), c.recall/float64(c.n)
	return fmt.Sprintf("%.3f", 2*p*r/(p+r))
}
