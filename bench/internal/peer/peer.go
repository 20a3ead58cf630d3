// Package peer starts other people's browser tools, as npm installs them, and
// speaks with them. The benchmarks that measure beside them share it.
package peer

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

// Programs, below node_modules.
const (
	PlaywrightMCP = "@playwright/mcp/cli.js"
	DevToolsMCP   = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
)

// AgentBrowser is agent-browser's program for this machine, below node_modules.
func AgentBrowser() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return "agent-browser/bin/agent-browser-" + runtime.GOOS + "-" + arch
}

// Lab is where peers were installed, and what they get.
type Lab struct {
	Folder  string // in which node_modules is
	Files   string // for what they write, removed afterwards
	Browser string // the program of the browser that all use
}

// Has reports that a program was installed.
func (l Lab) Has(program string) bool {
	_, err := os.Stat(l.path(program))
	return err == nil
}

func (l Lab) path(program string) string { return filepath.Join(l.Folder, "node_modules", program) }

// Environment keeps a peer's files in the folder for them.
func (l Lab) Environment(more ...string) []string {
	return append(append(os.Environ(), "HOME="+l.Files, "XDG_CACHE_HOME="+l.Files, "XDG_RUNTIME_DIR="+l.Files), more...)
}

// NoSandbox is its arguments for root, for whom Chromium refuses to run its
// sandbox, and none for others. The network that peers are in leads nowhere.
func NoSandbox(args ...string) []string {
	if os.Geteuid() == 0 {
		return args
	}
	return nil
}

// callTime bounds one call.
const callTime = time.Minute

// Client is a client of an MCP server.
type Client struct{ session *mcp.ClientSession }

// Connect greets a server.
func Connect(ctx context.Context, t mcp.Transport) (Client, error) {
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, nil)
	return Client{s}, err
}

func (l Lab) serve(ctx context.Context, program string, args ...string) (Client, error) {
	cmd := exec.Command("node", append([]string{l.path(program)}, args...)...)
	cmd.Dir, cmd.Env = l.Files, l.Environment()
	return Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 3 * time.Second})
}

// Call calls a tool, and returns the text of its answer.
func (c Client) Call(ctx context.Context, tool string, args map[string]any) (string, error) {
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

// Close ends the server. The zero value has none.
func (c Client) Close() error {
	if c.session == nil {
		return nil
	}
	err := c.session.Close()
	var exit *exec.ExitError // how a server ends is its own affair
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// Playwright is Playwright MCP.
type Playwright struct {
	Client
	lab Lab
}

// Playwright starts Playwright MCP without the half second of waiting after each
// act: who does not find the new state yet has to ask again.
func (l Lab) Playwright(ctx context.Context) (*Playwright, error) {
	args := []string{"--headless", "--isolated", "--executable-path", l.Browser, "--timeout-settle", "0", "--codegen", "none", "--output-dir", l.Files}
	c, err := l.serve(ctx, PlaywrightMCP, append(args, NoSandbox("--no-sandbox")...)...)
	return &Playwright{c, l}, err
}

var snapshotFile = regexp.MustCompile(`\[Snapshot\]\(([^)]+\.yml)\)`)

// Snapshot is the state of the page that an answer is about. It names a file
// that holds it; to read that is quicker than to ask for another.
func (p *Playwright) Snapshot(ctx context.Context, answer string) (string, error) {
	m := snapshotFile.FindStringSubmatch(answer)
	if m == nil {
		return p.Call(ctx, "browser_snapshot", map[string]any{})
	}
	path := m[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.lab.Files, path)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// DevTools starts chrome-devtools-mcp and its browser.
func (l Lab) DevTools(ctx context.Context) (Client, error) {
	args := []string{"--headless", "--isolated", "--executablePath", l.Browser, "--no-usage-statistics", "--no-page-id-routing"}
	c, err := l.serve(ctx, DevToolsMCP, append(args, NoSandbox("--chromeArg=--no-sandbox")...)...)
	if err != nil {
		return c, err
	}
	_, err = c.Call(ctx, "list_pages", map[string]any{})
	return c, err
}

// CommandLine is agent-browser: a program that asks a service in the
// background, which its first command starts.
type CommandLine struct{ lab Lab }

// AgentBrowser is agent-browser.
func (l Lab) AgentBrowser() *CommandLine { return &CommandLine{l} }

// Run runs a command, and returns what it writes.
func (c *CommandLine) Run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.lab.path(AgentBrowser()), args...)
	cmd.Dir = c.lab.Files
	cmd.Env = c.lab.Environment("AGENT_BROWSER_EXECUTABLE_PATH="+c.lab.Browser, "AGENT_BROWSER_NO_VERSION_CHECK=1", "AGENT_BROWSER_IDLE_TIMEOUT_MS=600000")
	cmd.Env = append(cmd.Env, NoSandbox("AGENT_BROWSER_ARGS=--no-sandbox")...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%s: %w: %.1000s%.1000s", args[0], err, out.String(), errs.String())
	}
	return out.String(), nil
}

// Close ends the service.
func (c *CommandLine) Close() error {
	_, err := c.Run(context.Background(), "close")
	return err
}
