package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/tiktoken-go/tokenizer"
)

// contestant operates a page for a model. What its methods return is all that
// the model reads of them, the state of the page included.
type contestant interface {
	name() string
	navigate(ctx context.Context, url string) (string, error)
	// click and fill find the target in view, the last whole one.
	click(ctx context.Context, view string, t target) (string, error)
	fill(ctx context.Context, view string, t target, text string) (string, error)
	look(ctx context.Context) (string, error)
	// view is what of an answer targets can be found in; "" if nothing.
	view(answer string) string
	close() error
}

// nth returns the first group of the nth match.
func nth(pattern, view string, n int) (string, error) {
	m := regexp.MustCompile(pattern).FindAllStringSubmatch(view, n+1)
	if len(m) <= n {
		return "", fmt.Errorf("%d matches of %s in %.2000s", len(m), pattern, view)
	}
	return m[n][1], nil
}

var codec tokenizer.Codec

// tokens counts by the encoding o200k.
func tokens(s string) (int, error) {
	if codec == nil {
		var err error
		if codec, err = tokenizer.Get(tokenizer.O200kBase); err != nil {
			return 0, err
		}
	}
	return codec.Count(s)
}
