package egressd

import (
	"fmt"
	"strings"
)

// Reference returns all keys of a configuration file as tables in Markdown,
// from the same tables by which a file is read.
func Reference() string {
	var b strings.Builder
	reference(&b, "", new(Config).keys())
	return b.String()
}

func reference(b *strings.Builder, path string, keys []key) {
	if path != "" {
		fmt.Fprintf(b, "### `%s`\n\n", path)
	}
	b.WriteString("| key | value | without it | |\n|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.name, k.kind, k.standard, k.doc)
	}
	b.WriteByte('\n')
	for _, k := range keys {
		if k.inner == nil {
			continue
		}
		inner := strings.TrimPrefix(path+"."+k.name, ".")
		if k.name == "roles" {
			inner += ".NAME"
		}
		reference(b, inner, k.inner)
	}
}
