package acttest

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/mcpserver"
	"github.com/bellglass/bellglass/tools"
)

// TestOverMCP goes the whole way through a client of the protocol.
func TestOverMCP(t *testing.T) {
	t.Parallel()
	url := serve("mcp.test", `<!doctype html><title>MCP</title><label>Name <input></label><button onclick="document.title='Hello '+document.querySelector('input').value">Greet</button>`)
	o := anywhere
	o.ArtefactDir = t.TempDir()
	sessions, err := tools.NewSessions(bg, tools.SessionsOptions{Session: o})
	if err != nil {
		t.Fatal(err)
	}
	defer sessions.Close()
	list := append(tools.Read(bg), sessions.Tools()...)
	s := mcpserver.New(mcpserver.Options{Version: "1", Principal: bellglass.Principal{Tenant: "test", Run: "mcp"}, Instructions: bellglass.ActInstruction}, list)
	st, ct := mcp.NewInMemoryTransports()
	ss, err := s.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { client.Close(); ss.Wait() }()
	call := func(name string, args map[string]any) (*mcp.CallToolResult, string) {
		t.Helper()
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatalf("%s: an error of the protocol: %v", name, err)
		}
		return r, r.Content[0].(*mcp.TextContent).Text
	}
	if r, text := call("browser_click", map[string]any{"index": 0, "generation": 1}); !r.IsError || !strings.Contains(text, "unknown_session") {
		t.Errorf("before any page: %s", text)
	}
	if r, text := call("browser_navigate", map[string]any{"url": url}); r.IsError || !strings.Contains(text, `[1] button "Greet"`) {
		t.Fatalf("navigate: %s", text)
	}
	if r, text := call("browser_fill", map[string]any{"index": 0, "generation": 1, "text": "Ada"}); r.IsError || !strings.Contains(text, `"Ada"`) {
		t.Errorf("fill: %s", text)
	}
	r, text := call("browser_click", map[string]any{"index": 1, "generation": 2})
	if r.IsError || !strings.Contains(text, "Page: Hello Ada") || r.StructuredContent.(map[string]any)["generation"] != 3.0 {
		t.Errorf("click: %v %s", r.StructuredContent, text)
	}
	r, text = call("browser_screenshot", nil)
	if len(r.Content) != 2 {
		t.Fatalf("screenshot: %s", text)
	}
	link, ok := r.Content[1].(*mcp.ResourceLink)
	if !ok || !strings.HasPrefix(link.URI, "file:///") || link.MIMEType != "image/png" || link.Size == nil || *link.Size == 0 {
		t.Errorf("link: %+v", r.Content[1])
	}
}
