// Package exhaustion holds only tests: pages and servers that want all of the
// processor, the memory or the time. Each is answered within the call's time,
// and the browser serves the next call.
package exhaustion

import (
	"os"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

var web *testweb.Web

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, suite.Options{SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		web.Handle("site.test", testweb.Site())
		return nil, nil
	}}))
}

// newBrowser makes a browser whose calls end within callTime. That is long:
// what is bounded here is work, and the machine may be busy.
func newBrowser(t *testing.T, change func(*bellglass.Options)) *bellglass.Browser {
	t.Helper()
	o := suite.VisitOptions(web)
	o.CallTimeout, o.NavigationTimeout = callTime, navigationTime
	o.IgnoreRobots = true // these servers answer everything alike
	if change != nil {
		change(&o)
	}
	return suite.NewBrowser(t, o)
}

// hasty gives a page less time to appear, where that is all there is to wait
// for.
func hasty(o *bellglass.Options) { o.NavigationTimeout = 5 * time.Second }

const (
	callTime       = 60 * time.Second
	navigationTime = 20 * time.Second
)

// browse reads a page as a tenant, and fails the test when that takes longer
// than a call may.
func browse(t *testing.T, b *bellglass.Browser, tenant, url string) bellglass.Result {
	t.Helper()
	begun := time.Now()
	res := suite.BrowseAs(t, b, bellglass.Request{Principal: bellglass.Principal{Tenant: tenant, Run: "run"}, URL: url})
	if took := time.Since(begun); took > callTime+5*time.Second {
		t.Errorf("%s took %v", url, took)
	}
	return res
}

// usable reports whether the browser reads an ordinary page.
func usable(t *testing.T, b *bellglass.Browser, tenant string) {
	t.Helper()
	if res := browse(t, b, tenant, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("the next call of %s: %s %s %v", tenant, res.Status, res.Reason, res.Err)
	}
}
