package digest

import (
	"fmt"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// TestNumbersDoNotBreakTheBudget: lines full of numbers, which take more
// tokens a byte than others, end a list before the limit on bytes does.
func TestNumbersDoNotBreakTheBudget(t *testing.T) {
	f := frame("d")
	for i := range 1000 {
		row := fmt.Sprintf("Entry %d · clerk %d · room %d", i, i%17, i%9)
		a := Element{Node: int64(2*i + 1), Tag: "a", Role: "link", Name: "Details", Href: fmt.Sprintf("https://r.test/entry/%d", i), Row: row}
		b := button(int64(2*i+2), "Open entry")
		b.Row = row
		f.Elements = append(f.Elements, a, b)
		f.Lines = append(f.Lines, row, fmt.Sprint(1900+i%100))
		f.Chars += len(row) + 4
	}
	var tb Table
	p := tb.Update(f)
	p.URL = "https://r.test/"
	s := p.Render(RenderOptions{Nonce: "8f3ac91d"})
	enc, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := enc.Count(s); n > 2250 || n < 1900 {
		t.Errorf("%d tokens, %d bytes", n, len(s))
	}
}

// TestWeights compares the estimate with what the tokenizer counts.
func TestWeights(t *testing.T) {
	enc, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`[44] button "Add to cart" in row "Product number 0 · $3.00"`,
		`[3] link "Details" -> /entry/17 in row "Entry 17 · clerk 0 · room 8"`,
		`[7] checkbox "Size 4" (unchecked) in group "Size"`,
		"Съешь же ещё этих мягких французских булок",
		"日本語のテキストがここにある。価格は千円です。",
	} {
		n, _ := enc.Count(s)
		if w := weigh(s); w*10 < n*7 || w*10 > n*14 {
			t.Errorf("%d tokens, estimated %d: %s", n, w, s)
		}
	}
}
