// Package sealtest tries to get out of a real browser, and into it, by every way
// that a page, a server or a machine has, each with its control: the same
// attempt without the seal is seen to leak. It holds only tests.
package sealtest

import (
	"os"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// One small internet and one browser serve all tests.
var (
	web *testweb.Web
	bg  *bellglass.Browser
)

var (
	who    = suite.Who
	browse = suite.Browse
)

func TestMain(m *testing.M) { os.Exit(suite.ReadMain(m, &web, &bg)) }

// newBrowser makes a browser on the small internet with other options.
func newBrowser(t testing.TB, change func(*bellglass.Options)) *bellglass.Browser {
	t.Helper()
	o := suite.VisitOptions(web)
	change(&o)
	return suite.NewBrowser(t, o)
}
