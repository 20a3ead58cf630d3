package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/bellglass/bellglass/policy"
)

// Foreign is a forward proxy that somebody else runs, such as a company's. It
// serves as [Gate.Foreign]: it is asked for addresses that were judged here,
// never for names, so that it cannot be led elsewhere.
type Foreign struct {
	Addr netip.AddrPort // of the proxy
	TLS  *tls.Config    // for a proxy that is spoken to in TLS, else nil
	// Authorization is the value of the Proxy-Authorization field, or "".
	// It is seen by the proxy only.
	Authorization Secret
}

// Secret is a text that printing, logging and encoding do not show.
type Secret string

func (Secret) String() string               { return "(secret)" }
func (Secret) GoString() string             { return "(secret)" }
func (Secret) MarshalText() ([]byte, error) { return []byte("(secret)"), nil }

// Dial opens a tunnel to addr through the proxy. The error is a
// [*policy.Refusal] where the proxy says that it may not, else an [*Error].
func (f *Foreign) Dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	var d interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	} = new(net.Dialer)
	if f.TLS != nil {
		d = &tls.Dialer{Config: f.TLS}
	}
	c, err := d.DialContext(ctx, "tcp", f.Addr.String())
	if err != nil {
		return nil, &Error{Reason: ReasonUpstream, What: "upstream proxy not reached", Err: err}
	}
	fields := []field{{"Host", addr.String()}}
	if f.Authorization != "" {
		fields = append(fields, field{"Proxy-Authorization", string(f.Authorization)})
	}
	tunnel, resp, err := askTunnel(ctx, c, appendHead(nil, http.MethodConnect, addr.String(), fields))
	if err == nil {
		err = foreignError(resp.StatusCode)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return tunnel, nil
}

// foreignError tells what a foreign proxy means by its answer to a CONNECT.
func foreignError(status int) error {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusForbidden:
		return &policy.Refusal{Reason: policy.ReasonHost, What: "by the upstream proxy"}
	case http.StatusProxyAuthRequired:
		return &Error{Reason: ReasonUpstream, What: "upstream proxy wants other credentials"}
	}
	return &Error{Reason: ReasonConnection, What: "upstream proxy answered " + strconv.Itoa(status)}
}
