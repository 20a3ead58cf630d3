package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// page is one of the pages that are measured, and what is done on it. The new
// states show in names of buttons, because the shortest views of some list
// nothing else.
type page struct {
	name, path string
	there      string // in the first view
	button     target
	clicked    string // in a view after the click
	field      target
	text       string
	filled     string // in a view after that
}

// target is the nth control of that name, from 0, in reading order.
type target struct {
	name string
	nth  int
}

var pages = []page{
	{"1,000 products", "/products", "Add to cart", target{"Add to cart", 2}, "In cart: 1", target{"Search", 0}, "lamp", "Show results for lamp"},
	{"150 controls", "/shop", "Add to cart", target{"Add to cart", 1}, "In cart: 1", target{"Search", 0}, "lamp", "Show results for lamp"},
	{"10,000 elements", "/elements", "Open entry", target{"Open entry", 2}, "Close entry", target{"Search", 0}, "lamp", "Show results for lamp"},
}

// shop is the server of the pages.
type shop struct {
	*http.Server
	Addr string
}

// answerTime is what the shop takes to put something into a cart.
const answerTime = 10 * time.Millisecond

func openShop() (*shop, error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for path, html := range map[string]string{"/products": products(1000), "/shop": controls(), "/elements": elements(1000)} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, html)
		})
	}
	mux.HandleFunc("POST /cart", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(answerTime)
		fmt.Fprint(w, "1")
	})
	s := &shop{&http.Server{Handler: mux}, ln.Addr().String()}
	go s.Serve(ln)
	return s, nil
}

const style = `<style>body{font:15px sans-serif;margin:0}nav,form{padding:6px;background:#eef}main{padding:8px}.card{border:1px solid #999;margin:4px;padding:4px}.note{display:none}.badge{background:#c00;color:#fff}aside{float:left;width:220px}</style>`

// script answers clicks after the shop has, and typing at once.
const script = `<script>
document.addEventListener('click', async e => {
	const b = e.target.closest('button[data-add]');
	if (b) b.textContent = 'In cart: ' + await (await fetch('/cart', { method: 'POST', body: b.dataset.add })).text();
	const o = e.target.closest('button[data-open]');
	if (o) { o.textContent = 'Close entry'; o.nextElementSibling.hidden = false }
});
document.querySelector('[name=q]').addEventListener('input', e => {
	document.querySelector('#go').textContent = 'Show results for ' + e.target.value;
});
</script>`

const search = `<form onsubmit="return false"><label>Search <input name=q></label> <label>Sort <select name=s><option>by name<option>by price<option>by date</select></label> <button id=go>Go</button></form>`

func document(title, body string) string {
	return "<!doctype html><html lang=en><title>" + title + "</title>" + style + body + script + "</html>"
}

// products is a list of n products, with two controls each.
func products(n int) string {
	var b strings.Builder
	b.WriteString("<nav>")
	for i := range 40 {
		fmt.Fprintf(&b, `<a href="/aisle/%d?from=nav">Aisle %d</a> `, i, i)
	}
	b.WriteString("</nav>" + search + "<main><h1>Catalogue</h1>")
	for i := range n {
		fmt.Fprintf(&b, `<article class=card><h2><a href="/product/%d?ref=list">Product number %d</a></h2><p>Made in small batches, number %d of %d in this list.</p><p class=price>$%d.%02d</p><button data-add=%d>Add to cart</button><p class=note>internal note %d</p></article>`,
			i, i, i+1, n, 3+i%97, i%100, i, i)
	}
	b.WriteString("</main><footer>Prices include tax.</footer>")
	return document("Catalogue", b.String())
}

// controls is a page of a shop with 150 controls of many kinds.
func controls() string {
	var b strings.Builder
	b.WriteString(`<header><a href="/"><img alt="Trail shoes" width=80 height=30></a> <button aria-haspopup=menu aria-expanded=false>Account</button> <a href="/cart">Cart <span class=badge>0</span></a></header><nav>`)
	for i := range 20 {
		fmt.Fprintf(&b, `<a href="/c/%d?utm_source=nav">Category %d</a> `, i, i)
	}
	b.WriteString("</nav>" + search + "<aside><h2>Filters</h2>")
	for _, group := range []string{"Brand", "Size", "Colour"} {
		fmt.Fprintf(&b, "<fieldset><legend>%s</legend>", group)
		for i := range 10 {
			fmt.Fprintf(&b, "<label><input type=checkbox name=%s value=%d> %s %d</label><br>", strings.ToLower(group), i, group, i)
		}
		b.WriteString("</fieldset>")
	}
	b.WriteString("<label>Price up to <input type=range min=0 max=300 value=150></label><label>Email for news <input type=email></label></aside><main><h1>Trail shoes</h1><p>Light shoes for rough ground, tested on three continents.</p>")
	for i := range 30 {
		fmt.Fprintf(&b, `<div class=card><h3><a href="/p/%d">Shoe model %d</a></h3><p>For %s trails, %d g.</p><span class=price>$%d</span> <button data-add=%d>Add to cart</button> <button aria-label="Remember model %d">♡</button></div>`,
			i, i, []string{"wet", "dry", "stony"}[i%3], 210+i, 79+i, i, i)
	}
	b.WriteString("</main>")
	return document("Trail shoes", b.String())
}

// elements is a page of ten elements for each of n entries.
func elements(n int) string {
	var b strings.Builder
	b.WriteString(search + "<main><h1>Register</h1>")
	for i := range n {
		fmt.Fprintf(&b, `<section class=card><h2>Entry %d</h2><div><p>Filed by <b>clerk %d</b> in <i>room %d</i></p></div><a href="/entry/%d">Details</a><button data-open>Open entry</button><p hidden>Nothing else is known of it.</p><small>%d</small></section>`,
			i, i%17, i%9, i, 1900+i%100)
	}
	b.WriteString("</main>")
	return document("Register", b.String())
}
