package guard

import (
	"errors"
	"strings"
	"testing"
)

func compile(t *testing.T, c Config) *Rules {
	t.Helper()
	r, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOutput(t *testing.T) {
	r := compile(t, Config{DenyOutput: []Output{{`sk-[a-z0-9]{8}`, Redact}, {`BEGIN [A-Z]+ KEY`, Block}, {`hunter\d`, Redact}}})
	for _, k := range []struct {
		name, in, want string
		err            error
	}{
		{"nothing", "a page", "a page", nil},
		{"redacted", "key sk-abcdef12, pass hunter2", "key " + Redacted + ", pass " + Redacted, nil},
		{"blocked", "-----BEGIN RSA KEY----- hunter2", "", ErrOutput},
		{"a replacement is no template", "hunter7$1", Redacted + "$1", nil},
	} {
		got, err := r.Output(k.in)
		if got != k.want || !errors.Is(err, k.err) {
			t.Errorf("%s: got %q, %v", k.name, got, err)
		}
	}
}

func TestURL(t *testing.T) {
	r := compile(t, Config{DenyCommands: []string{`/admin\b`, `(?i)drop\s+table`}})
	for url, denied := range map[string]bool{
		"https://a.example/":                             false,
		"https://a.example/admin":                        true,
		"https://a.example/%61dmin":                      true,
		"https://a.example/%2561dmin":                    true,
		"https://a.example/q?x=DROP+table":               true,
		"https://a.example/q?x=drop%20table":             true,
		"https://a.example/administer":                   false,
		"https://a.example/?q=100%":                      false,
		"https://a.example/%252525252561dmin/over/again": true,
	} {
		if err := r.URL(url); (err != nil) != denied {
			t.Errorf("%s: %v", url, err)
		}
	}
	if r.Typed("please DROP  TABLE users") == nil || r.Typed("a table") != nil {
		t.Error("typed text is not judged")
	}
}

func TestTools(t *testing.T) {
	r := compile(t, Config{DeniedTools: []string{"browser_screenshot", "browser_f*"}})
	for name, denied := range map[string]bool{"browser_screenshot": true, "browser_fill": true, "browser_click": false} {
		if (r.Tool(name) != nil) != denied {
			t.Errorf("%s: denied is not %v", name, denied)
		}
	}
}

func TestMistakesAreAllTold(t *testing.T) {
	_, err := Compile(Config{
		DenyOutput:   []Output{{`(`, Block}, {`a`, "hide"}, {`a*`, Redact}},
		DenyCommands: []string{`[`},
		DeniedTools:  []string{"[", ""},
		Where:        func(list string, i int) string { return "rules.yaml:" + string(rune('1'+i)) },
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"rules.yaml:1: deny_output[0]", `"hide" is neither block nor redact`, "matches nothing at all", "deny_commands[0]", "denied_tools[0]", "denied_tools[1]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("lacks %q:\n%v", want, err)
		}
	}
}

func TestNoRulesDenyNothing(t *testing.T) {
	var r *Rules
	if text, err := r.Output("x"); text != "x" || err != nil || r.Typed("x") != nil || r.URL("x") != nil || r.Tool("x") != nil || !r.Quiet() {
		t.Error("nil denies")
	}
}
