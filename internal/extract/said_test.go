package extract

import "testing"

// TestWhatStructuredDataRepeats: of a unit counts which pairs of its words stand
// there.
func TestWhatStructuredDataRepeats(t *testing.T) {
	d := parse(t, "=said Soft wool, made to last. Washes at 30°.", "<p", "TSoft wool made to last", ">")
	for text, want := range map[string]float32{
		"soft wool made to last": 1,
		"made of soft wool":      1. / 3,
		"add to cart":            0,
		"wool":                   0,
		"":                       0,
	} {
		if part, _ := d.said.repeats(text); part != want {
			t.Errorf("%q: %v, want %v", text, part, want)
		}
	}
	if part, n := parse(t, "<p", "Tx", ">").said.repeats("soft wool"); part != -1 || n != 0 {
		t.Errorf("without structured data: %v %v", part, n)
	}
}
