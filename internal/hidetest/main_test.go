// Package hidetest plants text in pages in every way that hides it, and checks
// that none of it comes out. It holds only tests.
package hidetest

import (
	"os"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

var (
	web *testweb.Web
	bg  *bellglass.Browser
)

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, suite.Options{Web: testweb.Options{IPv6: true}, SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		o := suite.BrowserOptions(w)
		o.HostRate, o.TextLimit = -1, 1_000_000
		var err error
		if bg, err = bellglass.New(o); err != nil {
			return nil, err
		}
		return bg.Close, nil
	}}))
}
