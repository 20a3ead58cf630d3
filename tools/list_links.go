package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bellglass/bellglass"
)

const listLinksSchema = `{"type":"object","properties":{` +
	`"url":{"type":"string","description":"Absolute http(s) URL"},` +
	`"query":{"type":"string","description":"Only links whose text or URL holds this"},` +
	`"offset":{"type":"integer","minimum":0,"description":"Continue at next_offset"},` +
	`"fresh":{"type":"boolean"}},` +
	`"required":["url"],"additionalProperties":false}`

func listLinks(r Reader) Tool {
	return Tool{
		Name:        "list_links",
		Title:       "List a page's links",
		Description: "Open a public web page and list its visible links, those to its own site first, at most 100 a call. Read-only.",
		InputSchema: json.RawMessage(listLinksSchema),
		ReadOnly:    true,
		Call: func(ctx context.Context, p bellglass.Principal, raw json.RawMessage) Result {
			req, err := readRequest(p, raw, nil)
			if err != nil {
				return badArguments(err)
			}
			res, err := r.Links(ctx, req)
			if err != nil {
				return failed(err)
			}
			return RenderLinks(res)
		},
	}
}

// RenderLinks is the text form of a list of links: lines of the form
// - "text" -> URL, in which no text can pass for a URL.
func RenderLinks(res bellglass.Links) Result {
	w := &writer{}
	w.head(res.Head)
	w.add("total_links", res.Total)
	if res.Status == bellglass.StatusOK {
		var b strings.Builder
		for _, l := range res.Links {
			fmt.Fprintf(&b, "- %q -> %s\n", l.Text, l.URL)
		}
		w.fence("untrusted_links", b.String())
	}
	return w.result(res.Status)
}
