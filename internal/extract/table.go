package extract

import (
	"slices"
	"strconv"
	"strings"
)

// Bounds of a table's grid; what is beyond them keeps its text, not its place.
const (
	maxCols  = 200
	maxSpan  = 1000
	maxCells = 200_000
)

// table renders a data table as a Markdown table in which every value stands
// under its own column, and a table that only lays the page out as its
// contents.
func (f *flow) table(n *node) {
	t := tableOf(n)
	if code := t.code(); code != "" {
		f.add(code, true)
		return
	}
	if t.layout() {
		for _, k := range t.contents() {
			f.node(k)
		}
		f.flush(false)
		return
	}
	for _, c := range t.captions {
		f.add(flat([]*node{c}), true)
	}
	if rows := t.grid(); len(rows) > 0 {
		f.add(writeRows(rows), true)
	}
	for _, k := range t.others {
		f.node(k)
	}
	f.flush(false)
}

// table is a table's parts, without those of tables inside it.
type table struct {
	node     *node
	captions []*node
	rows     [][]*node // their cells, and what else is in them
	others   []*node   // what is in the table but in no row
	headed   bool      // has a header cell
	nested   bool      // has a table inside
	gutter   bool      // line numbers were left out
}

func tableOf(n *node) *table {
	t := &table{node: n}
	t.collect(n)
	return t
}

func (t *table) collect(n *node) {
	for _, k := range n.kids {
		switch {
		case k.is("caption"):
			t.captions = append(t.captions, k)
		case k.is("tr"):
			t.rows = append(t.rows, t.cells(k))
		case k.is("thead", "tbody", "tfoot") || k.is("div", "form") && holdsRow(k):
			t.collect(k)
		default:
			t.others = append(t.others, k)
		}
	}
	if n != t.node {
		return
	}
	for _, r := range t.rows {
		for _, c := range r {
			t.headed = t.headed || c.is("th")
			t.nested = t.nested || c.holdsTag("table")
		}
	}
}

// cells returns what is in a row, apart from the line numbers of code.
func (t *table) cells(row *node) []*node {
	for _, c := range row.kids {
		if c.holds(preNode) && c.is("td") {
			kept := slices.DeleteFunc(slices.Clone(row.kids), numbering)
			t.gutter = t.gutter || len(kept) < len(row.kids)
			return kept
		}
	}
	return row.kids
}

// numbering reports that a cell holds nothing but whole numbers that count up.
func numbering(c *node) bool {
	words := strings.Fields(plainText(c))
	for i, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil || n < 0 {
			return false
		}
		if prev, _ := strconv.Atoi(words[max(i-1, 0)]); i > 0 && n != prev+1 {
			return false
		}
	}
	return true
}

// contents is what a layout table is replaced by.
func (t *table) contents() []*node {
	if !t.gutter {
		return t.node.kids
	}
	all := slices.Clone(t.captions)
	for _, r := range t.rows {
		all = append(all, r...)
	}
	return append(all, t.others...)
}

// code renders a table that holds one line of code in each row, or returns "".
func (t *table) code() string {
	if len(t.rows) < 2 || len(t.captions)+len(t.others) > 0 {
		return ""
	}
	lines := &node{kind: blockNode, tag: "pre"}
	for _, r := range t.rows {
		var code *node
		for _, c := range r {
			if c.size == 0 {
				continue
			}
			if code != nil || !c.holds(preNode) || c.holdsTag("pre") {
				return ""
			}
			code = c
		}
		if code == nil {
			code = &node{kind: breakNode}
		}
		lines.kids = append(lines.kids, code) // its parent stays the row
	}
	return codeBlock(lines)
}

func holdsRow(n *node) bool {
	for _, k := range n.kids {
		if k.is("tr") || k.is("thead", "tbody", "tfoot", "div", "form") && holdsRow(k) {
			return true
		}
	}
	return false
}

// layout reports that the table carries no data in its rows and columns: it
// says so, has one column or one row, or holds whole pieces of page.
func (t *table) layout() bool {
	if role := t.node.attr("role"); role == "presentation" || role == "none" {
		return true
	}
	cols, cells, rich := 0, 0, 0
	for _, r := range t.rows {
		n := 0
		for _, c := range r {
			if !c.is("td", "th") {
				continue
			}
			n++
			if richCell(c) {
				rich++
			}
		}
		cols = max(cols, n)
		cells += n
	}
	switch {
	case cols < 2:
		return true
	case t.headed || len(t.captions) > 0:
		return rich*2 > cells
	case len(t.rows) < 2:
		return rich > 0 || t.nested
	}
	return t.nested && rich > 0 || rich*3 > cells
}

// richCell reports that a cell holds more than a value.
func richCell(c *node) bool {
	blocks := 0
	c.walk(func(n *node) bool {
		if n.is("table", "pre", "h1", "h2", "h3", "form", "article", "section") {
			blocks += 3
		} else if n.is("p", "ul", "ol", "blockquote") {
			blocks++
		}
		return blocks < 3
	})
	return blocks >= 3 || c.size > 600
}

// grid expands the spans. A cell's text stands once, in its first place.
func (t *table) grid() [][]string {
	var rows [][]string
	var busy []int // rows for which a column is still taken by a cell above
	cells := 0
	for _, r := range t.rows {
		var row []string
		at := 0
		skip := func() {
			for at < len(busy) && busy[at] > 0 {
				busy[at]--
				at++
				row = append(row, "")
			}
		}
		for _, c := range r {
			if !c.is("td", "th") {
				row = addLoose(row, flat([]*node{c}))
				continue
			}
			skip()
			text := strings.ReplaceAll(flat(c.kids), "|", `\|`)
			cols, down := spanOf(c.attr("cols"), maxCols-at), spanOf(c.attr("rows"), maxSpan)
			if cols <= 0 || cells > maxCells {
				row = addLoose(row, text)
				continue
			}
			cells += cols
			for i := range cols {
				for len(busy) <= at {
					busy = append(busy, 0)
				}
				busy[at] = down - 1
				at++
				if i > 0 {
					text = ""
				}
				row = append(row, text)
			}
		}
		skip()
		if strings.Join(row, "") != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// addLoose appends text that has no column of its own to the last cell.
func addLoose(row []string, text string) []string {
	switch {
	case text == "":
		return row
	case len(row) == 0:
		return []string{text}
	}
	row[len(row)-1] = strings.TrimSpace(row[len(row)-1] + " " + text)
	return row
}

// spanOf reads colspan or rowspan; 0 rows means all that are left.
func spanOf(s string, limit int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	switch {
	case err != nil || n < 0:
		n = 1
	case n == 0:
		n = maxSpan
	}
	return min(n, limit)
}

// writeRows writes the grid without the columns that are empty throughout.
func writeRows(rows [][]string) string {
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	used := make([]bool, width)
	for _, r := range rows {
		for i, c := range r {
			used[i] = used[i] || c != ""
		}
	}
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteByte('|')
		for c := range width {
			if !used[c] {
				continue
			}
			if c < len(r) && r[c] != "" {
				b.WriteString(" " + r[c])
			}
			b.WriteString(" |")
		}
		if i == 0 {
			b.WriteString("\n|")
			for c := range width {
				if used[c] {
					b.WriteString("---|")
				}
			}
		}
	}
	return b.String()
}
