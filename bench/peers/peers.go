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
	start   func(ctx context.Context, lab, dir, browser string) (reader, error)
}

var others = []peer{
	{loopName, "playwright-core/package.json", startLoop},
	{agentName, agentBrowser(), startAgentBrowser},
	{"Playwright MCP", playwrightMCP, startPlaywright},
	{"chrome-devtools-mcp", devToolsMCP, startDevTools},
}

const (
	playwrightMCP = "@playwright/mcp/cli.js"
	devToolsMCP   = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
)

// isRoot: Chromium refuses to run its sandbox for root. The network that
// they are in leads nowhere.
var isRoot = os.Geteuid() == 0

// environment keeps a peer's files in a folder that is removed afterwards.
func environment(dir string, more ...string) []string {
	return append(append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_RUNTIME_DIR="+dir), more...)
}

// callTime bounds one call.
const callTime = time.Minute

// client is a client of an MCP server.
type client struct{ session *mcp.ClientSession }

func serve(ctx context.Context, lab, dir, program string, args ...string) (client, error) {
	cmd := exec.Command("node", append([]string{filepath.Join(lab, "node_modules", program)}, args...)...)
	cmd.Dir, cmd.Env = dir, environment(dir)
	t := &mcp.CommandTransport{Command: cmd, TerminateDuration: 3 * time.Second}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, nil)
	return client{s}, err
}

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

// playwright answers with the name of a file that holds the state of the page;
// to read that is quicker than to ask for another.
type playwright struct {
	client
	dir string
}

func startPlaywright(ctx context.Context, lab, dir, browser string) (reader, error) {
	// Without the half second of waiting after each act.
	args := []string{"--headless", "--isolated", "--executable-path", browser, "--timeout-settle", "0", "--codegen", "none", "--output-dir", dir}
	if isRoot {
		args = append(args, "--no-sandbox")
	}
	c, err := serve(ctx, lab, dir, playwrightMCP, args...)
	return &playwright{c, dir}, err
}

func (*playwright) name() string { return "Playwright MCP" }

var snapshotFile = regexp.MustCompile(`\[Snapshot\]\(([^)]+\.yml)\)`)

func (p *playwright) read(ctx context.Context, url string) (string, error) {
	s, err := p.call(ctx, "browser_navigate", map[string]any{"url": url})
	if err != nil {
		return "", err
	}
	m := snapshotFile.FindStringSubmatch(s)
	if m == nil {
		return p.call(ctx, "browser_snapshot", map[string]any{})
	}
	path := m[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

type devTools struct{ client }

func startDevTools(ctx context.Context, lab, dir, browser string) (reader, error) {
	args := []string{"--headless", "--isolated", "--executablePath", browser, "--no-usage-statistics", "--no-page-id-routing"}
	if isRoot {
		args = append(args, "--chromeArg=--no-sandbox")
	}
	c, err := serve(ctx, lab, dir, devToolsMCP, args...)
	if err != nil {
		return nil, err
	}
	_, err = c.call(ctx, "list_pages", map[string]any{})
	return &devTools{c}, err
}

func (*devTools) name() string { return "chrome-devtools-mcp" }

func (d *devTools) read(ctx context.Context, url string) (string, error) {
	if _, err := d.call(ctx, "navigate_page", map[string]any{"type": "url", "url": url}); err != nil {
		return "", err
	}
	return d.call(ctx, "take_snapshot", map[string]any{})
}

// commandLine is agent-browser: a program that asks a service in the
// background.
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

func startAgentBrowser(_ context.Context, lab, dir, browser string) (reader, error) {
	env := environment(dir, "AGENT_BROWSER_EXECUTABLE_PATH="+browser, "AGENT_BROWSER_NO_VERSION_CHECK=1", "AGENT_BROWSER_IDLE_TIMEOUT_MS=600000")
	if isRoot {
		env = append(env, "AGENT_BROWSER_ARGS=--no-sandbox")
	}
	return &commandLine{filepath.Join(lab, "node_modules", agentBrowser()), env, dir}, nil
}

func (*commandLine) name() string { return agentName }

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

func (c *commandLine) read(ctx context.Context, url string) (string, error) {
	if _, err := c.run(ctx, "open", url); err != nil {
		return "", err
	}
	return c.run(ctx, "snapshot")
}

func (c *commandLine) close() error {
	_, err := c.run(context.Background(), "close")
	return err
}
