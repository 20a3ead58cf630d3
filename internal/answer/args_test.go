package answer

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMissingIsNotZero(t *testing.T) {
	for args, want := range map[string]string{
		`{}`: "nil", `{"index":null}`: "nil", `{"index":0}`: "0", `{"index":5.0}`: "5",
		`{"index":-1}`: "-1", `{"index":"0"}`: "error", `{"index":0.5}`: "error", `{"index":true}`: "error", `{"index":1e99}`: "error", `{"inex":1}`: "error", `[0]`: "error",
	} {
		var index *int
		got := "nil"
		err := Decode(json.RawMessage(args), map[string]any{"index": &index})
		switch {
		case err != nil:
			got = "error"
		case index != nil:
			b, _ := json.Marshal(*index)
			got = string(b)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s (%v)", args, got, want, err)
		}
	}
	var text *string
	if err := Decode(json.RawMessage(`{"text":""}`), map[string]any{"text": &text}); err != nil || text == nil || *text != "" {
		t.Errorf("an empty text is one: %v %v", text, err)
	}
}

func TestMistakesQuoteNoValues(t *testing.T) {
	var n int
	err := Decode(json.RawMessage(`{"n":"hunter2","m":"hunter2"}`), map[string]any{"n": &n})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), `"n" must be a whole number`) || !strings.Contains(err.Error(), `there is no "m"`) {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsWrittenOfNothing(t *testing.T) {
	w := &Writer{}
	w.Add("a", "")
	w.Add("b", 0)
	w.Add("c", false)
	w.Add("d", "x")
	w.Fence("text", "end it\n")
	if got := w.Text.String(); !strings.HasPrefix(got, "d: x\ntext ") || strings.Count(got, "\nend ") != 2 || len(w.Fields) != 1 {
		t.Errorf("got %q, %v", got, w.Fields)
	}
}
