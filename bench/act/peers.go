package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peer is somebody else's tool, as npm installs it.
type peer struct {
	name    string
	program string // below node_modules
	start   func(ctx context.Context, lab, dir, browser string) (contestant, error)
}

var others = []peer{
	{"Playwright MCP", "@playwright/mcp/cli.js", startPlaywright},
	{"chrome-devtools-mcp", "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", startDevTools},
	{"agent-browser", agentBrowser(), startAgentBrowser},
}

// isRoot: Chromium refuses to run its sandbox for root. The network that
// they are in leads nowhere.
var isRoot = os.Geteuid() == 0

func serve(ctx context.Context, lab, dir, program string, args ...string) (client, error) {
	cmd := exec.Command("node", append([]string{filepath.Join(lab, "node_modules", program)}, args...)...)
	cmd.Dir, cmd.Env = dir, environment(dir)
	return connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 3 * time.Second})
}

// environment keeps a peer's files in a folder that is removed afterwards.
func environment(dir string, more ...string) []string {
	return append(append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_RUNTIME_DIR="+dir), more...)
}

// playwright answers with the name of a file that holds the state of the page;
// to read that is quicker than to ask for another.
type playwright struct {
	client
	dir string
}

func startPlaywright(ctx context.Context, lab, dir, browser string) (contestant, error) {
	// Without the half second of waiting after each act: it is asked again
	// where the new state is not there yet.
	args := []string{"--headless", "--isolated", "--executable-path", browser, "--timeout-settle", "0", "--codegen", "none", "--output-dir", dir}
	if isRoot {
		args = append(args, "--no-sandbox")
	}
	c, err := serve(ctx, lab, dir, "@playwright/mcp/cli.js", args...)
	return &playwright{c, dir}, err
}

func (*playwright) name() string { return "Playwright MCP" }

var snapshotFile = regexp.MustCompile(`\[Snapshot\]\(([^)]+\.yml)\)`)

func (p *playwright) state(ctx context.Context, answer string) (string, error) {
	m := snapshotFile.FindStringSubmatch(answer)
	if m == nil {
		s, err := p.look(ctx)
		return answer + s, err
	}
	path := m[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	b, err := os.ReadFile(path)
	return answer + string(b), err
}

func (p *playwright) do(ctx context.Context, tool string, args map[string]any) (string, error) {
	s, err := p.call(ctx, tool, args)
	if err != nil {
		return "", err
	}
	return p.state(ctx, s)
}

func (p *playwright) navigate(ctx context.Context, url string) (string, error) {
	return p.do(ctx, "browser_navigate", map[string]any{"url": url})
}

func (p *playwright) find(role, view string, t target) (string, error) {
	return nth(role+` "`+t.name+`"[^\n]*\[ref=(\w+)\]`, view, t.nth)
}

func (p *playwright) click(ctx context.Context, view string, t target) (string, error) {
	ref, err := p.find("button", view, t)
	if err != nil {
		return "", err
	}
	return p.do(ctx, "browser_click", map[string]any{"element": t.name, "target": ref})
}

func (p *playwright) fill(ctx context.Context, view string, t target, text string) (string, error) {
	ref, err := p.find("textbox", view, t)
	if err != nil {
		return "", err
	}
	return p.do(ctx, "browser_type", map[string]any{"element": t.name, "target": ref, "text": text})
}

func (p *playwright) look(ctx context.Context) (string, error) {
	return p.call(ctx, "browser_snapshot", map[string]any{})
}

func (p *playwright) view(answer string) string { return answer }

// devTools returns the state with an act when it is asked to.
type devTools struct{ client }

func startDevTools(ctx context.Context, lab, dir, browser string) (contestant, error) {
	args := []string{"--headless", "--isolated", "--executablePath", browser, "--no-usage-statistics", "--no-page-id-routing"}
	if isRoot {
		args = append(args, "--chromeArg=--no-sandbox")
	}
	c, err := serve(ctx, lab, dir, "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", args...)
	if err != nil {
		return nil, err
	}
	_, err = c.call(ctx, "list_pages", map[string]any{})
	return &devTools{c}, err
}

func (*devTools) name() string { return "chrome-devtools-mcp" }

func (d *devTools) navigate(ctx context.Context, url string) (string, error) {
	said, err := d.call(ctx, "navigate_page", map[string]any{"type": "url", "url": url})
	if err != nil {
		return "", err
	}
	s, err := d.look(ctx)
	return said + s, err
}

func (d *devTools) click(ctx context.Context, view string, t target) (string, error) {
	uid, err := nth(`uid=(\w+) button "`+t.name+`"`, view, t.nth)
	if err != nil {
		return "", err
	}
	return d.call(ctx, "click", map[string]any{"uid": uid, "includeSnapshot": true})
}

func (d *devTools) fill(ctx context.Context, view string, t target, text string) (string, error) {
	uid, err := nth(`uid=(\w+) textbox "`+t.name+`"`, view, t.nth)
	if err != nil {
		return "", err
	}
	return d.call(ctx, "fill", map[string]any{"uid": uid, "value": text, "includeSnapshot": true})
}

func (d *devTools) look(ctx context.Context) (string, error) {
	return d.call(ctx, "take_snapshot", map[string]any{})
}

func (d *devTools) view(answer string) string { return answer }

// commandLine is agent-browser: a program that asks a service in the
// background, an act and a look in one call, and of the page what can be
// operated.
type commandLine struct {
	path string
	env  []string
	dir  string
}

func agentBrowser() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return "agent-browser/bin/agent-browser-" + runtime.GOOS + "-" + arch
}

func startAgentBrowser(_ context.Context, lab, dir, browser string) (contestant, error) {
	env := environment(dir, "AGENT_BROWSER_EXECUTABLE_PATH="+browser, "AGENT_BROWSER_NO_VERSION_CHECK=1", "AGENT_BROWSER_IDLE_TIMEOUT_MS=600000")
	if isRoot {
		env = append(env, "AGENT_BROWSER_ARGS=--no-sandbox")
	}
	return &commandLine{filepath.Join(lab, "node_modules", agentBrowser()), env, dir}, nil
}

func (*commandLine) name() string { return "agent-browser" }

func (c *commandLine) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Env, cmd.Dir = c.env, c.dir
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%s: %w: %.1000s%.1000s", args[0], err, out.String(), errs.String())
	}
	return out.String(), nil
}

func (c *commandLine) act(ctx context.Context, command string) (string, error) {
	return c.run(ctx, "batch", "--bail", command, "snapshot -i")
}

func (c *commandLine) navigate(ctx context.Context, url string) (string, error) {
	return c.act(ctx, "open "+url)
}

func (c *commandLine) find(role, view string, t target) (string, error) {
	return nth(role+` "`+t.name+`"[^\n]*ref=(\w+)`, view, t.nth)
}

func (c *commandLine) click(ctx context.Context, view string, t target) (string, error) {
	ref, err := c.find("button", view, t)
	if err != nil {
		return "", err
	}
	return c.act(ctx, "click @"+ref)
}

func (c *commandLine) fill(ctx context.Context, view string, t target, text string) (string, error) {
	ref, err := c.find("textbox", view, t)
	if err != nil {
		return "", err
	}
	return c.act(ctx, "fill @"+ref+" "+text)
}

func (c *commandLine) look(ctx context.Context) (string, error) { return c.run(ctx, "snapshot", "-i") }

func (c *commandLine) view(answer string) string { return answer }

func (c *commandLine) close() error {
	_, err := c.run(context.Background(), "close")
	return err
}
