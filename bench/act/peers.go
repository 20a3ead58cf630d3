package main

import (
	"context"

	"github.com/bellglass/bellglass/bench/internal/peer"
)

// rival is somebody else's tool.
type rival struct {
	name    string
	program string // below node_modules
	start   func(ctx context.Context, lab peer.Lab) (contestant, error)
}

var others = []rival{
	{"Playwright MCP", peer.PlaywrightMCP, startPlaywright},
	{"chrome-devtools-mcp", peer.DevToolsMCP, startDevTools},
	{"agent-browser", peer.AgentBrowser(), startAgentBrowser},
}

// playwright is asked again where the new state is not there yet.
type playwright struct{ *peer.Playwright }

func startPlaywright(ctx context.Context, lab peer.Lab) (contestant, error) {
	p, err := lab.Playwright(ctx)
	return playwright{p}, err
}

func (playwright) name() string { return "Playwright MCP" }

func (p playwright) close() error { return p.Close() }

func (p playwright) do(ctx context.Context, tool string, args map[string]any) (string, error) {
	s, err := p.Call(ctx, tool, args)
	if err != nil {
		return "", err
	}
	state, err := p.Snapshot(ctx, s)
	return s + state, err
}

func (p playwright) navigate(ctx context.Context, url string) (string, error) {
	return p.do(ctx, "browser_navigate", map[string]any{"url": url})
}

func (p playwright) find(role, view string, t target) (string, error) {
	return nth(role+` "`+t.name+`"[^\n]*\[ref=(\w+)\]`, view, t.nth)
}

func (p playwright) click(ctx context.Context, view string, t target) (string, error) {
	ref, err := p.find("button", view, t)
	if err != nil {
		return "", err
	}
	return p.do(ctx, "browser_click", map[string]any{"element": t.name, "target": ref})
}

func (p playwright) fill(ctx context.Context, view string, t target, text string) (string, error) {
	ref, err := p.find("textbox", view, t)
	if err != nil {
		return "", err
	}
	return p.do(ctx, "browser_type", map[string]any{"element": t.name, "target": ref, "text": text})
}

func (p playwright) look(ctx context.Context) (string, error) {
	return p.Call(ctx, "browser_snapshot", map[string]any{})
}

func (p playwright) view(answer string) string { return answer }

// devTools returns the state with an act when it is asked to.
type devTools struct{ peer.Client }

func startDevTools(ctx context.Context, lab peer.Lab) (contestant, error) {
	c, err := lab.DevTools(ctx)
	return devTools{c}, err
}

func (d devTools) close() error { return d.Close() }

func (devTools) name() string { return "chrome-devtools-mcp" }

func (d devTools) navigate(ctx context.Context, url string) (string, error) {
	said, err := d.Call(ctx, "navigate_page", map[string]any{"type": "url", "url": url})
	if err != nil {
		return "", err
	}
	s, err := d.look(ctx)
	return said + s, err
}

func (d devTools) click(ctx context.Context, view string, t target) (string, error) {
	uid, err := nth(`uid=(\w+) button "`+t.name+`"`, view, t.nth)
	if err != nil {
		return "", err
	}
	return d.Call(ctx, "click", map[string]any{"uid": uid, "includeSnapshot": true})
}

func (d devTools) fill(ctx context.Context, view string, t target, text string) (string, error) {
	uid, err := nth(`uid=(\w+) textbox "`+t.name+`"`, view, t.nth)
	if err != nil {
		return "", err
	}
	return d.Call(ctx, "fill", map[string]any{"uid": uid, "value": text, "includeSnapshot": true})
}

func (d devTools) look(ctx context.Context) (string, error) {
	return d.Call(ctx, "take_snapshot", map[string]any{})
}

func (d devTools) view(answer string) string { return answer }

// commandLine is agent-browser: an act and a look in one call, and of the page
// what can be operated.
type commandLine struct{ *peer.CommandLine }

func startAgentBrowser(_ context.Context, lab peer.Lab) (contestant, error) {
	return commandLine{lab.AgentBrowser()}, nil
}

func (c commandLine) close() error { return c.Close() }

func (commandLine) name() string { return "agent-browser" }

func (c commandLine) act(ctx context.Context, command string) (string, error) {
	return c.Run(ctx, "batch", "--bail", command, "snapshot -i")
}

func (c commandLine) navigate(ctx context.Context, url string) (string, error) {
	return c.act(ctx, "open "+url)
}

func (c commandLine) find(role, view string, t target) (string, error) {
	return nth(role+` "`+t.name+`"[^\n]*ref=(\w+)`, view, t.nth)
}

func (c commandLine) click(ctx context.Context, view string, t target) (string, error) {
	ref, err := c.find("button", view, t)
	if err != nil {
		return "", err
	}
	return c.act(ctx, "click @"+ref)
}

func (c commandLine) fill(ctx context.Context, view string, t target, text string) (string, error) {
	ref, err := c.find("textbox", view, t)
	if err != nil {
		return "", err
	}
	return c.act(ctx, "fill @"+ref+" "+text)
}

func (c commandLine) look(ctx context.Context) (string, error) { return c.Run(ctx, "snapshot", "-i") }

func (c commandLine) view(answer string) string { return answer }
