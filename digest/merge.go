package digest

// maxDepth bounds the nesting of frames.
const maxDepth = 8

type merger struct {
	main *Frame
	page *Page
}

// frame adds what is in f; inView tells whether its box is in the viewport.
func (m *merger) frame(f *Frame, inView bool, depth int) {
	m.page.HiddenChars += f.HiddenChars
	m.page.HiddenBlocks += f.HiddenBlocks
	m.page.Chars += f.Chars
	m.page.TextHash = m.page.TextHash*1000003 + uint64(f.TextHash)
	m.page.Cut = m.page.Cut || f.Cut
	foreign := ""
	if f != m.main && (f.Origin != m.main.Origin || f.Origin == "null") {
		foreign = f.Origin
	}
	el, line := 0, 0
	add := func(elements, lines int) {
		for ; el < min(elements, len(f.Elements)); el++ {
			e := f.Elements[el]
			e.Frame, e.Doc, e.Origin = f.ID, f.Doc, foreign
			e.InView = e.InView && inView
			m.page.Elements = append(m.page.Elements, e)
		}
		for ; line < min(lines, len(f.Lines)); line++ {
			m.line(f.Lines[line])
		}
	}
	for i := range f.Places {
		p := &f.Places[i]
		if p.Child == nil || depth >= maxDepth {
			continue
		}
		add(p.At, p.Line)
		if !p.Shown {
			m.page.HiddenChars += p.Child.Chars
			continue
		}
		in := inView && p.Box.X < float64(f.Width) && p.Box.Y < float64(f.Height) && p.Box.X+p.Box.Width > 0 && p.Box.Y+p.Box.Height > 0
		named := p.Child.Origin != m.main.Origin || p.Child.Origin == "null"
		if named && p.Child.Chars > 0 {
			m.line("⟦frame of " + p.Child.Origin + "⟧")
		}
		m.frame(p.Child, in, depth+1)
		if named && p.Child.Chars > 0 {
			m.line("⟦end of frame⟧")
		}
	}
	add(len(f.Elements), len(f.Lines))
}

// line adds a line of text.
func (m *merger) line(s string) {
	if s != "" {
		m.page.Lines = append(m.page.Lines, s)
	}
}

// order puts the elements in the viewport first.
func (m *merger) order() {
	all := m.page.Elements
	sorted := make([]Element, 0, len(all))
	for _, in := range []bool{true, false} {
		for i := range all {
			if all[i].InView == in {
				sorted = append(sorted, all[i])
			}
		}
	}
	m.page.Elements = sorted
}
