package plain

// Need is why a document had better be read by a browser; empty if it need
// not.
type Need string

// The signals, in the order in which they are asked for.
const (
	NeedFrames  Need = "frames"      // hardly any text, and frames that were not loaded
	NeedBlank   Need = "blank"       // no text at all
	NeedBusy    Need = "busy"        // the document says that it is still being made
	NeedMount   Need = "mount"       // an empty element that applications are drawn into, and hardly any contents
	NeedData    Need = "data"        // hardly any contents beside the data to make them of
	NeedSparse  Need = "sparse"      // hardly any contents, and scripts
	NeedReplace Need = "placeholder" // a template's placeholders stand in the text
)

// Bounds of the signals, settled on half of the pages that bench/extract
// measures with -engines.
const (
	fewPlaceholders = 3      // texts that hold one
	fewChars        = 200    // visible characters of a page that shows hardly anything
	dataBytes       = 20_000 // of scripts in a document that holds its contents as data
	dataFactor      = 100    // and that much more than text
)

// Needs says why the document had better be read by a browser that runs its
// scripts. It errs on the side of the browser, which only costs time.
func (d *Doc) Needs() Need {
	f := &d.facts
	switch {
	case f.frames > 0 && d.TextLen < fewChars:
		return NeedFrames
	case d.TextLen == 0:
		return NeedBlank
	case f.scripts == 0:
		return ""
	case f.busy:
		return NeedBusy
	case f.mounts > 0 && d.Sparse():
		return NeedMount
	case f.templated:
		return NeedReplace
	case f.scriptBytes > dataBytes && f.scriptBytes > dataFactor*d.TextLen:
		return NeedData
	case d.Sparse():
		return NeedSparse
	}
	return ""
}
