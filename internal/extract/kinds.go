package extract

import "strings"

// kinds are what a page may say it is about: the types of schema.org in its
// structured data, and Open Graph's. A page can lie; it is one sign of many.
var kinds = []string{
	"Product", "ProductGroup", "Article", "NewsArticle", "BlogPosting", "DiscussionForumPosting", "QAPage", "ItemList", "CollectionPage",
	"FAQPage", "Service", "Organization", "BreadcrumbList", "TechArticle", "Recipe", "VideoObject", "LocalBusiness", "WebSite",
	"og:article", "og:product", "og:website", "og:blog", "og:video",
}

// kindsIn has a 1 for each kind that is among the words.
func kindsIn(words string) []float32 {
	said := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		said[w] = true
	}
	out := make([]float32, len(kinds))
	for i, k := range kinds {
		if said[k] {
			out[i] = 1
		}
	}
	return out
}

// sorts says which of four sorts of page the kinds stand for: something to
// read, a discussion, a thing on sale, a list.
func (d *Doc) sorts() []float32 {
	var out [4]float32
	for i, k := range kinds {
		switch k {
		case "Article", "NewsArticle", "BlogPosting", "TechArticle", "og:article":
			out[0] = max(out[0], d.about[i])
		case "DiscussionForumPosting", "QAPage":
			out[1] = max(out[1], d.about[i])
		case "Product", "ProductGroup", "og:product":
			out[2] = max(out[2], d.about[i])
		case "ItemList", "CollectionPage":
			out[3] = max(out[3], d.about[i])
		}
	}
	return out[:]
}
