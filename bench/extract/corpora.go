package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// item is one page of a corpus with what a person marked as its main part.
type item struct {
	set, id, kind string
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

// heldOut tells the half of the pages that the rules were not settled on.
func (it *item) heldOut() bool {
	h := fnv.New32a()
	io.WriteString(h, it.set+"/"+it.id)
	return h.Sum32()%2 == 1
}

// fold is the part of the pages that this one belongs to.
func (it *item) fold() int {
	h := fnv.New32a()
	io.WriteString(h, it.set+"/"+it.id)
	return int(h.Sum32()>>1) % max(*folds, 1)
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
			want: g.MainContent, with: g.With, without: g.Without,
		})
	}
	return items, nil
}

// loadAEB reads the Article Extraction Benchmark: one JSON file for all pages.
func loadAEB(dir string) ([]*item, error) {
	var truth map[string]struct{ ArticleBody string }
	if err := readJSON(filepath.Join(dir, "ground-truth.json"), &truth); err != nil {
		return nil, err
	}
	var items []*item
	for id, t := range truth {
		items = append(items, &item{set: "aeb", id: id, kind: "aeb", file: filepath.Join(dir, "html", id+".html.gz"), want: t.ArticleBody})
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
