package extract

// sparseText is the number of characters below which the contents of a page,
// its navigation apart, look like those of an application whose data has not
// come: a heading and a sentence.
const sparseText = 400

// Sparse reports that there is hardly anything to read outside of links and of
// what is navigation, footer or aside by its element. Unlike [Doc.Thin] it
// sees through the frame that an application draws before it has its data.
func (d *Doc) Sparse() bool { return contents(d.root) < sparseText }

// contents is the size of n without links and landmarks beside the contents.
func contents(n *node) int {
	switch {
	case n.size == 0 || n.is("a", "nav", "footer", "aside"):
		return 0
	case len(n.kids) == 0:
		return n.size
	}
	size := 0
	for _, k := range n.kids {
		size += contents(k)
	}
	return size
}
