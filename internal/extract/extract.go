// Package extract turns a rendered page into bounded Markdown: what a person
// could see of it, once, in reading order.
//
// A script walks the tree in an isolated world of the browser and decides,
// box by box, what is in sight; it returns one string. [Parse] reads that
// string, [Doc.Graft] puts frames in their places, [Doc.Text] and [Doc.Links]
// render, [Page] and [Passages] cut. Everything after the script is pure Go.
//
// It does not talk to a browser, does not judge whether a frame may be read,
// and trusts no byte of what the script returns: a renderer may be hostile.
package extract

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

var (
	//go:embed visibility.js
	visibilityJS string
	//go:embed ink.js
	inkJS string
	//go:embed state.js
	stateJS string
	//go:embed walker.js
	walkerJS string
)

// ScriptOptions says what [Script] may do besides looking.
type ScriptOptions struct {
	// FinishAnimations ends the finite animations and transitions that are
	// running before the walk, so that a page that fades in is read as it
	// will look. It is the only thing the script ever changes.
	FinishAnimations bool
	// Within is a CSS selector: only what is in an element that it selects is
	// written. It must be valid. If empty, everything is.
	Within string
	// Hidden also tells what is left out because nobody can see it: the first
	// 100,000 characters of it.
	Hidden bool
}

// Script returns the expression to evaluate in an isolated world of each
// frame; its value is the string that [Parse] reads. It reaches the tree only
// through accessors taken from the prototypes of its own world, so a page can
// neither fool nor notice it.
func Script(o ScriptOptions) string {
	within, _ := json.Marshal(o.Within) // a string always can be
	opts := fmt.Sprintf("{finishAnimations:%t,within:%s,hidden:%t}", o.FinishAnimations, within, o.Hidden)
	var b strings.Builder
	b.Grow(len(visibilityJS) + len(inkJS) + len(stateJS) + len(walkerJS) + 64)
	b.WriteString("(function(options){'use strict';\n")
	b.WriteString(Sight())
	b.WriteString(walkerJS)
	b.WriteString("})(")
	b.WriteString(opts)
	b.WriteString(")")
	return b.String()
}

// Sight is the part of the script that decides what is in sight, for other
// walkers: definitions for the body of a function that yields a string.
func Sight() string { return visibilityJS + inkJS + stateJS }

// Doc is one parsed document, with the frames grafted into it.
type Doc struct {
	Title string // one line, cleaned
	URL   string // as the document names itself; the caller knows better
	Lang  string // the lang attribute of the root

	HiddenChars     int // characters left out because nobody could see them
	UnrenderedChars int // the part of HiddenChars that is not drawn at all, as in closed menus
	HiddenBlocks    int // stretches of hidden text, uninterrupted by visible text
	TextLen         int // visible code points, white space apart
	Nodes           int // nodes walked
	Finished        int // animations ended before the walk
	Frames          int // places of child frames, hidden ones included
	NoScript        int // characters kept for browsers without scripts; zero on a page with more than a little text
	Busy            bool
	Cut             bool // the document was too large to walk whole
	// Hidden is what HiddenChars counts, cleaned, one string for each stretch;
	// nil if the script was not asked for it. Of much of it, the beginning.
	Hidden []string

	hiddenBytes   int             // of Hidden
	asked         bool            // whether asks is known
	asks          *node           // the banner that asks for consent, or nil
	passwords     int             // fields for one
	captcha       bool            // it holds what asks for proof of being a person
	width, height int             // of the viewport
	about         []float32       // what kind of page it says it is, one for each of kinds
	description   map[string]bool // words of what it says of itself
	said          pairs           // of what its structured data says
	root          *node
	frames        []*node
}

// Bytes is about what the document takes in memory, with its text rendered
// twice: a node takes some 250 bytes, and few characters more than three.
func (d *Doc) Bytes() int { return 250*d.Nodes + 3*(3*d.TextLen) }

// thinText is the number of visible characters below which a page is likely
// to be still loading, empty, or a shell for something that did not start.
const thinText = 200

// Thin reports that there is hardly anything to read.
func (d *Doc) Thin() bool { return d.TextLen < thinText }

// Graft puts the document of child frame number frame in its place; number i
// is window[i] of the parent. Origin, if not empty, says that the frame
// belongs to another site, and is written with its text. A frame whose place
// was not found comes last if seen says that a person can see it. What is in a
// frame that nobody can see counts as hidden. Frames of frames must be grafted
// first.
func (d *Doc) Graft(frame int, child *Doc, origin string, seen bool) {
	if child == nil || child == d {
		return
	}
	d.HiddenChars += child.HiddenChars
	d.UnrenderedChars += child.UnrenderedChars
	d.HiddenBlocks += child.HiddenBlocks
	d.Nodes += child.Nodes
	d.Finished += child.Finished
	d.Frames += child.Frames
	d.Cut = d.Cut || child.Cut
	d.tell(child.Hidden...)
	place := d.place(frame)
	if place == nil {
		place = &node{kind: frameNode, frame: frame, shown: seen && child.width >= legible && child.height >= legible}
		d.root.add(place)
	}
	if !place.shown {
		if child.TextLen == 0 {
			return
		}
		d.HiddenChars += child.TextLen
		d.HiddenBlocks++
		if d.Hidden != nil {
			d.tell(child.Text(TextOptions{Whole: true}))
		}
		return
	}
	d.Busy = d.Busy || child.Busy
	place.attrs = []attr{{"origin", origin}}
	place.kids = append(place.kids, child.root)
	child.root.parent = place
	place.grow(child.root.size)
	d.TextLen = d.root.size
}

// maxHidden is the most bytes of hidden text that are kept of a document and its
// frames.
const maxHidden = 512 << 10

// tell adds stretches of hidden text, if they are asked for, as long as there is
// room.
func (d *Doc) tell(stretches ...string) {
	for _, s := range stretches {
		if s = Clean(s); d.Hidden != nil && s != "" && d.hiddenBytes+len(s) <= maxHidden {
			d.hiddenBytes += len(s)
			d.Hidden = append(d.Hidden, s)
		}
	}
}

// Placed reports whether the walker came by the place of that frame.
func (d *Doc) Placed(frame int) bool { return d.place(frame) != nil }

// legible is the least side, in CSS pixels, of a box that a person can read.
const legible = 4

// place finds the frame's place that is still empty.
func (d *Doc) place(frame int) *node {
	for _, f := range d.frames {
		if f.frame == frame && len(f.kids) == 0 && frame >= 0 {
			return f
		}
	}
	return nil
}
