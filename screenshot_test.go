package bellglass

import (
	"testing"

	"github.com/bellglass/bellglass/digest"
)

// TestAFieldThatTookAnothersPlaceIsNotPainted: as many protected fields as
// before are not the same ones.
func TestAFieldThatTookAnothersPlaceIsNotPainted(t *testing.T) {
	over := []digest.Element{{Frame: "f", Doc: "d", Node: 1}, {Frame: "g", Doc: "e", Node: 1}}
	for _, c := range []struct {
		name string
		now  []digest.Element
		want bool
	}{
		{"none", nil, true},
		{"the same", over, true},
		{"one has gone", over[1:], true},
		{"another node", []digest.Element{over[0], {Frame: "f", Doc: "d", Node: 2}}, false},
		{"another document", []digest.Element{{Frame: "f", Doc: "d2", Node: 1}}, false},
		{"another frame", []digest.Element{{Frame: "h", Doc: "d", Node: 1}}, false},
	} {
		if got := painted(c.now, over); got != c.want {
			t.Errorf("%s: painted %t", c.name, got)
		}
	}
}
