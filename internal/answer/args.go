// Package answer reads the arguments that a model gave to a tool, strictly,
// and writes what the tool answers: "key: value" lines, page text between
// fences, and the same keys as fields.
//
// It knows no tool and no page; it quotes of arguments nothing but names.
package answer

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

// Decode reads arguments strictly: a misspelt one must not be ignored. Into
// holds, by name, pointers to string, int, float64 or bool, or to a pointer
// to int or string, which stays nil if the argument is not given. The error names every
// mistake in the words of the schema, and quotes nothing but names.
func Decode(args json.RawMessage, into map[string]any) error {
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
			wrong = append(wrong, fmt.Sprintf("there is no %q, only %s", Clip(name, 40), strings.Join(slices.Sorted(maps.Keys(into)), ", ")))
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
	case *float64:
		if json.Unmarshal(value, t) != nil || math.IsInf(*t, 0) || math.IsNaN(*t) {
			return "a number"
		}
	case *int: // 5.0 is an integer to JSON Schema
		var f float64
		if json.Unmarshal(value, &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return "a whole number"
		}
		*t = int(f)
	case **int:
		n := 0
		if want := assign(&n, value); want != "" {
			return want
		}
		*t = &n
	case **string:
		v := ""
		if want := assign(&v, value); want != "" {
			return want
		}
		*t = &v
	default:
		panic(fmt.Sprintf("answer: an argument of type %T", target))
	}
	return ""
}
