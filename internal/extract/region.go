package extract

// region returns the node whose text is the page's main part as the page
// itself says: the main element, else an article, when it holds at least half
// of the visible text; else the root.
func (d *Doc) region() *node {
	var mains, articles []*node
	d.root.walk(func(n *node) bool {
		if n.kind != blockNode {
			return true
		}
		switch {
		case n.tag == "main" || n.attr("role") == "main":
			mains = append(mains, n)
		case n.tag == "article" || n.attr("role") == "article":
			articles = append(articles, n)
		}
		return true
	})
	for _, set := range [][]*node{mains, articles} {
		var best *node
		for _, n := range set {
			if best == nil || n.size > best.size {
				best = n
			}
		}
		if best != nil && best.size*2 >= d.root.size && best.size > 0 {
			return best
		}
	}
	return d.root
}
