package extract

import (
	"slices"
	"testing"
)

// TestEveryPhraseIsFolded: one that is not would never be found.
func TestEveryPhraseIsFolded(t *testing.T) {
	for _, list := range [][]string{gonePhrases, robotPhrases, robotWords, loginPhrases, teaserPhrases, notices} {
		for _, p := range list {
			if got := fold(" " + p + " ").text; got != p+" " {
				t.Errorf("%q folds to %q", p, got)
			}
			if len(p) < 4 {
				t.Errorf("%q says too little", p)
			}
		}
	}
}

func TestChoices(t *testing.T) {
	for s, want := range map[string]bool{
		"Accept all": true, " ACCEPT  ALL! ": true, "OK, accept all": false, "Tout accepter": true, "J’accepte": true, "同意する": true,
		"Godkänn alla": true, "": false, "Accept all the terms of the regatta": false, "Принять": true, "…": false,
	} {
		if got := isChoice(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// TestSignalsOfNothing: no signal but that there is nothing.
func TestSignalsOfNothing(t *testing.T) {
	d, err := Parse(streamHead)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Signals(200, func() string { return "" }); !slices.Equal(got, []Signal{LowContent}) {
		t.Errorf("%v", got)
	}
}
