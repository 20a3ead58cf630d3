package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// client is a client of an MCP server.
type client struct{ session *mcp.ClientSession }

func connect(ctx context.Context, t mcp.Transport) (client, error) {
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, nil)
	return client{s}, err
}

// callTime bounds one call.
const callTime = time.Minute

func (c client) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", fmt.Errorf("%s: %w", tool, err)
	}
	var b strings.Builder
	for _, p := range r.Content {
		if t, ok := p.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	if r.IsError {
		return "", fmt.Errorf("%s: %.2000s", tool, b.String())
	}
	return b.String(), nil
}

func (c client) close() error {
	err := c.session.Close()
	var exit *exec.ExitError // how a server ends is its own affair
	if errors.As(err, &exit) {
		return nil
	}
	return err
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
