package extract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinks(t *testing.T) {
	d := parse(t, "=url https://www.shop.example/list?p=1#top", "=base https://www.shop.example/list?p=1",
		"(a\thref=https://other.example/x", "TElsewhere", ">",
		"(a\thref=a#reviews", "T1", ">",
		"(a\thref=https://www.shop.example/a", "TThe  first ", "(code", "Tthing", ">", ">",
		"(a\thref=https://cdn.shop.example/b", "iA picture", ">",
		"(a\thref=#top", "TTop", ">",
		"(a\thref=https://www.shop.example/list?p=1#/cart", "TCart", ">",
		"(a\thref=javascript:alert(1)", "TNo", ">",
		"(a", "TNo target", ">",
		"<a\thref=//www.shop.example/x/../card", "<h2", "TCard", ">", "<p", "Ttext", ">", ">",
		"(a\thref=https://www.shop.example/card", "TAgain", ">",
		"(a\thref=https://www.shop.example/covered", "T ", ">") // its text lies under something
	want := []Link{
		{"The first thing", "https://www.shop.example/a"},
		{"A picture", "https://cdn.shop.example/b"},
		{"Cart", "https://www.shop.example/list?p=1#/cart"},
		{"Card text", "https://www.shop.example/card"},
		{"Elsewhere", "https://other.example/x"},
	}
	if diff := cmp.Diff(d.Links("WWW.shop.example."), want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}
