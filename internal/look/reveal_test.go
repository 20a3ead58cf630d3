package look_test

import (
	"strings"
	"testing"
)

// TestListenersInEveryTree: who listens is found in the document, in shadow
// trees, in those within them, and in closed ones.
func TestListenersInEveryTree(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.write(`<div id=plain>In the document</div><x-open></x-open><x-closed></x-closed><script>
const listen = (root, text) => {
	const d = document.createElement('div');
	d.textContent = text;
	d.addEventListener('pointerdown', () => {});
	root.append(d);
};
plain.addEventListener('click', () => {});
const open = document.querySelector('x-open').attachShadow({mode: 'open'});
listen(open, 'In a shadow tree');
const inner = document.createElement('section');
open.append(inner);
listen(inner.attachShadow({mode: 'open'}), 'In one within it');
listen(document.querySelector('x-closed').attachShadow({mode: 'closed'}), 'In a closed one');
</script>`)
	all := strings.Join(lines(p.frame()), "\n")
	for _, want := range []string{"In the document", "In a shadow tree", "In one within it", "In a closed one"} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, all)
		}
	}
}
