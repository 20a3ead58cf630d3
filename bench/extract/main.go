// Command extract measures how well the main part of a page is found: against
// what people marked on real pages, beside other extractors on the same pages.
//
//	BELLGLASS_CORPORA=DIR go run . [flags]
//
// DIR holds the folders wcxb (Web Content Extraction Benchmark) and aeb
// (Article Extraction Benchmark); they are no part of this repository. Pages
// are rendered by the real reading path, cut off from the network. The texts
// of pages go nowhere; only figures are printed.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bellglass/bellglass/internal/extract"
)

var (
	cache   = flag.String("cache", "", "keep renderings and peers' texts in this folder, and read them from there")
	only    = flag.String("only", "", "only the page of this id, with its text, the words that are too many and those that are missing")
	worst   = flag.String("worst", "", "list the pages of this kind, worst first")
	learn   = flag.String("learn", "", "learn a model from the pages and write it to this file, instead of measuring")
	eng     = flag.Bool("engines", false, "instead of measuring extraction, compare the plain engine's text with the browser's, and count how often auto is right")
	verbose = flag.Bool("v", false, "with -engines: name the pages on which auto is wrong")
	folds   = flag.Int("folds", 0, "divide the sites into so many parts, and measure on the pages of each with a model learned from the others")
	fold    = flag.Int("fold", -1, "with -folds: only that part, and none other of the pages is looked at but to learn from")
	peers   = flag.Bool("peers", true, "run the other extractors, too")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "extract:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir := os.Getenv("BELLGLASS_CORPORA")
	if dir == "" {
		return fmt.Errorf("BELLGLASS_CORPORA must name the folder that holds wcxb and aeb")
	}
	items, err := load(dir)
	if err != nil {
		return err
	}
	if *folds < 2 {
		items = slices.DeleteFunc(items, func(it *item) bool { return *only != "" && it.id != *only })
	}
	s := source{ctx: ctx, known: map[*item]*example{}}
	defer s.close()
	if *learn != "" {
		return s.learn(items, *learn)
	}
	if *eng {
		return s.engines(items, os.Stdout)
	}
	all := newTable()
	var pages []scored
	if *folds > 1 {
		slices.SortStableFunc(items, func(a, b *item) int { return cmp.Compare(a.part(*folds), b.part(*folds)) })
	}
	last := -1
	for i, it := range items {
		if *folds > 1 {
			part := it.part(*folds)
			if *fold >= 0 && part != *fold || *only != "" && it.id != *only {
				continue
			}
			if part != last {
				last = part
				if err := s.leaveOut(items, part, *folds); err != nil {
					return err
				}
			}
		}
		texts, err := s.texts(it)
		if err != nil {
			return fmt.Errorf("%s %s: %w", it.set, it.id, err)
		}
		if s.browser != nil && i%25 == 24 {
			fmt.Fprintf(os.Stderr, "%d of %d pages\n", i+1, len(items))
		}
		for name, text := range texts {
			score := all.add(it, name, text)
			if name == "bellglass" {
				pages = append(pages, scored{it, score})
			}
		}
		if *only != "" {
			show(it, texts["bellglass"])
		}
	}
	if *worst != "" {
		listWorst(pages)
	}
	all.print(os.Stdout)
	return nil
}

type scored struct {
	*item
	score float64
}

func listWorst(pages []scored) {
	slices.SortStableFunc(pages, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	for _, p := range pages {
		if p.kind == *worst {
			fmt.Printf("%.3f %s\n", p.score, p.id)
		}
	}
}

// source gives the text that each extractor makes of a page.
type source struct {
	ctx     context.Context
	browser *renderer
	known   map[*item]*example
}

func (s *source) close() {
	if s.browser != nil {
		s.browser.close()
	}
}

func (s *source) texts(it *item) (map[string]string, error) {
	html, err := it.html()
	if err != nil {
		return nil, err
	}
	d, inner, err := s.doc(it, html)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"bellglass": unmarked(d.Text(extract.TextOptions{}))}
	if !*peers {
		return out, nil
	}
	out["innerText"] = inner
	for name, f := range map[string]func([]byte) string{"go-trafilatura": viaTrafilatura, "go-readability": viaReadability} {
		if out[name], err = cached(it, name, func() (string, error) { return f(html), nil }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// doc returns the rendered page, and what innerText says of it.
func (s *source) doc(it *item, html []byte) (*extract.Doc, string, error) {
	r, err := cached(it, "rendering", func() (*rendering, error) {
		if s.browser == nil {
			var err error
			if s.browser, err = newRenderer(s.ctx); err != nil {
				return nil, err
			}
		}
		return s.browser.render(s.ctx, html)
	})
	if err != nil {
		return nil, "", err
	}
	d, err := r.doc()
	return d, r.InnerText, err
}

// cached makes a value once for each page and, of a rendering, each version of
// the walker.
func cached[T any](it *item, what string, make func() (T, error)) (T, error) {
	if *cache == "" {
		return make()
	}
	version := ""
	if what == "rendering" {
		version = fmt.Sprintf("%x", sha256.Sum256([]byte(walker)))[:8]
	}
	name := filepath.Join(*cache, what+version, it.set+"-"+it.id+".json")
	var v T
	if b, err := os.ReadFile(name); err == nil {
		return v, json.Unmarshal(b, &v)
	}
	v, err := make()
	if err != nil {
		return v, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return v, err
	}
	return v, os.WriteFile(name, b, 0o600)
}

// show prints a page's text and how its words differ from the wanted ones.
func show(it *item, text string) {
	g, w := bag(strings.ToLower(text), 1), bag(strings.ToLower(it.want), 1)
	fmt.Printf("--- got\n%s\n--- wanted\n%s\n--- too many: %s\n--- missing: %s\n", text, it.want, differ(g, w), differ(w, g))
}

func differ(a, b map[string]int) string {
	var out []string
	for k, n := range a {
		if n > b[k] {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
