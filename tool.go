package bellglass

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellglass/bellglass/internal/answer"
)

// Tool is one of a session's tools, independent of any agent framework: hand
// it to whatever takes a JSON schema and a function.
type Tool struct {
	Name        string
	Title       string
	Description string
	// InputSchema is the JSON schema of the arguments, an object.
	InputSchema json.RawMessage
	// ReadOnly: it changes nothing anywhere. Destructive: it may change
	// something in the world that cannot be undone.
	ReadOnly, Destructive bool
	// Call runs the tool with the arguments as the model gave them. It never
	// fails: whatever happens is told by the result.
	Call func(ctx context.Context, args json.RawMessage) ToolResult
}

// ToolResult is what a tool answers.
type ToolResult struct {
	// Text is the whole answer: "key: value" lines, then the digest or page
	// text between "<key> <nonce>:" and "end <nonce>". The nonce is fresh for
	// every result.
	Text string
	// Fields are the same keys and values without page text.
	Fields map[string]any
	// IsError is true if status is not ok.
	IsError bool
	// File is a file that was written, if any.
	File *Artefact
}

// Artefact is a file that a tool has written for its principal.
type Artefact struct {
	Path      string // absolute
	Name      string
	MediaType string
	Size      int64 // bytes
}

// sessionTool is a tool that is not bound to a session yet.
type sessionTool struct {
	Tool
	run func(s *Session, ctx context.Context, args json.RawMessage) ToolResult
}

// SessionTools returns the tools that sessions of these options have, without
// a session to run in, so that they can be listed: their Call is nil.
func SessionTools(o SessionOptions) []Tool {
	rules, err := o.Guardrails.compile()
	if err != nil {
		return nil // no session of these options can be opened
	}
	var out []Tool
	for _, t := range sessionTools(o.Selectors) {
		if rules.Tool(t.Name) == nil {
			out = append(out, t.Tool)
		}
	}
	return out
}

// Tools returns the tools of this session, those apart that its guardrails
// deny.
func (s *Session) Tools() []Tool {
	var out []Tool
	for _, t := range sessionTools(s.o.Selectors) {
		if s.rules.guard.Tool(t.Name) != nil {
			continue
		}
		t.Call = func(ctx context.Context, args json.RawMessage) ToolResult { return t.run(s, ctx, args) }
		out = append(out, t.Tool)
	}
	return out
}

// Call runs the tool of that name in this session. A tool that there is not, or
// that is denied, is rejected.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) ToolResult {
	for _, t := range s.Tools() {
		if t.Name == name {
			return t.Call(ctx, args)
		}
	}
	return problem(reasonError(name, ReasonToolDenied, "", nil))
}

// object is the schema of an object; parts are its properties.
func object(required string, parts ...string) json.RawMessage {
	s := `{"type":"object","properties":{`
	for i, p := range parts {
		if i > 0 {
			s += ","
		}
		s += p
	}
	s += "}"
	if required != "" {
		s += `,"required":[` + required + `]`
	}
	return json.RawMessage(s + `,"additionalProperties":false}`)
}

func property(name, typ, description string) string {
	s := fmt.Sprintf(`%q:{"type":%q`, name, typ)
	if description != "" {
		s += fmt.Sprintf(`,"description":%q`, description)
	}
	return s + "}"
}

func choiceOf(name string, words ...string) string {
	enum, _ := json.Marshal(words)
	return fmt.Sprintf(`%q:{"enum":%s}`, name, enum)
}

// sessionTools lists the tools of sessions.
func sessionTools(selectors bool) []sessionTool {
	index, generation := property("index", "integer", ""), property("generation", "integer", "")
	named, which := `"index","generation"`, []string{index, generation}
	if selectors {
		named, which = "", append(which, property("selector", "string", "CSS, instead of index and generation"))
	}
	required := func(more string) string {
		switch {
		case named == "":
			return more
		case more == "":
			return named
		}
		return named + "," + more
	}
	return []sessionTool{
		{Tool{
			Name: "browser_navigate", Title: "Open a page", Destructive: true,
			Description: "Open a URL in the session's browser, or go back, or close the session. Returns the page's state: numbered elements and the first text. Cannot download files or reach private networks.",
			InputSchema: object("", property("url", "string", ""), property("back", "boolean", ""), property("close", "boolean", "End the session"), property("wait_ms", "integer", "More page time, at most 15000")),
		}, runNavigate},
		{Tool{
			Name: "browser_state", Title: "Look at the page", ReadOnly: true,
			Description: "The page as it is now, with a new generation.",
			InputSchema: object("", property("offset", "integer", "Skip so many elements"), property("max_elements", "integer", ""), property("scroll_pages", "number", ""),
				property("scroll_to_index", "integer", "Needs generation"), generation, property("page", "integer", "Go to an open page by number"), property("wait_for", "string", "Text to wait for"), property("full", "boolean", "All of it, as always")),
		}, runState},
		{Tool{
			Name: "browser_click", Title: "Click", Destructive: true,
			Description: "Click the element [index] of a state. Says what changed, with the new state. Refused if the element has changed since or is covered.",
			InputSchema: object(required(""), append(which, choiceOf("dialog", "accept", "dismiss"))...),
		}, runClick},
		{Tool{
			Name: "browser_fill", Title: "Fill a field", Destructive: true,
			Description: "Replace what a field holds: text, an option of a select, a date (YYYY-MM-DD), checked or unchecked. Passwords and payment fields are refused.",
			InputSchema: object(required(`"text"`), append(slices.Clone(which), property("text", "string", ""), property("submit", "boolean", "Press Enter after it"), choiceOf("key", "Enter", "Escape", "Tab"))...),
		}, runFill},
		{Tool{
			Name: "browser_read", Title: "Read the page", ReadOnly: true,
			Description: "All visible text of the page, or of a CSS selector.",
			InputSchema: object("", property("selector", "string", "")),
		}, runRead},
		{Tool{
			Name: "browser_extract", Title: "Read part of the page", ReadOnly: true,
			Description: "The page's main text as Markdown, its links, or HTML of a CSS selector, piece by piece.",
			InputSchema: object("", choiceOf("mode", "text", "links", "html"), property("selector", "string", ""), property("max_chars", "integer", "16000, at most 100000"), property("offset", "integer", "")),
		}, runExtract},
		{Tool{
			Name: "browser_screenshot", Title: "Take a screenshot",
			Description: "Write a PNG file of the page and return its path; you will not see the image.",
			InputSchema: object("", property("full_page", "boolean", ""), property("filename", "string", ""), property("marks", "boolean", "Draw the element numbers")),
		}, runScreenshot},
	}
}

// invalid answers arguments that are not valid.
func invalid(op string, err error) ToolResult {
	return problem(reasonError(op, ReasonInvalidArgument, "Check the arguments: "+answer.Clip(err.Error(), 300)+".", err))
}

// problem answers with an error and nothing else.
func problem(e *Error) ToolResult {
	w := &answer.Writer{}
	w.Outcome(string(e.Status), string(e.Reason), e.Hint, e.RetryAfter)
	return ToolResult{Text: w.Text.String(), Fields: w.Fields, IsError: true}
}

func runNavigate(s *Session, ctx context.Context, raw json.RawMessage) ToolResult {
	var r NavigateRequest
	wait, shut := 0, false
	if err := answer.Decode(raw, map[string]any{"url": &r.URL, "back": &r.Back, "close": &shut, "wait_ms": &wait}); err != nil {
		return invalid("navigate", err)
	}
	if shut {
		if r.URL != "" || r.Back {
			return invalid("navigate", errors.New("close goes alone"))
		}
		w := &answer.Writer{}
		if err := s.Close(); err != nil {
			return problem(reasonError("close", ReasonInternal, "", err))
		}
		w.Add("status", string(StatusOK))
		w.Add("effect", "session closed")
		return ToolResult{Text: w.Text.String(), Fields: w.Fields}
	}
	r.Wait = time.Duration(wait) * time.Millisecond
	return s.Navigate(ctx, r).result()
}

func runState(s *Session, ctx context.Context, raw json.RawMessage) ToolResult {
	var r StateRequest
	var index, generation *int
	err := answer.Decode(raw, map[string]any{
		"max_elements": &r.MaxElements, "offset": &r.Offset, "scroll_pages": &r.ScrollPages, "scroll_to_index": &index, "generation": &generation,
		"page": &r.Page, "wait_for": &r.WaitFor, "full": new(bool),
	})
	if err == nil && index != nil && generation == nil {
		err = errors.New(`"scroll_to_index" needs "generation"`)
	}
	if err != nil {
		return invalid("state", err)
	}
	if index != nil {
		r.ScrollTo = &Ref{*index, *generation}
	}
	return s.State(ctx, r).result()
}

// ref makes a reference of arguments that may be missing: a missing index is
// not 0.
func ref(index, generation *int, selector string) (Ref, error) {
	switch {
	case selector != "" && index == nil && generation == nil:
		return Ref{}, nil
	case selector != "":
		return Ref{}, errors.New(`"selector" goes without "index" and "generation"`)
	case index == nil:
		return Ref{}, errors.New(`"index" is missing`)
	case generation == nil:
		return Ref{}, errors.New(`"generation" is missing`)
	case *index < 0 || *generation < 0:
		return Ref{}, errors.New(`"index" and "generation" must not be negative`)
	}
	return Ref{*index, *generation}, nil
}

func runClick(s *Session, ctx context.Context, raw json.RawMessage) ToolResult {
	var r ClickRequest
	var index, generation *int
	dialog := ""
	into := map[string]any{"index": &index, "generation": &generation, "dialog": &dialog}
	if s.o.Selectors {
		into["selector"] = &r.Selector
	}
	err := answer.Decode(raw, into)
	if err == nil {
		r.Ref, err = ref(index, generation, r.Selector)
	}
	if err == nil && dialog != "" && dialog != "accept" && dialog != "dismiss" {
		err = errors.New(`"dialog" must be accept or dismiss`)
	}
	if err != nil {
		return invalid("click", err)
	}
	r.AcceptDialogs = dialog == "accept"
	return s.Click(ctx, r).result()
}

func runFill(s *Session, ctx context.Context, raw json.RawMessage) ToolResult {
	var r FillRequest
	var index, generation *int
	text := (*string)(nil)
	into := map[string]any{"index": &index, "generation": &generation, "text": &text, "submit": &r.Submit, "key": &r.Key}
	if s.o.Selectors {
		into["selector"] = &r.Selector
	}
	err := answer.Decode(raw, into)
	if err == nil {
		r.Ref, err = ref(index, generation, r.Selector)
	}
	if err == nil && text == nil {
		err = errors.New(`"text" is missing`)
	}
	if err != nil {
		return invalid("fill", err)
	}
	r.Text = *text
	return s.Fill(ctx, r).result()
}

// result is a view as a tool answers it.
func (v View) result() ToolResult {
	w := &answer.Writer{}
	w.Outcome(string(v.Status), string(v.Reason), v.Hint, v.RetryAfter)
	w.Add("effect", v.Effect)
	w.Add("detail", v.Detail)
	if v.Page == nil {
		w.Add("final_url", v.FinalURL)
		w.Add("http_status", v.HTTPStatus)
	} else {
		w.Field("final_url", v.FinalURL)
		w.Field("generation", v.Page.Generation)
		w.Field("elements", len(v.Page.Elements))
		if v.HTTPStatus != 0 {
			w.Field("http_status", v.HTTPStatus)
		}
		if v.Old {
			w.Add("old", "this is what was seen last; the page does not respond")
		}
		w.Text.WriteString(v.Digest())
	}
	return ToolResult{Text: w.Text.String(), Fields: w.Fields, IsError: v.Status != StatusOK}
}
