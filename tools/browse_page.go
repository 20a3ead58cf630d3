package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bellglass/bellglass"
)

// readArgs are the arguments of both read tools; list_links takes no whole.
type readArgs struct {
	URL    string `json:"url"`
	Query  string `json:"query"`
	Offset int    `json:"offset"`
}

func (a readArgs) check() error {
	if a.URL == "" {
		return errors.New(`"url" is missing`)
	}
	return nil
}

func (a readArgs) request(p bellglass.Principal) bellglass.Request {
	return bellglass.Request{Principal: p, URL: a.URL, Query: a.Query, Offset: a.Offset}
}

const browsePageSchema = `{"type":"object","properties":{` +
	`"url":{"type":"string","description":"Absolute http(s) URL"},` +
	`"query":{"type":"string","description":"Return the passages around these words instead of the page's head"},` +
	`"offset":{"type":"integer","minimum":0,"description":"Continue at the next_offset of the last result"},` +
	`"whole":{"type":"boolean","description":"Whole page, not only its main part"}},` +
	`"required":["url"],"additionalProperties":false}`

func browsePage(r Reader) Tool {
	return Tool{
		Name:  "browse_page",
		Title: "Read a web page",
		Description: "Open a public web page in a fresh browser and return its visible text as Markdown, JavaScript included. " +
			"Read-only: cannot log in, click, submit forms or download files.",
		InputSchema: json.RawMessage(browsePageSchema),
		Call: func(ctx context.Context, p bellglass.Principal, raw json.RawMessage) Result {
			var args struct {
				readArgs
				Whole bool `json:"whole"`
			}
			if err := errors.Join(decode(raw, &args), args.check()); err != nil {
				return badArguments(err)
			}
			req := args.request(p)
			req.Whole = args.Whole
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
	if res.Status == bellglass.StatusOK || res.Text != "" {
		w.fence("untrusted_page_text", res.Text)
	}
	return w.result(res.Status)
}
