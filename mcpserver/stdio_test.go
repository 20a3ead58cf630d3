package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/mcpserver"
	"github.com/bellglass/bellglass/tools"
)

// TestMalformedLinesEndNothing: each is answered as JSON-RPC 2.0 says, and the
// next request is served.
func TestMalformedLinesEndNothing(t *testing.T) {
	s := mcpserver.New(mcpserver.Options{Version: "1", Principal: who, Instructions: bellglass.Instruction}, tools.Read(reader{}))
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- mcpserver.Serve(t.Context(), s, in, out); out.Close() }()
	answers := bufio.NewScanner(fromServer)
	ask := func(line string) map[string]any {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("%.60q: the server is gone: %v", line, answers.Err())
		}
		var m map[string]any
		if err := json.Unmarshal(answers.Bytes(), &m); err != nil {
			t.Fatalf("%.60q: %v: %s", line, err, answers.Bytes())
		}
		return m
	}
	first := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if first["result"] == nil {
		t.Fatalf("initialize: %v", first)
	}
	io.WriteString(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n\r\n")
	for line, want := range map[string]float64{
		`{not json}`: -32700, "\xff\xfe": -32700, `{"jsonrpc":"2.0","id":3,`: -32700, strings.Repeat("[", 5<<20): -32700,
		`null`: -32600, `[]`: -32600, `[1]`: -32600, `"x"`: -32600, `7`: -32600, `{}`: -32600,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":{},"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":1}`: -32600, `{"jsonrpc":"2.0","id":1,"method":5}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`: -32600,
	} {
		e, _ := ask(line)["error"].(map[string]any)
		if e == nil || e["code"] != want {
			t.Errorf("%.60q: %v, want code %v", line, e, want)
		}
		if pong := ask(`{"jsonrpc":"2.0","id":"p","method":"ping"}`); pong["id"] != "p" || pong["result"] == nil {
			t.Errorf("after %.60q: %v", line, pong)
		}
	}
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
