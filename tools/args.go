package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// decode reads arguments strictly: a misspelt one must not be ignored. Into
// holds, by name, pointers to string, int or bool. The error names every
// mistake in the words of the schema, and quotes nothing but names.
func decode(args json.RawMessage, into map[string]any) error {
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return errors.New("they must be one JSON object")
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		target, known := into[name]
		if !known {
			wrong = append(wrong, fmt.Sprintf("there is no %q, only %s", clip(name, 40), strings.Join(slices.Sorted(maps.Keys(into)), ", ")))
			continue
		}
		if want := assign(target, given[name]); want != "" {
			wrong = append(wrong, fmt.Sprintf("%q must be %s", name, want))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// assign sets what target points to. It returns what the value should have
// been, or "".
func assign(target any, value json.RawMessage) (want string) {
	if string(value) == "null" {
		return "" // as if it were not there
	}
	switch t := target.(type) {
	case *string:
		if json.Unmarshal(value, t) != nil {
			return "a string"
		}
	case *bool:
		if json.Unmarshal(value, t) != nil {
			return "true or false"
		}
	case *int: // 5.0 is an integer to JSON Schema
		var f float64
		if json.Unmarshal(value, &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return "a whole number"
		}
		*t = int(f)
	default:
		panic(fmt.Sprintf("tools: an argument of type %T", target))
	}
	return ""
}
