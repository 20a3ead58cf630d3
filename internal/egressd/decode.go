package egressd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Problem is one thing that is wrong with a configuration file.
type Problem struct {
	File string
	Line int // from 1; 0 if it is about the file as a whole
	What string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ": " + p.What
}

// Problems is all that is wrong with a file, in the order of its lines.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// key is one key of a mapping: how it is read, and what the documentation says
// about it.
type key struct {
	name     string
	kind     string // of the value, in words
	standard string // what holds without it, in words
	doc      string
	set      func(d *decoder, n *yaml.Node)
	inner    []key // of a mapping, for the documentation
}

// decoder reads a tree of YAML by tables of keys, and collects what is wrong
// with it. What a key table does not name is a problem, never ignored.
type decoder struct {
	file     string
	problems Problems
}

func (d *decoder) wrong(line int, format string, args ...any) {
	d.problems = append(d.problems, Problem{d.file, line, fmt.Sprintf(format, args...)})
}

// sorted returns the problems in the order of their lines, or nil.
func (d *decoder) sorted() error {
	if len(d.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return d.problems
}

// document parses a file of one document and returns its root, or nil.
func (d *decoder) document(r io.Reader) *yaml.Node {
	dec := yaml.NewDecoder(r)
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		d.wrong(0, "is empty")
		return nil
	case err != nil:
		d.syntax(err)
		return nil
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		d.wrong(more.Line, "a second document; a file holds one")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
	}
	return doc.Content[0]
}

// syntax reports an error of the parser, whose text has the line in it.
func (d *decoder) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, text = n, what
			}
		}
	}
	d.wrong(line, "%s", text)
}

// each calls f for every key of a mapping, once each.
func (d *decoder) each(n *yaml.Node, f func(name, value *yaml.Node)) {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		d.wrong(n.Line, "must be a mapping of keys to values")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if line, again := seen[name.Value]; again {
			d.wrong(name.Line, "%s stands in line %d already", name.Value, line)
			continue
		}
		seen[name.Value] = name.Line
		f(name, n.Content[i+1])
	}
}

// mapping reads a mapping by a table.
func (d *decoder) mapping(n *yaml.Node, table []key) {
	d.each(n, func(name, value *yaml.Node) {
		i := slices.IndexFunc(table, func(k key) bool { return k.name == name.Value })
		if i < 0 {
			names := make([]string, len(table))
			for i, k := range table {
				names[i] = k.name
			}
			d.wrong(name.Line, "unknown key %q; here may stand: %s", name.Value, strings.Join(names, ", "))
			return
		}
		table[i].set(d, value)
	})
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text is a string with the line it stands in.
type text struct {
	value string
	line  int
}

func (d *decoder) scalar(n *yaml.Node) (text, bool) {
	line := n.Line
	n = resolve(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		d.wrong(line, "a value is missing, or is not a single one")
		return text{}, false
	}
	return text{n.Value, line}, true
}

// The following make setters for the kinds of values that there are.

func setText(to *text) func(*decoder, *yaml.Node) {
	return func(d *decoder, n *yaml.Node) { *to, _ = d.scalar(n) }
}

func setList(to *[]text) func(*decoder, *yaml.Node) {
	return func(d *decoder, n *yaml.Node) {
		n = resolve(n)
		if n.Kind != yaml.SequenceNode {
			d.wrong(n.Line, "must be a list, such as [a, b]")
			return
		}
		for _, item := range n.Content {
			if t, ok := d.scalar(item); ok {
				*to = append(*to, t)
			}
		}
	}
}

func setBool(to *bool) func(*decoder, *yaml.Node) {
	return func(d *decoder, n *yaml.Node) {
		t, ok := d.scalar(n)
		if !ok {
			return
		}
		switch t.value {
		case "true":
			*to = true
		case "false":
			*to = false
		default:
			d.wrong(t.line, "%q is neither true nor false", t.value)
		}
	}
}

func setDuration(to *time.Duration, least, most time.Duration) func(*decoder, *yaml.Node) {
	return func(d *decoder, n *yaml.Node) {
		t, ok := d.scalar(n)
		if !ok {
			return
		}
		v, err := time.ParseDuration(t.value)
		switch {
		case err != nil:
			d.wrong(t.line, "%q is no duration such as 30s, 5m or 1h30m", t.value)
		case v < least || v > most:
			d.wrong(t.line, "%s is not between %v and %v", t.value, least, most)
		default:
			*to = v
		}
	}
}

func setCount[T int | int64](to *T) func(*decoder, *yaml.Node) {
	return func(d *decoder, n *yaml.Node) {
		t, ok := d.scalar(n)
		if !ok {
			return
		}
		v, err := strconv.ParseInt(strings.ReplaceAll(t.value, "_", ""), 10, 64)
		if err != nil || v < 1 || v > math.MaxInt32 {
			d.wrong(t.line, "%q is no number between 1 and %d", t.value, math.MaxInt32)
			return
		}
		*to = T(v)
	}
}

// setSize reads a number of bytes: 1048576, 1024KiB, 1MiB.
func setSize(to *int64) func(*decoder, *yaml.Node) {
	return func(d *decoder, n *yaml.Node) {
		t, ok := d.scalar(n)
		if !ok {
			return
		}
		number, shift := t.value, 0
		for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
			if s, ok := strings.CutSuffix(t.value, unit); ok {
				number, shift = strings.TrimSpace(s), 10*(i+1)
			}
		}
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil || v < 1 || v > math.MaxInt64>>shift {
			d.wrong(t.line, "%q is no size such as 500MiB or 2GiB", t.value)
			return
		}
		*to = v << shift
	}
}
