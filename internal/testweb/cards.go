package testweb

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Cards returns the path of a shop's catalogue with n product cards: the page
// on which reading and acting are measured. Each card holds a heading that is
// a link, a line of text, a price, a button and one hidden paragraph. With
// "&act=1" the buttons work: a trusted click changes that card's price line to
// "In cart", and how many are in it.
func Cards(n int) string { return fmt.Sprintf("/cards?n=%d", n) }

// maxCards bounds what one request may cost.
const maxCards = 20_000

// cardPages remembers the pages made so far: a benchmark measures the reader,
// not this.
var cardPages sync.Map // of n to []byte

func serveCards(w http.ResponseWriter, r *http.Request, p params) {
	n := min(max(p.Int("n", 100), 0), maxCards)
	key := fmt.Sprint(n, p.Str("act", ""))
	body, ok := cardPages.Load(key)
	if !ok {
		body, _ = cardPages.LoadOrStore(key, cards(n, p.Str("act", "") != ""))
	}
	send(w, "text/html; charset=utf-8", body.([]byte))
}

func cards(n int, act bool) []byte {
	var b strings.Builder
	b.WriteString("<style>.note { display: none } .card { border: 1px solid #999; margin: 4px; padding: 4px }</style>\n<nav>")
	for i := range 40 {
		fmt.Fprintf(&b, "<a href=\"/tiny?aisle=%d\">Aisle %d</a> ", i, i)
	}
	b.WriteString("</nav>\n<form action=\"/echo\"><label>Search <input name=q></label> ")
	b.WriteString("<label>Sort <select name=s><option>by name<option>by price</select></label> <button>Go</button></form>\n<main><h1>Catalogue</h1>\n")
	for i := range n {
		fmt.Fprintf(&b, "<article class=card><h2><a href=\"/tiny?product=%d\">Product number %d</a></h2>", i, i)
		fmt.Fprintf(&b, "<p>Made in small batches, number %d of %d in this list.</p><p class=price>$%d.%02d</p>", i+1, n, 3+i%97, i%100)
		fmt.Fprintf(&b, "<button>Add to cart</button><p class=note>internal note %d</p></article>\n", i)
	}
	b.WriteString("</main>\n<footer>Prices include tax.</footer>")
	if act {
		b.WriteString(cardScript)
	}
	return page("Catalogue", "%s", b.String())
}

const cardScript = `
<script>
let inCart = 0;
addEventListener('click', e => {
  const button = e.target.closest('.card button');
  if (!button || !e.isTrusted) return;
  setTimeout(() => { button.parentNode.querySelector('.price').textContent = 'In cart: ' + ++inCart }, 30);
});
</script>`
