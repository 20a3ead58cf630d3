package extract

import (
	"strings"
	"testing"
)

func TestDatesAndPricesAreTold(t *testing.T) {
	for text, want := range map[string]bool{
		"Posted on November 19, 2019, 6:21 AM": true,
		"3. März 2021":                         true,
		"2 days ago":                           true,
		"2024-04-26":                           true,
		"26/04/2024":                           true,
		"It may rain":                          false,
		"Section 4.2.1":                        false,
		"1,024 of 2,048":                       false,
		"20190 items":                          false,
		"":                                     false,
	} {
		if _, is := lexicalOf(foldText(text)); is&dated != 0 != want {
			t.Errorf("date in %q: %v, want %v", text, !want, want)
		}
	}
	for text, want := range map[string]bool{"$19.99": true, "ab 5 €": true, "US$": false, "19.99": false} {
		if got := hasPrice(text); got != want {
			t.Errorf("price in %q: %v, want %v", text, got, want)
		}
	}
}

// TestKinStandInLikeBoxes: the prices of all cards are one group, whatever else
// is in a card, and their names another.
func TestKinStandInLikeBoxes(t *testing.T) {
	card := "<div\n<h3\nTName\n>\n<div\n<p\nT$5\n>\n>\n>"
	f := parse(t, strings.Split("<section\n"+card+"\n"+card+"\n"+card+"\n>\n<p\nTAlone\n>", "\n")...).features()
	f.count()
	f.findKin()
	var got []int
	for i := range f.units {
		got = append(got, f.alike[i].n, f.near[i].n)
	}
	want := []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("sizes of groups %v, want %v", got, want)
		}
	}
	if s := f.sums[f.units[2].box.parent.at]; s.nth != 1 || s.of != 3 {
		t.Errorf("the second card is number %d of %d", s.nth, s.of)
	}
}

// TestContextSeesTheOthers: the same estimate means another thing between
// units that are taken than among such that are not.
func TestContextSeesTheOthers(t *testing.T) {
	f := parse(t, strings.Split(strings.TrimSuffix(paras(0, 5), "\n"), "\n")...).features()
	l := f.layOut()
	around := func(likely ...float64) (mean, before float32) {
		f.inContext(likely).each(l, 0, len(f.units), func(i int, row *row) {
			if i == 2 {
				mean, before = row[5], row[2]
			}
		})
		return mean, before
	}
	low, _ := around(.1, .1, .5, .1, .1)
	high, before := around(.9, .9, .5, .9, .9)
	if low > .3 || high < .7 || before != .9 {
		t.Errorf("means %.2f and %.2f, before %.2f", low, high, before)
	}
}
