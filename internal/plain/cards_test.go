package plain_test

import (
	"net/http/httptest"
	"testing"

	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/plain"
	"github.com/bellglass/bellglass/internal/testweb"
)

// BenchmarkCards makes text of a page of 1,000 cards: parsed, and its main part
// chosen and written.
func BenchmarkCards(b *testing.B) {
	w := httptest.NewRecorder()
	testweb.Site().ServeHTTP(w, httptest.NewRequest("GET", "http://site.test"+testweb.Cards(1000), nil))
	page := w.Body.Bytes()
	parse := func(b *testing.B) *plain.Doc {
		d, err := plain.Parse(page, "http://site.test/")
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parse(b)
		}
	})
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		d := parse(b)
		for b.Loop() {
			d.Text(extract.TextOptions{})
		}
	})
}
