package egress

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// dropped are the fields, in lower case, that are not passed on in either
// direction: those of one connection (RFC 9110 section 7.6.1), those that
// steer proxies, and those that tell about the client's side of one. Those with
// a prefix of [isDropped] are dropped too.
var dropped = map[string]bool{
	"connection":             true,
	"keep-alive":             true,
	"te":                     true,
	"trailer":                true,
	"transfer-encoding":      true,
	"upgrade":                true,
	"http2-settings":         true,
	"via":                    true,
	"forwarded":              true,
	"x-real-ip":              true,
	"x-upstream-https-proxy": true,
}

func isDropped(lower string) bool {
	return dropped[lower] || strings.HasPrefix(lower, "proxy-") || strings.HasPrefix(lower, "x-forwarded-") ||
		strings.HasPrefix(lower, "bellglass-")
}

// cleanRequest returns the fields of a request as the origin server may see
// them: those of the client in its order and spelling, without what is meant
// for this proxy, and with Host and framing written anew.
func cleanRequest(h *head, hp hostPort) []field {
	out := make([]field, 0, len(h.fields)+1)
	host := hp.host.String()
	if hp.port != 80 {
		host = hp.String()
	}
	out = append(out, field{"Host", host})
	for _, f := range h.fields {
		name := strings.ToLower(f.name)
		switch {
		case name == "host" || name == "content-length" || name == "expect":
		case isDropped(name) || h.has("connection", name):
		default:
			out = append(out, f)
		}
	}
	switch {
	case h.chunked:
		out = append(out, field{"Transfer-Encoding", "chunked"})
	case h.length >= 0:
		out = append(out, field{"Content-Length", strconv.FormatInt(h.length, 10)})
	}
	return out
}

// appendHead appends the head of a request.
func appendHead(b []byte, method, target string, fields []field) []byte {
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, target...)
	b = append(b, " HTTP/1.1\r\n"...)
	for _, f := range fields {
		b = append(b, f.name...)
		b = append(b, ": "...)
		b = append(b, f.value...)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}

// cleanResponse removes from a response's fields what is not for the client,
// and the framing, and returns them.
func cleanResponse(fields http.Header) http.Header {
	for _, v := range fields["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			delete(fields, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
	for name := range fields {
		if lower := strings.ToLower(name); isDropped(lower) || lower == "content-length" {
			delete(fields, name)
		}
	}
	return fields
}

// responseHead writes the head of a response anew. What a server wrote for a
// reason phrase is not repeated.
func responseHead(status int, fields http.Header) []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 ")
	b.WriteString(strconv.Itoa(status))
	b.WriteByte(' ')
	b.WriteString(http.StatusText(status))
	b.WriteString("\r\n")
	fields.Write(&b) // to a buffer: no error; line ends in values become spaces
	b.WriteString("\r\n")
	return b.Bytes()
}
