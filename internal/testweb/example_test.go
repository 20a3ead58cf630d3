package testweb_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"

	"github.com/bellglass/bellglass/internal/testweb"
)

// A client that is not sealed reads a page of the small internet. Sealed code
// takes Resolve and Dial as the hooks of its gate instead.
func Example() {
	web, err := testweb.Start(testweb.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer web.Close()
	web.Handle("shop.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "welcome")
	}))
	transport := &http.Transport{
		DialContext:     web.DialContext,
		TLSClientConfig: &tls.Config{RootCAs: web.CAPool()},
	}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get("https://shop.test/door?open=1")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	fmt.Printf("%s\n", body)
	for _, hit := range web.Hits("shop.test") {
		fmt.Println(hit)
	}
	// Output:
	// welcome
	// GET https://shop.test:443/door?open=1
}
