package main

import (
	"bytes"
	nurl "net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/markusmobius/go-trafilatura"
)

var pageURL = &nurl.URL{Scheme: "https", Host: "page.example", Path: "/"}

// viaTrafilatura is what go-trafilatura takes for the main text of a page.
func viaTrafilatura(html []byte) string {
	r, err := trafilatura.Extract(bytes.NewReader(html), trafilatura.Options{OriginalURL: pageURL, EnableFallback: true, ExcludeComments: true})
	if err != nil {
		return ""
	}
	return r.ContentText
}

// viaReadability is the same of readeck's go-readability.
func viaReadability(html []byte) string {
	a, err := readability.FromReader(bytes.NewReader(html), pageURL)
	if err != nil || a.Node == nil {
		return ""
	}
	var b strings.Builder
	if a.RenderText(&b) != nil {
		return ""
	}
	return b.String()
}
