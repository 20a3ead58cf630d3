package main

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/bench/internal/peer"
	"github.com/bellglass/bellglass/mcpserver"
	"github.com/bellglass/bellglass/tools"
)

// own is a mode of bellglass.
type own struct {
	name  string
	quiet time.Duration // on the real clock; zero for the stepped one
}

var ours = []own{
	{"bellglass", 0},
	{realName, 100 * time.Millisecond},
}

const realName = "bellglass, real clock, 100 ms of quiet"

// bell is bellglass behind its MCP server, in this process: the messages are
// written and read as between two.
type bell struct {
	own
	client     peer.Client
	browser    *bellglass.Browser
	sessions   *tools.Sessions
	server     *mcp.ServerSession
	generation int
}

func startOurs(ctx context.Context, o own, addr string) (_ *bell, err error) {
	c := &bell{own: o}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.browser, err = bellglass.New(bellglass.Options{UnsafeAllow: []string{addr}}); err != nil {
		return nil, err
	}
	if err = c.browser.Start(ctx); err != nil {
		return nil, err
	}
	c.sessions, err = tools.NewSessions(c.browser, tools.SessionsOptions{Session: bellglass.SessionOptions{
		Allow: []string{"bench.test"}, RealTime: o.quiet > 0, RealQuiet: o.quiet,
	}})
	if err != nil {
		return nil, err
	}
	s := mcpserver.New(mcpserver.Options{Version: "bench", Principal: bellglass.Principal{Tenant: "bench", Run: "act"}}, c.sessions.Tools())
	there, here := mcp.NewInMemoryTransports()
	if c.server, err = s.Connect(ctx, there, nil); err != nil {
		return nil, err
	}
	c.client, err = peer.Connect(ctx, here)
	return c, err
}

func (c *bell) name() string { return c.own.name }

var generation = regexp.MustCompile(`(?m)^Generation: (\d+)`)

func (c *bell) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	s, err := c.client.Call(ctx, tool, args)
	if m := generation.FindStringSubmatch(s); m != nil {
		c.generation, _ = strconv.Atoi(m[1])
	}
	return s, err
}

func (c *bell) navigate(ctx context.Context, url string) (string, error) {
	return c.call(ctx, "browser_navigate", map[string]any{"url": url})
}

func (c *bell) click(ctx context.Context, view string, t target) (string, error) {
	i, err := index(`button`, view, t)
	if err != nil {
		return "", err
	}
	return c.call(ctx, "browser_click", map[string]any{"index": i, "generation": c.generation})
}

func (c *bell) fill(ctx context.Context, view string, t target, text string) (string, error) {
	i, err := index(`input`, view, t)
	if err != nil {
		return "", err
	}
	return c.call(ctx, "browser_fill", map[string]any{"index": i, "generation": c.generation, "text": text})
}

func index(kind, view string, t target) (int, error) {
	s, err := nth(`(?m)^\[(\d+)\] `+kind+` "`+t.name+`"`, view, t.nth)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(s)
}

func (c *bell) look(ctx context.Context) (string, error) {
	return c.call(ctx, "browser_state", nil)
}

var whole = regexp.MustCompile(`(?m)^Interactive elements:`)

// view: indices stay true while a document lives, so the first view will do.
func (c *bell) view(answer string) string {
	if whole.MatchString(answer) {
		return answer
	}
	return ""
}

func (c *bell) close() error {
	err := c.client.Close()
	if c.server != nil {
		c.server.Wait()
	}
	if c.sessions != nil {
		c.sessions.Close()
	}
	if c.browser != nil {
		err = errors.Join(err, c.browser.Close())
	}
	return err
}
