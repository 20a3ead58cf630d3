// Package mcpserver serves tools over the Model Context Protocol. It is the
// only package that knows the MCP SDK.
//
// It does not decide anything: tools come in as values, the principal of a
// connection comes from whoever starts the server.
package mcpserver

import (
	"context"
	"io"
	"net/url"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/tools"
)

// Options of a server. Principal is required.
type Options struct {
	Version   string
	Principal bellglass.Principal // of every call over this server
	// Instructions are sent to the client when it connects.
	Instructions string
}

// New returns a server of the tools. Run it with [ServeStdio], or
// connect it to any transport of the SDK.
func New(o Options, ts []tools.Tool) *mcp.Server {
	s := mcp.NewServer(
		&mcp.Implementation{Name: "bellglass", Title: "bellglass, a sealed browser", Version: o.Version},
		&mcp.ServerOptions{
			Instructions: o.Instructions,
			// Else the SDK would announce logging, which the protocol has
			// deprecated and nothing here sends.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list never changes
		})
	yes := true
	for _, t := range ts {
		s.AddTool(&mcp.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			Annotations: &mcp.ToolAnnotations{
				Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: t.ReadOnly, DestructiveHint: &t.Destructive, OpenWorldHint: &yes,
			},
		}, handler(o.Principal, t))
	}
	return s
}

// handler never returns an error: a failed read is an answer, not a fault of
// the protocol.
func handler(p bellglass.Principal, t tools.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := t.Call(ctx, p, req.Params.Arguments)
		content := []mcp.Content{&mcp.TextContent{Text: r.Text}}
		if f := r.File; f != nil {
			content = append(content, &mcp.ResourceLink{
				URI: (&url.URL{Scheme: "file", Path: f.Path}).String(), Name: f.Name, MIMEType: f.MediaType, Size: &f.Size,
			})
		}
		return &mcp.CallToolResult{
			Content:           content,
			StructuredContent: r.Fields,
			IsError:           r.IsError,
		}, nil
	}
}

// ServeStdio serves one client on standard input and output. It returns when
// the client goes away or ctx ends.
func ServeStdio(ctx context.Context, s *mcp.Server) error {
	return Serve(ctx, s, os.Stdin, os.Stdout)
}

// Serve serves one client: messages come and go one a line. What is no message
// is answered with an error and ends nothing. It returns when in ends, or ctx.
func Serve(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer) error {
	w := &locked{w: out}
	return s.Run(ctx, &mcp.IOTransport{Reader: newLines(in, w), Writer: w, MaxLineLength: -1})
}
