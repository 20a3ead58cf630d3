package egress

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/bellglass/bellglass/policy"
)

// maxHelloSize bounds the TLS records that hold a ClientHello, in bytes.
// Chromium's, with a post-quantum key share, takes about 2 KiB.
const maxHelloSize = 16 << 10

// The parts of TLS (RFC 8446 sections 4 and 5, RFC 6066 section 3) that are
// read here.
const (
	recordHandshake  = 22
	typeClientHello  = 1
	extServerName    = 0
	nameTypeHost     = 0
	recordHeaderSize = 5
	maxRecordSize    = 1 << 14
)

var (
	errNotHello  = errors.New("egress: not a TLS ClientHello")
	errMoreHello = errors.New("egress: ClientHello incomplete")
)

// hello gathers the ClientHello at the start of a connection.
type hello struct {
	off int    // how many bytes of whole records were taken
	msg []byte // their content: the start of the handshake message
}

// scan returns the server name in the ClientHello that starts b, or "" if it
// has none. The message may be spread over several records. While b may still
// grow into a ClientHello the error is errMoreHello, and scan wants to be
// called again with more after the same bytes; otherwise it is errNotHello.
// What follows the last record of the ClientHello is not looked at.
func (h *hello) scan(b []byte) (serverName string, err error) {
	for {
		rest := b[h.off:]
		if len(rest) > 0 && rest[0] != recordHandshake || len(rest) > 1 && rest[1] != 3 {
			return "", errNotHello
		}
		if len(rest) < recordHeaderSize {
			return "", errMoreHello
		}
		n := int(binary.BigEndian.Uint16(rest[3:]))
		if n == 0 || n > maxRecordSize || h.off+recordHeaderSize+n > maxHelloSize {
			return "", errNotHello
		}
		if len(rest) < recordHeaderSize+n {
			return "", errMoreHello
		}
		h.msg = append(h.msg, rest[recordHeaderSize:recordHeaderSize+n]...)
		h.off += recordHeaderSize + n
		if h.msg[0] != typeClientHello {
			return "", errNotHello
		}
		if len(h.msg) < 4 {
			continue
		}
		need := 4 + int(h.msg[1])<<16 + int(h.msg[2])<<8 + int(h.msg[3])
		switch {
		case need > maxHelloSize || len(h.msg) > need: // nothing shares the record
			return "", errNotHello
		case len(h.msg) == need:
			return parseHello(h.msg[4:])
		}
	}
}

// parseHello returns the server name in the body of a ClientHello.
func parseHello(msg []byte) (serverName string, err error) {
	p := &cursor{b: msg}
	p.take(2 + 32)   // legacy_version, random
	p.vector8(0, 32) // legacy_session_id
	suites := p.vector16()
	p.vector8(1, 255) // legacy_compression_methods
	if p.failed || len(suites) == 0 || len(suites)%2 != 0 {
		return "", errNotHello
	}
	if len(p.b) == 0 {
		return "", nil // no extensions: TLS 1.2 allows that
	}
	extensions := &cursor{b: p.vector16()}
	if p.failed || len(p.b) != 0 {
		return "", errNotHello
	}
	seen := false
	for len(extensions.b) > 0 {
		kind := extensions.uint16()
		body := extensions.vector16()
		if extensions.failed {
			return "", errNotHello
		}
		if kind != extServerName {
			continue
		}
		if seen { // RFC 8446 section 4.2: at most one of each type
			return "", errNotHello
		}
		seen = true
		if serverName, err = parseServerName(body); err != nil {
			return "", err
		}
	}
	return serverName, nil
}

// parseServerName returns the host name in a server_name extension, which must
// hold exactly that.
func parseServerName(b []byte) (string, error) {
	p := &cursor{b: b}
	list := &cursor{b: p.vector16()}
	kind := list.uint8()
	name := list.vector16()
	if p.failed || list.failed || len(p.b) != 0 || len(list.b) != 0 || kind != nameTypeHost || len(name) == 0 {
		return "", errNotHello
	}
	return string(name), nil
}

// checkServerName says whether a tunnel to host may carry TLS for serverName.
// RFC 6066 section 3 allows neither literal addresses nor a trailing dot in
// it.
func checkServerName(host policy.Host, serverName string) error {
	what := ""
	switch {
	case host.Name == "" && serverName != "":
		what = "server name in TLS to an address"
	case host.Name != "" && serverName == "":
		what = "TLS without server name"
	case host.Name != "" && strings.ToLower(serverName) != host.Name:
		what = "TLS for another server name"
	default:
		return nil
	}
	return &policy.Refusal{Reason: ReasonServerName, What: what}
}

// cursor reads big-endian fields off the front of b. After a short read it
// has failed and yields zeros.
type cursor struct {
	b      []byte
	failed bool
}

func (c *cursor) take(n int) []byte {
	if c.failed || len(c.b) < n {
		c.failed, c.b = true, nil
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) uint8() int {
	if b := c.take(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (c *cursor) uint16() int {
	if b := c.take(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) vector8(least, most int) []byte {
	n := c.uint8()
	if n < least || n > most {
		c.failed = true
	}
	return c.take(n)
}

func (c *cursor) vector16() []byte { return c.take(c.uint16()) }
