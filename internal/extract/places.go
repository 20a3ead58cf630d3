package extract

// Places that a text may stand in, by the name or role of what is around it.
const (
	inNav = iota
	inHeader
	inFooter
	inAside
	inForm
	inMain
	inArticle
	inSection
	inTable
	inList
	inTerms
	inCode
	inFigure
	inButton
	inLabel
	inDetails
	inQuote
	inDialog
	inSearch
	inHeading
	inLink
	inParagraph
	inItem
	inFrame
	numPlaces
)

var placeOfTag = map[string]int{
	"nav": inNav, "header": inHeader, "footer": inFooter, "aside": inAside, "form": inForm, "main": inMain, "article": inArticle,
	"section": inSection, "table": inTable, "ul": inList, "ol": inList, "menu": inList, "dl": inTerms, "pre": inCode, "code": inCode,
	"figure": inFigure, "figcaption": inFigure, "button": inButton, "label": inLabel, "legend": inLabel, "details": inDetails,
	"summary": inDetails, "blockquote": inQuote, "dialog": inDialog, "search": inSearch, "a": inLink, "p": inParagraph, "li": inItem,
	"h1": inHeading, "h2": inHeading, "h3": inHeading, "h4": inHeading, "h5": inHeading, "h6": inHeading,
}

var placeOfRole = map[string]int{
	"navigation": inNav, "banner": inHeader, "contentinfo": inFooter, "complementary": inAside, "main": inMain, "article": inArticle,
	"dialog": inDialog, "alertdialog": inDialog, "search": inSearch,
}

// placeOf returns the set of places that a node is.
func placeOf(n *node) uint32 {
	var set uint32
	if n.kind == frameNode {
		set |= 1 << inFrame
	}
	if p, ok := placeOfTag[n.tag]; ok {
		set |= 1 << p
	}
	if p, ok := placeOfRole[n.attr("role")]; ok {
		set |= 1 << p
	}
	return set
}
