package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// item is one page of a corpus with what a person marked as its main part.
type item struct {
	set, id, kind string
	site          string // the registrable domain, or the id of a page whose address is not known
	file          string // gzipped HTML
	want          string // the main text
	with, without []string
}

func (it *item) html() ([]byte, error) {
	f, err := os.Open(it.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// part is which of n parts of the pages this one belongs to. All pages of a site
// are in one.
func (it *item) part(n int) int {
	h := fnv.New32a()
	io.WriteString(h, "site "+it.site)
	return int(h.Sum32()>>3) % n
}

// siteOf is the registrable domain of an address, or other if there is none.
func siteOf(address, other string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return other
	}
	if site, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname()); err == nil {
		return site
	}
	return u.Hostname()
}

// load reads both corpora below dir, in a fixed order.
func load(dir string) ([]*item, error) {
	wcxb, err := loadWCXB(filepath.Join(dir, "wcxb"))
	if err != nil {
		return nil, err
	}
	aeb, err := loadAEB(filepath.Join(dir, "aeb"))
	if err != nil {
		return nil, err
	}
	return append(wcxb, aeb...), nil
}

// loadWCXB reads the Web Content Extraction Benchmark: one JSON file a page.
func loadWCXB(dir string) ([]*item, error) {
	files, err := filepath.Glob(filepath.Join(dir, "ground-truth", "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no ground truth in %s", dir)
	}
	var items []*item
	for _, name := range files {
		var truth struct {
			URL      string
			Internal struct {
				PageType struct{ Primary string } `json:"page_type"`
			} `json:"_internal"`
			GroundTruth struct {
				MainContent string `json:"main_content"`
				With        []string
				Without     []string
			} `json:"ground_truth"`
		}
		if err := readJSON(name, &truth); err != nil {
			return nil, err
		}
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		g := truth.GroundTruth
		items = append(items, &item{
			set: "wcxb", id: id, kind: truth.Internal.PageType.Primary, file: filepath.Join(dir, "html", id+".html.gz"),
			site: siteOf(truth.URL, id), want: g.MainContent, with: g.With, without: g.Without,
		})
	}
	return items, nil
}

// loadAEB reads the Article Extraction Benchmark: one JSON file for all pages.
func loadAEB(dir string) ([]*item, error) {
	var truth map[string]struct{ ArticleBody, URL string }
	if err := readJSON(filepath.Join(dir, "ground-truth.json"), &truth); err != nil {
		return nil, err
	}
	var items []*item
	for id, t := range truth {
		items = append(items, &item{set: "aeb", id: id, kind: "aeb", site: siteOf(t.URL, id), file: filepath.Join(dir, "html", id+".html.gz"), want: t.ArticleBody})
	}
	slices.SortFunc(items, func(a, b *item) int { return strings.Compare(a.id, b.id) })
	return items, nil
}

func readJSON(name string, to any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
