package extract

// nodeKind says what a node of the visible tree is.
type nodeKind uint8

const (
	blockNode     nodeKind = iota // starts and ends a line
	inlineNode                    // part of a line
	textNode                      // text, white space collapsed
	preNode                       // text, white space kept
	imageNode                     // text holds the alternative text
	breakNode                     // a line break
	edgeNode                      // a block without contents
	ruleNode                      // a horizontal rule
	collapsedNode                 // contents held back
	frameNode                     // the place of a frame; its only child is the frame's tree
)

// node is one node of the visible tree.
type node struct {
	kind   nodeKind
	tag    string // "div" for a block without a meaning of its own
	text   string
	attrs  []attr
	parent *node
	kids   []*node
	size   int // visible code points in it and below
	frame  int
	shown  bool // of a frame: it is in sight; of an image: it is no icon

	at, end int // place in its tree, parents first, and that of the first node that is not below it; see number
}

type attr struct{ key, value string }

func (n *node) add(kid *node) {
	kid.parent = n
	n.kids = append(n.kids, kid)
}

func (n *node) attr(key string) string {
	for _, a := range n.attrs {
		if a.key == key {
			return a.value
		}
	}
	return ""
}

// is reports that n is an element of one of these names.
func (n *node) is(tags ...string) bool {
	if n.kind != blockNode && n.kind != inlineNode {
		return false
	}
	for _, t := range tags {
		if n.tag == t {
			return true
		}
	}
	return false
}

// walk calls visit for n and all below it, parents first, until visit
// returns false.
func (n *node) walk(visit func(*node) bool) bool {
	if !visit(n) {
		return false
	}
	for _, k := range n.kids {
		if !k.walk(visit) {
			return false
		}
	}
	return true
}

// number gives n and all below it their places, from at on, and returns the
// first one that is free.
func (n *node) number(at int) int {
	n.at = at
	at++
	for _, k := range n.kids {
		at = k.number(at)
	}
	n.end = at
	return at
}

// grow adds size to n and all around it.
func (n *node) grow(size int) {
	for ; n != nil; n = n.parent {
		n.size += size
	}
}
