package egress

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net/http"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// maxResponseHead bounds the head of a response, in bytes. Chromium's own
// limit is 256 KiB.
const maxResponseHead = 256 << 10

// upgrade lets a tunnel without TLS begin if its first bytes are a WebSocket
// handshake (RFC 6455 section 4.1) with the host of the tunnel, and the server
// agrees to it. Anything else would be plain HTTP, in which the next request
// could name another host.
func (c *conn) upgrade(a *attempt, t *relay, deadline time.Time) error {
	h, err := readHead(c.br)
	if err != nil {
		if isBadHead(err) {
			return &policy.Refusal{Reason: ReasonServerName, What: "neither TLS nor a WebSocket handshake"}
		}
		return tunnelError(err)
	}
	switch {
	case h.method != "GET" || h.target[0] != '/' || !h.bodyless() ||
		!h.has("connection", "upgrade") || !h.has("upgrade", "websocket") ||
		h.get("sec-websocket-key") == "" || h.get("sec-websocket-version") != "13":
		return &policy.Refusal{Reason: ReasonServerName, What: "no WebSocket handshake"}
	case !sameAuthority(h.host, a.hp.host, a.hp.port, 80):
		return &policy.Refusal{Reason: ReasonServerName, What: "WebSocket handshake with another host"}
	}
	if err := t.send(appendHead(nil, h.method, h.target, h.fields)); err != nil {
		return err
	}
	// The response is read by way of the counters of an exchange, but goes
	// to the client as it is: the handshake is between the two.
	t.up.SetReadDeadline(deadline)
	var seen bytes.Buffer
	br := bufio.NewReader(io.TeeReader(io.LimitReader(t.up, maxResponseHead), &seen))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodGet})
	if err != nil {
		return &Error{Reason: ReasonConnection, What: "no answer to the WebSocket handshake", Err: err}
	}
	if err := t.receive(seen.Bytes()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		// The rest of what the server says may pass, and nothing more
		// of the client.
		h := half{t: t, dst: t.client, src: t.up, run: &t.run.received, own: &t.received}
		h.copy()
		return cmp.Or(t.ended(nil), io.EOF)
	}
	rest, err := c.br.Peek(c.br.Buffered())
	if err != nil {
		return err
	}
	return t.send(rest)
}
