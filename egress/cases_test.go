package egress

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The attacks that this package and package policy answer to carry an id, in
// the name of a table row or in a comment: URL for confused parsers, IP for
// spellings and kinds of addresses, SCH for schemes, RED for redirects, DNS, WS
// for WebSockets, PRX for proxy requests, TLS, CRD for credentials and TEN for
// the isolation of tenants. These are the ids there are.
var cases = map[string]string{
	"URL": "1-9 11-14 16 18-34",
	"IP":  "1-4 6-10 13-18 20-24 27-28 30-34 36-37 39-46 50 55 57-69 73-75 78-80 83-90 92",
	"RED": "2-3 6-8 10-14 18-22",
	"DNS": "1-4 6-7 9-11 13-19 21-41",
	"WS":  "1 3-6 8",
	"SCH": "3-6 8-11 13 15-16 18",
	"PRX": "1-2 4 8 10-11 13-20 22-33 35-36 38-41 44-45",
	"TLS": "2-8 10",
	"CRD": "1-2 4-8",
	"TEN": "1-3 5-8",
}

// elsewhere are the cases that only a browser can show, and what shows them or
// keeps them from mattering here.
var elsewhere = map[string]string{
	"SCH-015": "the renderer blocks file: URLs that a page asks for; no request reaches a proxy",
	"SCH-016": "a click on a file: link; no request reaches a proxy",
	"SCH-018": "file pickers are the browser's; no request reaches a proxy",
	"RED-010": "a Location of file: is followed or not by the browser; the proxy passes it on",
	"RED-011": "a Location of data: is followed or not by the browser; the proxy passes it on",
	"RED-012": "a Location of javascript: is followed or not by the browser; the proxy passes it on",
	"RED-018": "how a script navigates; each way ends in a request, which RED-006 shows refused",
	"RED-019": "a data: document is made in the browser; what it fetches is refused as in RED-006",
	"RED-022": "a frame that navigates the top window; the request is refused as in RED-006",
	"TLS-006": "certificates are verified by the browser; the proxy does not see them",
	"TLS-007": "flags of the browser process",
	"CRD-004": "a login prompt of a site is answered over DevTools; the proxy passes a 401 on",
	"CRD-005": "ambient credentials are the browser's",
	"CRD-007": "environment of the browser process",
	"CRD-008": "what a page can read of the machine",
	"TEN-002": "how browser contexts are created; loopback that reaches the proxy is refused as in WS-005",
	"TEN-005": "targets without a context; they meet the endpoint without run of TEN-003",
	"TEN-006": "cookies and storage of browser contexts",
}

func TestEveryCaseIsATestOrSaysWhyNot(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../policy/*_test.go")
	if err != nil || len(more) == 0 {
		t.Fatalf("no tests of package policy: %v", err)
	}
	var tests strings.Builder
	for _, file := range append(files, more...) {
		if file == "cases_test.go" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(b)
	}
	left := len(elsewhere)
	for prefix, numbers := range cases {
		for _, span := range strings.Fields(numbers) {
			var first, last int
			if n, _ := fmt.Sscanf(span, "%d-%d", &first, &last); n == 1 {
				last = first
			}
			for n := first; n <= last; n++ {
				id := fmt.Sprintf("%s-%03d", prefix, n)
				if _, ok := elsewhere[id]; ok {
					left--
				} else if !strings.Contains(tests.String(), id) {
					t.Errorf("%s is no test and has no reason", id)
				}
			}
		}
	}
	if left != 0 {
		t.Errorf("%d reasons are for cases that do not exist", left)
	}
}
