package answer

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Writer builds the text and the fields of an answer side by side. The zero
// value is ready.
type Writer struct {
	Text   strings.Builder
	Fields map[string]any
}

// Add writes one key unless its value is a zero that says nothing.
func (w *Writer) Add(key string, value any) {
	var s string
	switch v := value.(type) {
	case string:
		s = v
	case int:
		if v != 0 {
			s = strconv.Itoa(v)
		}
	case bool:
		if v {
			s = "true"
		}
	}
	if s == "" {
		return
	}
	w.Always(key, value, s)
}

// Outcome writes how a call ended, which every answer begins with.
func (w *Writer) Outcome(status, reason, hint string, retryAfter time.Duration) {
	w.Add("status", status)
	w.Add("reason", reason)
	w.Add("hint", hint)
	w.Add("retry_after_ms", int(retryAfter.Milliseconds()))
}

// Always writes one key; shown must be one line.
func (w *Writer) Always(key string, value any, shown string) {
	w.Field(key, value)
	fmt.Fprintf(&w.Text, "%s: %s\n", key, shown)
}

// Field sets a field that has no line of its own.
func (w *Writer) Field(key string, value any) {
	if w.Fields == nil {
		w.Fields = map[string]any{}
	}
	w.Fields[key] = value
}

// Fence writes page text between lines that the page cannot know.
func (w *Writer) Fence(key, text string) {
	nonce := Nonce(text)
	fmt.Fprintf(&w.Text, "%s %s:\n%s", key, nonce, text)
	if !strings.HasSuffix(text, "\n") {
		w.Text.WriteByte('\n')
	}
	fmt.Fprintf(&w.Text, "end %s\n", nonce)
}

// Nonce returns eight random hexadecimal digits that do not occur in text.
func Nonce(text string) string {
	for {
		var b [4]byte
		rand.Read(b[:])
		if n := hex.EncodeToString(b[:]); !strings.Contains(text, n) {
			return n
		}
	}
}

// Clip cuts to n bytes at a character's edge and keeps to one line.
func Clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
