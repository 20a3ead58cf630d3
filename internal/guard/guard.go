// Package guard holds an operator's patterns against what a page may show to a
// model and what a model may send to a page: output that is blocked or
// redacted, typed text and addresses that are refused, tools that are denied.
//
// It knows nothing of pages: it is given strings that have been cleaned, whole
// (a pattern must not escape by being cut), and says what is to become of
// them. It is no network boundary; that is package egress.
package guard

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Action says what becomes of output that matches a pattern.
type Action string

const (
	Block  Action = "block"  // nothing of the result is returned
	Redact Action = "redact" // the match is replaced with [Redacted]
)

// Redacted stands where something was redacted.
const Redacted = "[BLOCKED BY POLICY]"

// Output is a pattern of what must not be shown.
type Output struct {
	Pattern string
	Action  Action
}

// Config is what an operator may deny. The zero Config denies nothing.
// Patterns are regular expressions of package regexp and match anywhere.
type Config struct {
	DenyOutput []Output
	// DenyCommands match typed text and the addresses of navigations.
	DenyCommands []string
	// DeniedTools are names of tools, or globs of package path.
	DeniedTools []string
	// Where, if not nil, says where an entry was written ("file:line"), for
	// error messages. List is "deny_output", "deny_commands" or
	// "denied_tools"; index counts from 0.
	Where func(list string, index int) string
}

// Rules is a compiled [Config], immutable and safe for concurrent use. A nil
// *Rules denies nothing.
type Rules struct {
	block, redact, commands []*regexp.Regexp
	tools                   []string
}

// Compile checks a configuration. Its error joins everything that is wrong.
func Compile(c Config) (*Rules, error) {
	r := &Rules{}
	var errs []error
	wrong := func(list string, i int, format string, args ...any) {
		at := fmt.Sprintf("%s[%d]", list, i)
		if c.Where != nil {
			at = c.Where(list, i) + ": " + at
		}
		errs = append(errs, fmt.Errorf("guard: %s: %s", at, fmt.Sprintf(format, args...)))
	}
	compile := func(list string, i int, pattern string) *regexp.Regexp {
		re, err := regexp.Compile(pattern)
		switch {
		case err != nil:
			wrong(list, i, "%v", err)
		case re.MatchString(""):
			wrong(list, i, "the pattern %q matches nothing at all, and so everything", pattern)
		default:
			return re
		}
		return nil
	}
	for i, o := range c.DenyOutput {
		re := compile("deny_output", i, o.Pattern)
		switch {
		case o.Action == Block && re != nil:
			r.block = append(r.block, re)
		case o.Action == Redact && re != nil:
			r.redact = append(r.redact, re)
		case o.Action != Block && o.Action != Redact:
			wrong("deny_output", i, "the action %q is neither block nor redact", o.Action)
		}
	}
	for i, p := range c.DenyCommands {
		if re := compile("deny_commands", i, p); re != nil {
			r.commands = append(r.commands, re)
		}
	}
	for i, p := range c.DeniedTools {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			wrong("denied_tools", i, "%q is no name or glob", p)
			continue
		}
		r.tools = append(r.tools, p)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// The errors say nothing of what matched: patterns may hold what they guard.
var (
	ErrOutput  = errors.New("guard: the output is denied")
	ErrCommand = errors.New("guard: the input is denied")
	ErrTool    = errors.New("guard: the tool is denied")
)

// Output returns text as it may be shown, or [ErrOutput].
func (r *Rules) Output(text string) (string, error) {
	if r == nil || text == "" {
		return text, nil
	}
	for _, re := range r.block {
		if re.MatchString(text) {
			return "", ErrOutput
		}
	}
	for _, re := range r.redact {
		text = re.ReplaceAllLiteralString(text, Redacted)
	}
	return text, nil
}

// Quiet reports that nothing of output is denied.
func (r *Rules) Quiet() bool { return r == nil || len(r.block) == 0 && len(r.redact) == 0 }

// Typed judges text that is about to be typed.
func (r *Rules) Typed(text string) error {
	if r != nil && r.matches(text) {
		return ErrCommand
	}
	return nil
}

// URL judges an address that is about to be opened, as it is and decoded.
func (r *Rules) URL(raw string) error {
	if r == nil || len(r.commands) == 0 {
		return nil
	}
	for range maxDecodings {
		if r.matches(raw) {
			return ErrCommand
		}
		decoded, err := url.QueryUnescape(raw)
		if err != nil {
			if decoded, err = url.PathUnescape(raw); err != nil {
				return nil
			}
		}
		if decoded == raw {
			return nil
		}
		raw = decoded
	}
	return ErrCommand // nobody encodes so often who has nothing to hide
}

// maxDecodings is how often a URL may have been percent-encoded over.
const maxDecodings = 5

func (r *Rules) matches(s string) bool {
	for _, re := range r.commands {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// Tool judges the name of a tool that is about to be offered or called.
func (r *Rules) Tool(name string) error {
	if r == nil {
		return nil
	}
	for _, p := range r.tools {
		if ok, _ := path.Match(p, name); ok || strings.EqualFold(p, name) {
			return ErrTool
		}
	}
	return nil
}
