package plain

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bellglass/bellglass/internal/extract"
)

// TestHostileDocumentsAreBounded parses documents that were made to take long.
// Each takes well under a second on an idle machine.
func TestHostileDocumentsAreBounded(t *testing.T) {
	var rules strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rules, ".a%d div div div div div > div div + div ~ div .x{display:none}\n", i)
	}
	deep := strings.Repeat("<div>", 500)
	for name, html := range map[string]string{
		"deep":          strings.Repeat("<div>", 20_000) + "end" + strings.Repeat("</div>", 20_000),
		"deep inline":   strings.Repeat("<b><i>", 10_000) + "end",
		"many":          strings.Repeat("<p>x</p>", 8_000) + "<p>end",
		"backtracking":  "<style>.q div div div div div div div div b{display:none}</style>" + deep + strings.Repeat("<b>x</b>", 2000) + "end",
		"many rules":    "<style>" + rules.String() + "</style>" + deep + strings.Repeat("<p class=x>y", 300) + "end",
		"nth of many":   "<style>li:nth-last-child(3n){display:none}</style><ul>" + strings.Repeat("<li>x", 6_000) + "</ul>end",
		"open brackets": "<style>" + strings.Repeat("a:is(", 20_000) + "</style>end",
		"media":         "<style>" + strings.Repeat("@media all{", 20_000) + "</style>end",
		"tables":        strings.Repeat("<table><tr><td>", 1_500) + "end",
		"long style":    `<p style="` + strings.Repeat("color:red;", 100_000) + `">end`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			d, err := Parse([]byte(html), "http://page.example/")
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			text := d.Text(extract.TextOptions{Whole: true})
			if !strings.Contains(text, "end") && !d.Doc.Cut {
				t.Errorf("the end is missing, and nothing says so: %d characters", len(text))
			}
		})
	}
}

func TestLargeDocumentIsReadInPart(t *testing.T) {
	d, err := Parse(bytes.Repeat([]byte("<p>"+strings.Repeat("some words ", 1000)+"</p>\n"), maxHTML/11000+10), "http://page.example/")
	if err != nil {
		t.Fatal(err)
	}
	if !d.Cut || !d.Doc.Cut || d.TextLen == 0 {
		t.Errorf("cut %v, %d characters", d.Cut, d.TextLen)
	}
}

func TestRefresh(t *testing.T) {
	for _, k := range []struct {
		in, to string
		ok     bool
	}{
		{"0; url=/next", "/next", true},
		{"0;URL='/next'", "/next", true},
		{` 3 , url = "a b" x`, "a b", true},
		{"0;/next", "/next", true},
		{"0.5; url=/next", "/next", true},
		{"5", "", false},
		{"0;", "", false},
		{"60; url=/later", "", false},
		{"99999999999999999999; url=/later", "", false},
		{"x; url=/next", "", false},
		{"", "", false},
		{"0url=/next", "", false},
	} {
		if to, ok := parseRefresh(k.in); to != k.to || ok != k.ok {
			t.Errorf("%q: %q %v, want %q %v", k.in, to, ok, k.to, k.ok)
		}
	}
}

// FuzzParse: no document breaks the parser, its style sheets included, and what
// comes of it is text within bounds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"<p>text<style>p:not(.a, :is(#b)) > i{display:none!important}</style>",
		"<div style='position:absolute;left:-9999px;color:rgb(1 2 3 / 4%)'>x</div>",
		"<template shadowrootmode=open><slot name=a>f</slot></template><b slot=a>c",
		"<table><tr><td colspan=9>a<pre>\tb\n</pre><ul><li value=3>c",
		"<style>@media (400px <= width < 900px) and (hover){a{b:c}} @layer x{@supports not (d:e){f{g:h}}}</style>",
		"<meta http-equiv=refresh content='0;url=x'><base href=//y><script type=application/ld+json>{\"@type\":\"A\"}</script>",
		"<svg><text>s</text></svg><math><mi>x</mi></math><ruby>r<rt>t</ruby><details><summary>s</summary>h</details>",
		"\xff\xfe<\x00p\x00>\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 1<<16 {
			return
		}
		d, err := Parse(in, "http://page.example/")
		if err != nil {
			t.Fatal(err)
		}
		text := d.Text(extract.TextOptions{Whole: true})
		if !utf8.ValidString(text) {
			t.Errorf("not UTF-8: %q", text)
		}
		d.Needs()
		d.Links("page.example")
	})
}

// FuzzText: whatever a body is said to be, its text is UTF-8.
func FuzzText(f *testing.F) {
	f.Add([]byte("<meta charset=shift_jis>\x83\x65"), "text/html")
	f.Add([]byte("<?xml version='1.0' encoding='utf-16'?>"), "text/xml; charset=\"x\"")
	f.Add([]byte("\x1b$B%F\x1b(B"), "text/plain")
	f.Add([]byte("a\x00b\x00c\x00d\x00"), "")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		if len(body) > 1<<16 {
			return
		}
		r := &Response{Body: body, Header: map[string][]string{"Content-Type": {contentType}}}
		if text := r.utf8(); !utf8.Valid(text) {
			t.Errorf("not UTF-8: %q", text)
		}
		r.MediaType()
	})
}

// TestFormattingDoesNotGrow: a formatting element that is never closed is
// opened anew in every paragraph. Without a guard the document below becomes
// a hundred million elements.
func TestFormattingDoesNotGrow(t *testing.T) {
	var open strings.Builder
	for i := range 400 {
		fmt.Fprintf(&open, "<font size=%d>", i)
	}
	for name, html := range map[string]string{
		"left open":            open.String() + strings.Repeat("<p>x", 100_000),
		"closed by another":    strings.ReplaceAll(open.String(), "<font", "<em><font") + "</em>" + strings.Repeat("<p>x", 100_000),
		"closed in a scope":    strings.ReplaceAll(open.String(), "<font", "<table></font></table><font") + strings.Repeat("<p>x", 100_000),
		"closed in a select":   strings.ReplaceAll(open.String(), ">", "><select></font></select>") + strings.Repeat("<p>x", 100_000),
		"closed before opened": strings.Repeat("</font>", 500) + open.String() + strings.Repeat("<p>x", 100_000),
	} {
		if growth([]byte(html)) == len(html) {
			t.Errorf("%s: not seen to grow", name)
		}
		root, _, err := parseHTML([]byte(html), true)
		if err != nil {
			t.Fatal(name, err)
		}
		n := 0
		for range root.Descendants() {
			n++
		}
		if n > 2*maxGrowth {
			t.Errorf("%s: %d nodes", name, n)
		}
	}
}
