package tools

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/bellglass/bellglass"
)

// readRequest makes a request of the arguments that both read tools take, and
// of those that more names.
func readRequest(p bellglass.Principal, raw json.RawMessage, more map[string]any) (bellglass.Request, error) {
	r := bellglass.Request{Principal: p}
	args := map[string]any{"url": &r.URL, "query": &r.Query, "offset": &r.Offset, "fresh": &r.Fresh}
	maps.Copy(args, more)
	if err := decode(raw, args); err != nil {
		return r, err
	}
	if r.URL == "" {
		return r, errors.New(`"url" is missing`)
	}
	return r, nil
}

const browsePageSchema = `{"type":"object","properties":{` +
	`"url":{"type":"string","description":"Absolute http(s) URL"},` +
	`"query":{"type":"string","description":"Return the passages around these words instead of the page's head"},` +
	`"offset":{"type":"integer","minimum":0,"description":"Continue at the next_offset of the last result"},` +
	`"whole":{"type":"boolean","description":"Whole page, not only its main part"},` +
	`"fresh":{"type":"boolean","description":"Not from the cache of 5 minutes"}},` +
	`"required":["url"],"additionalProperties":false}`

func browsePage(r Reader) Tool {
	return Tool{
		Name:  "browse_page",
		Title: "Read a web page",
		Description: "Open a public web page in a fresh browser and return its visible text as Markdown, JavaScript included. " +
			"Read-only: cannot log in, click, submit forms or download files.",
		InputSchema: json.RawMessage(browsePageSchema),
		ReadOnly:    true,
		Call: func(ctx context.Context, p bellglass.Principal, raw json.RawMessage) Result {
			whole := false
			req, err := readRequest(p, raw, map[string]any{"whole": &whole})
			if err != nil {
				return badArguments(err)
			}
			req.Whole = whole
			res, err := r.Browse(ctx, req)
			if err != nil {
				return failed(err)
			}
			return RenderPage(res)
		},
	}
}

// RenderPage is the text form of a page.
func RenderPage(res bellglass.Result) Result {
	w := &writer{}
	w.head(res.Head)
	w.add("total_chars", res.TotalChars)
	w.add("content_hash", res.ContentHash)
	if res.Status == bellglass.StatusOK || res.Text != "" {
		w.fence("untrusted_page_text", res.Text)
	}
	return w.result(res.Status)
}
