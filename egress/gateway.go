package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// The fields by which a proxy tells its gateway on whose behalf it asks. They
// label the gateway's events and select nothing.
const (
	tenantHeader = "Bellglass-Tenant"
	runHeader    = "Bellglass-Run"
)

// Gateway is another egress proxy that makes the connections: this side
// applies parse, run, name, port and budget, and sends the name; that side
// applies its own rules, resolves, judges and dials. The link is TLS, with
// either side authenticated.
type Gateway struct {
	addr netip.AddrPort
	cfg  *tls.Config
}

// NewGateway returns a gateway at a fixed address. The configuration must hold
// a client certificate, the authorities that vouch for the gateway, and the
// name it is known by.
func NewGateway(addr netip.AddrPort, cfg *tls.Config) (*Gateway, error) {
	var problems []error
	if !addr.IsValid() || addr.Port() == 0 {
		problems = append(problems, errors.New("egress: gateway without address and port"))
	}
	switch {
	case cfg == nil:
		problems = append(problems, errors.New("egress: gateway without TLS"))
	case cfg.InsecureSkipVerify:
		problems = append(problems, errors.New("egress: gateway whose certificate is not verified"))
	case cfg.RootCAs == nil || cfg.ServerName == "":
		problems = append(problems, errors.New("egress: gateway without authorities or server name"))
	case len(cfg.Certificates) == 0 && cfg.GetClientCertificate == nil:
		problems = append(problems, errors.New("egress: gateway without client certificate"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	cfg = cfg.Clone()
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ClientSessionCache == nil { // each tunnel is a connection of its own
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return &Gateway{addr: addr, cfg: cfg}, nil
}

// Addr returns the gateway's address.
func (g *Gateway) Addr() netip.AddrPort { return g.addr }

// dial connects to the gateway itself.
func (g *Gateway) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, defaultDialTimeout)
	defer cancel()
	d := tls.Dialer{Config: g.cfg}
	c, err := d.DialContext(ctx, "tcp", g.addr.String())
	if err != nil {
		return nil, &Error{Reason: ReasonUpstream, What: "gateway not reached", Err: err}
	}
	return c, nil
}

// tunnel opens a tunnel to a host through the gateway, for a run.
func (g *Gateway) tunnel(ctx context.Context, run *Run, hp hostPort) (net.Conn, error) {
	c, err := g.dial(ctx)
	if err != nil {
		return nil, err
	}
	head := appendHead(nil, http.MethodConnect, hp.String(), append([]field{{"Host", hp.String()}}, run.identity()...))
	tunnel, resp, err := askTunnel(ctx, c, head)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = gatewayError(resp)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return tunnel, nil
}

// identity returns the fields that name a run to a gateway.
func (r *Run) identity() []field {
	c := r.config()
	return []field{{tenantHeader, fieldValue(c.Tenant)}, {runHeader, fieldValue(c.ID)}}
}

// fieldValue makes a name safe for a header field, and readable at the other
// end, whatever its characters.
func fieldValue(s string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(s))
}

// label overrides the tenant and run of an event by what a client that is
// trusted with that says.
func (a *attempt) label(h *head) {
	for name, to := range map[string]*string{tenantHeader: &a.ev.Tenant, runHeader: &a.ev.Run} {
		if s, err := base64.RawURLEncoding.DecodeString(h.get(strings.ToLower(name))); err == nil && len(s) > 0 {
			*to = string(s)
		}
	}
}

// askTunnel sends a CONNECT and reads the answer. Whatever follows it belongs
// to the connection that is returned.
func askTunnel(ctx context.Context, c net.Conn, head []byte) (net.Conn, *http.Response, error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	c.SetDeadline(time.Now().Add(defaultDNSTimeout + defaultDialTimeout + 5*time.Second)) // what the far side may take
	_, err := c.Write(head)
	var resp *http.Response
	br := bufio.NewReaderSize(io.LimitReader(c, maxResponseHead), 4<<10)
	if err == nil {
		resp, err = http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, upstreamError(err)
	}
	c.SetDeadline(time.Time{})
	if rest, _ := br.Peek(br.Buffered()); len(rest) > 0 && resp.StatusCode == http.StatusOK {
		// The peer speaks first, although TLS has the client do so.
		return nil, nil, &Error{Reason: ReasonConnection, What: "unexpected bytes in a new tunnel"}
	}
	return c, resp, nil
}

// gatewayError returns the reason that a gateway gave in its own words.
func gatewayError(resp *http.Response) error {
	reason := policy.Reason(resp.Header.Get(ReasonHeader))
	switch {
	case !isReason(string(reason)):
		return &Error{Reason: ReasonUpstream, What: "gateway answered " + strconv.Itoa(resp.StatusCode)}
	case IsRefusal(reason):
		return &policy.Refusal{Reason: reason, What: "by the gateway"}
	}
	return &Error{Reason: reason, What: "by the gateway"}
}

// isReason reports whether s has the form of a reason word.
func isReason(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}
