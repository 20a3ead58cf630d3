// Package tools is what a model sees: tools by name, with a description, a
// schema and one function, independent of any agent framework. Package
// mcpserver serves them over MCP; a Go program can hand them to any framework
// that takes a JSON schema.
//
// A tool never fails: whatever happens is a [Result] that says what to do
// next. The package does not read pages itself and keeps no state.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bellglass/bellglass"
)

// Tool is one tool.
type Tool struct {
	Name        string
	Title       string
	Description string
	// InputSchema is the JSON schema of the arguments, an object.
	InputSchema json.RawMessage
	// ReadOnly: it changes nothing anywhere. Destructive: it may change
	// something in the world that cannot be undone.
	ReadOnly, Destructive bool
	// Call runs the tool for a principal with the arguments as the model gave
	// them. It is safe for concurrent use.
	Call func(ctx context.Context, p bellglass.Principal, args json.RawMessage) Result
}

// Result is what a tool answers.
type Result = bellglass.ToolResult

// Reader is what the read tools need of a [bellglass.Browser].
type Reader interface {
	Browse(context.Context, bellglass.Request) (bellglass.Result, error)
	Links(context.Context, bellglass.Request) (bellglass.Links, error)
}

// Read returns the tools of the read profile. They cannot change anything
// anywhere.
func Read(r Reader) []Tool {
	return []Tool{browsePage(r), listLinks(r)}
}

// badArguments tells the model what was wrong with its arguments.
func badArguments(err error) Result {
	w := &writer{}
	w.Outcome(string(bellglass.StatusRejected), string(bellglass.ReasonInvalidArgument), fmt.Sprintf("Check the arguments: %s.", clip(err.Error(), 300)), 0)
	return w.result(bellglass.StatusRejected)
}

// failed is for the errors that Browse and Links return as such.
func failed(err error) Result {
	reason, hint := bellglass.ReasonInternal, "The tool is not set up correctly; the operator should look at the log."
	if errors.Is(err, bellglass.ErrClosed) {
		reason, hint = bellglass.ReasonCancelled, "The browser is shutting down."
	}
	w := &writer{}
	w.Outcome(string(bellglass.StatusError), string(reason), hint, 0)
	return w.result(bellglass.StatusError)
}
