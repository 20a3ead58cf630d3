package main

import (
	"context"

	"github.com/bellglass/bellglass/bench/internal/peer"
)

// rival is somebody else's tool.
type rival struct {
	name    string
	program string // below node_modules
	start   func(ctx context.Context, lab peer.Lab) (reader, error)
}

var others = []rival{
	{loopName, "playwright-core/package.json", startLoop},
	{agentName, peer.AgentBrowser(), startAgentBrowser},
	{"Playwright MCP", peer.PlaywrightMCP, startPlaywright},
	{"chrome-devtools-mcp", peer.DevToolsMCP, startDevTools},
}

type playwright struct{ *peer.Playwright }

func startPlaywright(ctx context.Context, lab peer.Lab) (reader, error) {
	p, err := lab.Playwright(ctx)
	return playwright{p}, err
}

func (playwright) name() string   { return "Playwright MCP" }
func (p playwright) close() error { return p.Close() }

func (p playwright) read(ctx context.Context, url string) (string, error) {
	s, err := p.Call(ctx, "browser_navigate", map[string]any{"url": url})
	if err != nil {
		return "", err
	}
	return p.Snapshot(ctx, s)
}

type devTools struct{ peer.Client }

func startDevTools(ctx context.Context, lab peer.Lab) (reader, error) {
	c, err := lab.DevTools(ctx)
	return devTools{c}, err
}

func (devTools) name() string   { return "chrome-devtools-mcp" }
func (d devTools) close() error { return d.Close() }

func (d devTools) read(ctx context.Context, url string) (string, error) {
	if _, err := d.Call(ctx, "navigate_page", map[string]any{"type": "url", "url": url}); err != nil {
		return "", err
	}
	return d.Call(ctx, "take_snapshot", map[string]any{})
}

type commandLine struct{ *peer.CommandLine }

func startAgentBrowser(_ context.Context, lab peer.Lab) (reader, error) {
	return commandLine{lab.AgentBrowser()}, nil
}

func (commandLine) name() string   { return agentName }
func (c commandLine) close() error { return c.Close() }

func (c commandLine) read(ctx context.Context, url string) (string, error) {
	if _, err := c.Run(ctx, "open", url); err != nil {
		return "", err
	}
	return c.Run(ctx, "snapshot")
}
