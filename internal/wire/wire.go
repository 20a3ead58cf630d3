// Package wire says in a few words what the first bytes of a connection or a
// packet are, so that whoever finds a leak can name it.
//
// It describes for people; nothing may be decided on its words alone. It knows
// only the protocols that a browser can be made to speak.
package wire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Describe names what b, the first bytes that a client sent, looks like:
//
//	nothing
//	HTTP GET example.test/path
//	TLS ClientHello for example.test
//	STUN binding request
//	DNS query for example.test. A
//	QUIC initial
//	12 bytes: 68656c6c6f…
func Describe(b []byte) string {
	if len(b) == 0 {
		return "nothing"
	}
	for _, try := range []func([]byte) string{describeTLS, describeSTUN, describeHTTP, describeDNS, describeQUIC} {
		if s := try(b); s != "" {
			return s
		}
	}
	if len(b) > 16 {
		return fmt.Sprintf("%d bytes: %x…", len(b), b[:16])
	}
	return fmt.Sprintf("%d bytes: %x", len(b), b)
}

func describeHTTP(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	method, rest, ok := strings.Cut(string(line), " ")
	target, proto, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || !strings.HasPrefix(proto, "HTTP/") {
		return ""
	}
	if r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b))); err == nil && strings.HasPrefix(target, "/") {
		target = r.Host + target
	}
	return "HTTP " + method + " " + target
}

func describeTLS(b []byte) string {
	// A TLS record (RFC 8446 §5.1) of type handshake with a ClientHello.
	if len(b) < 6 || b[0] != 22 || b[1] != 3 || b[5] != 1 {
		return ""
	}
	if name := ServerName(b); name != "" {
		return "TLS ClientHello for " + name
	}
	return "TLS ClientHello"
}

// ServerName returns the name that a TLS ClientHello asks for, "" when there
// is none or b is not a whole ClientHello.
func ServerName(b []byte) string {
	var name string
	tls.Server(&reading{r: bytes.NewReader(b)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name = h.ServerName
			return nil, errEnough
		},
	}).Handshake()
	return name
}

var errEnough = errors.New("wire: seen enough")

// reading is a connection on which only the client speaks.
type reading struct {
	net.Conn
	r io.Reader
}

func (c *reading) Read(b []byte) (int, error)       { return c.r.Read(b) }
func (c *reading) Write(b []byte) (int, error)      { return len(b), nil }
func (c *reading) Close() error                     { return nil }
func (c *reading) SetDeadline(time.Time) error      { return nil }
func (c *reading) SetWriteDeadline(time.Time) error { return nil }

// stunCookie is the magic cookie of RFC 8489 §5.
const stunCookie = 0x2112a442

func describeSTUN(b []byte) string {
	if len(b) < 20 || b[0]&0xc0 != 0 || binary.BigEndian.Uint32(b[4:]) != stunCookie {
		return ""
	}
	kind := binary.BigEndian.Uint16(b)
	method := map[uint16]string{1: "STUN binding", 3: "TURN allocate", 4: "TURN refresh", 8: "TURN create permission"}[kind&^0x110]
	if method == "" {
		method = fmt.Sprintf("STUN method %#x", kind&^0x110)
	}
	class := [...]string{"request", "indication", "success", "error"}[kind>>4&1|kind>>7&2]
	return method + " " + class
}

// AnswerSTUN returns the success response to a STUN binding request that came
// from a client's address, or nil when b is not one.
func AnswerSTUN(b []byte, from netip.AddrPort) []byte {
	if describeSTUN(b) != "STUN binding request" {
		return nil
	}
	// Header: success, length, and the cookie and transaction of the
	// request. Then XOR-MAPPED-ADDRESS (RFC 8489 §14.2).
	addr := from.Addr().Unmap()
	ip, family := addr.AsSlice(), byte(1)
	if addr.Is6() {
		family = 2
	}
	for i := range ip {
		ip[i] ^= b[4+i]
	}
	out := []byte{0x01, 0x01, 0x00, byte(8 + len(ip))}
	out = append(out, b[4:20]...)
	out = append(out, 0x00, 0x20, 0x00, byte(4+len(ip)), 0x00, family)
	out = binary.BigEndian.AppendUint16(out, from.Port()^(stunCookie>>16))
	return append(out, ip...)
}

func describeDNS(b []byte) string {
	var p dnsmessage.Parser
	h, err := p.Start(b)
	if err != nil || h.OpCode != 0 || h.RCode != 0 {
		return ""
	}
	if q, err := p.Question(); err == nil && q.Class&0x7fff == dnsmessage.ClassINET {
		kind := "query for"
		if h.Response {
			kind = "response about"
		}
		return fmt.Sprintf("DNS %s %s %s", kind, q.Name, strings.TrimPrefix(q.Type.String(), "Type"))
	}
	// Multicast DNS announces without having been asked (RFC 6762 §8.3).
	if p.SkipAllQuestions() == nil {
		if a, err := p.AnswerHeader(); err == nil && h.Response {
			return fmt.Sprintf("DNS announcement of %s %s", a.Name, strings.TrimPrefix(a.Type.String(), "Type"))
		}
	}
	return ""
}

func describeQUIC(b []byte) string {
	// A long header (RFC 9000 §17.2); initial packets are padded to 1,200
	// bytes (§14.1).
	if len(b) >= 1200 && b[0]&0xf0 == 0xc0 && binary.BigEndian.Uint32(b[1:]) != 0 {
		return "QUIC initial"
	}
	return ""
}
