package egress

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/bellglass/bellglass/policy"
)

// Limits of a message head. Chromium's request heads stay below 4 KiB unless a
// site has filled its cookie jar.
const (
	maxHeadSize = 16 << 10 // request line and header section, in bytes
	maxFields   = 128
)

// badHead is why a message head was refused. Status is the answer it deserves.
type badHead struct {
	status int
	reason policy.Reason // if empty, ReasonMalformed
	what   string
}

func (e *badHead) Error() string { return "egress: bad request head: " + e.what }

func bad(what string) error { return &badHead{status: 400, what: what} }

// field is one header field as it was sent.
type field struct{ name, value string }

// is reports whether the field has the given name, which must be lower case.
func (f field) is(name string) bool {
	return len(f.name) == len(name) && strings.ToLower(f.name) == name
}

// head is the head of an HTTP/1.1 request, with the facts that decide about
// framing already drawn from it.
type head struct {
	method, target string
	host           string // value of the one Host field
	fields         []field
	length         int64 // Content-Length, or -1
	chunked        bool
}

// bodyless reports whether no body follows the head.
func (h *head) bodyless() bool { return !h.chunked && h.length <= 0 }

// get returns the value of the first field of a name in lower case.
func (h *head) get(name string) string {
	for _, f := range h.fields {
		if f.is(name) {
			return f.value
		}
	}
	return ""
}

// has reports whether a comma-separated list field holds a token; both names
// in lower case.
func (h *head) has(name, token string) bool {
	for _, f := range h.fields {
		if !f.is(name) {
			continue
		}
		for t := range strings.SplitSeq(f.value, ",") {
			if strings.EqualFold(strings.Trim(t, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// readHead reads a request head, whose end it must find within the buffer of
// br, and leaves br at the byte after it. It is strict where RFC 9112 lets a
// recipient choose: lines end in CRLF, nothing is folded, nothing is guessed.
// The error is a *badHead, or what reading returned.
func readHead(br *bufio.Reader) (*head, error) {
	h := &head{length: -1}
	scanned := 0 // bytes known to hold whole lines and a part of the next
	line := 0    // start of the current line
	for {
		if br.Buffered() == scanned {
			if scanned >= maxHeadSize {
				return nil, &badHead{status: 431, what: "head larger than 16 KiB"}
			}
			if _, err := br.Peek(scanned + 1); err != nil {
				return nil, err
			}
		}
		buf, err := br.Peek(min(br.Buffered(), maxHeadSize))
		if err != nil {
			return nil, err
		}
		for {
			i := bytes.IndexByte(buf[scanned:], '\n')
			if i < 0 {
				scanned = len(buf)
				break
			}
			end := scanned + i
			if end == line || buf[end-1] != '\r' {
				return nil, bad("line feed without carriage return")
			}
			scanned = end + 1
			switch {
			case line == 0: // what speaks another protocol need not go on
				if err := h.parseRequestLine(string(buf[:end-1])); err != nil {
					return nil, err
				}
			case end-1 == line:
				return h, h.parseFields(br, buf[:scanned])
			}
			line = scanned
		}
	}
}

// parseFields parses the rest of a head, which ends in an empty line, and
// consumes the whole.
func (h *head) parseFields(br *bufio.Reader, raw []byte) error {
	text := string(raw[:len(raw)-2])
	_, rest, _ := strings.Cut(text, "\r\n")
	h.fields = make([]field, 0, strings.Count(rest, "\n"))
	for rest != "" {
		var l string
		l, rest, _ = strings.Cut(rest, "\r\n")
		f, err := parseField(l)
		if err != nil {
			return err
		}
		if len(h.fields) == maxFields {
			return &badHead{status: 431, what: "more than 128 header fields"}
		}
		h.fields = append(h.fields, f)
	}
	if err := h.checkFraming(); err != nil {
		return err
	}
	_, err := br.Discard(len(raw))
	return err
}

func (h *head) parseRequestLine(s string) error {
	method, rest, ok := strings.Cut(s, " ")
	if !ok || !isToken(method) {
		return bad("bad request line")
	}
	target, version, ok := strings.Cut(rest, " ")
	if !ok || target == "" {
		return bad("bad request line")
	}
	for i := range len(target) {
		if target[i] <= ' ' || target[i] >= 0x7f {
			return bad("bad character in the request target")
		}
	}
	if version != "HTTP/1.1" {
		if strings.HasPrefix(version, "HTTP/") {
			return &badHead{status: 505, what: "not HTTP/1.1"}
		}
		return bad("bad request line")
	}
	h.method, h.target = method, target
	return nil
}

// parseField parses one field line. RFC 9112 section 5.1 forbids white space
// before the colon, section 5.2 lets folded lines be refused.
func parseField(s string) (field, error) {
	name, value, ok := strings.Cut(s, ":")
	if !ok || !isToken(name) {
		return field{}, bad("bad header field")
	}
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return field{}, bad("control character in a header field")
		}
	}
	return field{name, value}, nil
}

// checkFraming finds Host, Content-Length and Transfer-Encoding and refuses
// whatever two recipients could read differently (RFC 9112 sections 3.2 and 6).
func (h *head) checkFraming() error {
	hosts, lengths, codings := 0, 0, 0
	for _, f := range h.fields {
		switch {
		case f.is("host"):
			hosts++
			h.host = f.value
		case f.is("content-length"):
			lengths++
			n, err := strconv.ParseUint(f.value, 10, 63)
			if err != nil {
				return bad("bad Content-Length")
			}
			h.length = int64(n)
		case f.is("transfer-encoding"):
			codings++
			if !strings.EqualFold(f.value, "chunked") {
				return &badHead{status: 501, what: "transfer coding other than chunked"}
			}
			h.chunked = true
		}
	}
	switch {
	case hosts != 1:
		return bad("not exactly one Host")
	case lengths > 1 || codings > 1 || lengths+codings > 1:
		return bad("ambiguous body length")
	case h.has("connection", "host") || h.has("connection", "content-length") || h.has("connection", "transfer-encoding"):
		return bad("Connection names a field that frames the message")
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// isBadHead reports whether err is about the bytes of a head, rather than about
// reading them.
func isBadHead(err error) bool {
	var b *badHead
	return errors.As(err, &b)
}
