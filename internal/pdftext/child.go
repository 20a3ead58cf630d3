package pdftext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/ledongthuc/pdf"
)

// Exit codes of the child. What Go's runtime ends for ends with 2.
const (
	exitMalformed = 3
	exitLimit     = 4
)

// maxStack bounds what recursion in a file can take, in bytes.
const maxStack = 64 << 20

// init is where the child's life begins, and ends.
func init() {
	if len(os.Args) != 2 || os.Args[1] != child {
		return
	}
	debug.SetMaxStack(maxStack)
	in := os.NewFile(childFD, "pdf")
	if in == nil {
		os.Exit(exitMalformed)
	}
	file, err := io.ReadAll(in)
	if err != nil {
		os.Exit(exitMalformed)
	}
	doc, err := extract(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitMalformed)
	}
	if json.NewEncoder(os.Stdout).Encode(doc) != nil {
		os.Exit(exitLimit)
	}
	os.Exit(0)
}

// extract reads a file in this process.
func extract(file []byte) (d Doc, err error) {
	defer recovered(&err)
	r, err := pdf.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return Doc{}, err
	}
	d.Title = text(r.Trailer().Key("Info").Key("Title"))
	var t tree
	t.walk(r.Trailer().Key("Root").Key("Pages"), page{}, 0)
	size, broken := 0, 0
	for _, p := range t.pages {
		if size > maxText {
			t.cut = true
			break
		}
		got, err := readPage(p)
		if err != nil {
			broken++
		}
		size += len(got.text)
		d.Hidden += got.hidden
		d.Pages = append(d.Pages, got.text)
	}
	d.Cut = t.cut
	if broken == len(d.Pages) { // none, too
		return Doc{}, ErrMalformed
	}
	return d, nil
}

// page is a page with what it inherits.
type page struct{ contents, resources, media, crop pdf.Value }

// tree collects the pages of a file, in order (ISO 32000-1 §7.7.3). It bears
// loops.
type tree struct {
	pages []page
	nodes int
	cut   bool
}

// maxTreeDepth bounds the nesting of page nodes; programs balance the tree.
const maxTreeDepth = 50

func (t *tree) walk(v pdf.Value, from page, depth int) {
	if t.nodes++; depth > maxTreeDepth || t.nodes > 4*maxPages || len(t.pages) >= maxPages {
		t.cut = true
		return
	}
	for key, to := range map[string]*pdf.Value{"Resources": &from.resources, "MediaBox": &from.media, "CropBox": &from.crop} {
		if own := v.Key(key); !own.IsNull() {
			*to = own
		}
	}
	if kids := v.Key("Kids"); kids.Kind() == pdf.Array {
		for i := range kids.Len() {
			if t.walk(kids.Index(i), from, depth+1); t.cut {
				return
			}
		}
		return
	}
	if v.Kind() == pdf.Dict {
		from.contents = v.Key("Contents")
		t.pages = append(t.pages, from)
	}
}

// recovered makes an error of a panic: the parser panics on what it does not
// expect.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrMalformed, r)
	}
}

// text is a text string of the file's structure, or "".
func text(v pdf.Value) string {
	if v.Kind() != pdf.String {
		return ""
	}
	return v.Text()
}
