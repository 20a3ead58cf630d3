package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer"
	"go.uber.org/goleak"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/mcpserver"
	"github.com/bellglass/bellglass/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var who = bellglass.Principal{Tenant: "acme", Run: "1"}

// reader answers with the URL and the principal that it was asked for.
type reader struct{}

func (reader) Browse(ctx context.Context, r bellglass.Request) (bellglass.Result, error) {
	if strings.HasSuffix(r.URL, "/wait") {
		<-ctx.Done()
		return bellglass.Result{Head: bellglass.Head{Status: bellglass.StatusError, Reason: bellglass.ReasonCancelled}}, nil
	}
	h := bellglass.Head{Status: bellglass.StatusOK, FinalURL: r.URL, HTTPStatus: 200}
	if strings.Contains(r.URL, "10.0.0.1") {
		h = bellglass.Head{Status: bellglass.StatusRejected, Reason: bellglass.ReasonAddress, Hint: "no"}
	}
	return bellglass.Result{Head: h, Text: "text for " + r.Principal.Tenant}, nil
}

func (reader) Links(context.Context, bellglass.Request) (bellglass.Links, error) {
	return bellglass.Links{Head: bellglass.Head{Status: bellglass.StatusOK}}, nil
}

func connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	return connectTo(t, tools.Read(reader{}))
}

func connectTo(t *testing.T, list []tools.Tool) *mcp.ClientSession {
	t.Helper()
	s := mcpserver.New(mcpserver.Options{Version: "1.2.3", Principal: who, Instructions: bellglass.Instruction}, list)
	st, ct := mcp.NewInMemoryTransports()
	ss, err := s.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close(); ss.Wait() })
	return cs
}

func TestToolList(t *testing.T) {
	cs := connect(t)
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		if a == nil || !a.ReadOnlyHint || !a.IdempotentHint || a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || !*a.OpenWorldHint {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
	}
	if got := strings.Join(names, " "); got != "browse_page list_links" {
		t.Errorf("tools: %s", got)
	}
	b, err := json.Marshal(list.Tools)
	if err != nil {
		t.Fatal(err)
	}
	// What a model pays for having the tools at hand.
	if n := tokens(t, string(b)); n > 500 {
		t.Errorf("the tool list costs %d tokens (o200k), at most 500:\n%s", n, b)
	} else {
		t.Logf("the tool list costs %d tokens (o200k)", n)
	}
}

// TestActToolList: the tools of both profiles, what they cost, and what they
// say that they may do.
func TestActToolList(t *testing.T) {
	list := append(tools.Read(reader{}), tools.SessionList(bellglass.SessionOptions{})...)
	for i := range list {
		if list[i].Call == nil {
			list[i].Call = func(context.Context, bellglass.Principal, json.RawMessage) tools.Result { return tools.Result{} }
		}
	}
	got, err := connectTo(t, list).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, tool := range got.Tools {
		a, kind := tool.Annotations, "writes"
		switch {
		case a.ReadOnlyHint && !*a.DestructiveHint:
			kind = "reads"
		case !a.ReadOnlyHint && *a.DestructiveHint && *a.OpenWorldHint:
			kind = "acts"
		}
		kinds[tool.Name] = kind
	}
	want := map[string]string{
		"browse_page": "reads", "list_links": "reads", "browser_state": "reads", "browser_read": "reads", "browser_extract": "reads",
		"browser_navigate": "acts", "browser_click": "acts", "browser_fill": "acts", "browser_screenshot": "writes",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	b, err := json.Marshal(got.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if n := tokens(t, string(b)); n > 1500 {
		t.Errorf("the tool list costs %d tokens (o200k), at most 1,500:\n%s", n, b)
	} else {
		t.Logf("the tool list costs %d tokens (o200k)", n)
	}
}

func tokens(t *testing.T, s string) int {
	t.Helper()
	enc, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	ids, _, err := enc.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return len(ids)
}

func TestInstructions(t *testing.T) {
	res := connect(t).InitializeResult()
	if !strings.Contains(res.Instructions, "never instructions") || res.ServerInfo.Version != "1.2.3" {
		t.Errorf("got %+v", res)
	}
	if b, _ := json.Marshal(res.Capabilities); strings.Contains(string(b), "logging") {
		t.Errorf("the deprecated logging is announced: %s", b)
	}
}

func TestCalls(t *testing.T) {
	cs := connect(t)
	for _, k := range []struct {
		name    string
		args    any
		isError bool
		text    string
	}{
		{"browse_page", map[string]any{"url": "https://a.example/"}, false, "text for acme"},
		{"browse_page", map[string]any{"url": "http://10.0.0.1/"}, true, "reason: address_not_public"},
		{"browse_page", map[string]any{"uri": "https://a.example/"}, true, "reason: invalid_argument"},
		{"browse_page", nil, true, "reason: invalid_argument"},
		{"list_links", map[string]any{"url": "https://a.example/"}, false, "status: ok"},
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: k.name, Arguments: k.args})
		if err != nil {
			t.Errorf("%v: an error of the protocol: %v", k.args, err)
			continue
		}
		if len(res.Content) != 1 {
			t.Fatalf("%d contents", len(res.Content))
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError != k.isError || !strings.Contains(text, k.text) {
			t.Errorf("%v: %v %q", k.args, res.IsError, text)
		}
		if b, _ := json.Marshal(res.StructuredContent); !strings.Contains(string(b), `"status"`) || strings.Contains(string(b), "text for") {
			t.Errorf("%v: structured content %s", k.args, b)
		}
	}
}

func TestUnknownToolIsRefused(t *testing.T) {
	if _, err := connect(t).CallTool(t.Context(), &mcp.CallToolParams{Name: "browser_click"}); err == nil {
		t.Error("a tool that does not exist was called")
	}
}

func TestCancelledCallEnds(t *testing.T) {
	cs := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "browse_page", Arguments: map[string]any{"url": "https://a.example/wait"}})
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled call answered")
	}
}
