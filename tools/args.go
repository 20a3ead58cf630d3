package tools

import (
	"encoding/json"

	"github.com/bellglass/bellglass/internal/answer"
)

// decode reads arguments strictly: a misspelt one must not be ignored.
func decode(args json.RawMessage, into map[string]any) error { return answer.Decode(args, into) }
