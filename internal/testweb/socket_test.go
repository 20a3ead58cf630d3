package testweb

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// testSocket is the client's side of a WebSocket.
type testSocket struct {
	c net.Conn
	r *bufio.Reader
}

func dialSocket(t *testing.T, w *Web, path string) *testSocket {
	t.Helper()
	c, err := w.Dial(t.Context(), netip.AddrPortFrom(w.Addr("shop.test"), 80))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: shop.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path)
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The example of RFC 6455 §1.3.
	if got := res.Header.Get("Sec-WebSocket-Accept"); res.StatusCode != 101 || got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("handshake: status %d, accept %q", res.StatusCode, got)
	}
	return &testSocket{c, r}
}

// write sends one masked frame of less than 64 KiB.
func (s *testSocket) write(op byte, text string) {
	b := []byte{0x80 | op}
	if len(text) < 126 {
		b = append(b, 0x80|byte(len(text)))
	} else {
		b = append(b, 0x80|126, byte(len(text)>>8), byte(len(text)))
	}
	mask := [4]byte{1, 2, 3, 4}
	b = append(b, mask[:]...)
	for i := range len(text) {
		b = append(b, text[i]^mask[i%4])
	}
	s.c.Write(b)
}

func (s *testSocket) read(t *testing.T) string {
	t.Helper()
	op, text, err := s.frame()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%s", op, text)
}

func (s *testSocket) tryRead() error {
	_, _, err := s.frame()
	return err
}

func (s *testSocket) frame() (op byte, text []byte, err error) {
	h := make([]byte, 2)
	if _, err := io.ReadFull(s.r, h); err != nil {
		return 0, nil, err
	}
	n := int(h[1])
	if n == 126 {
		ext := make([]byte, 2)
		if _, err := io.ReadFull(s.r, ext); err != nil {
			return 0, nil, err
		}
		n = int(ext[0])<<8 | int(ext[1])
	}
	text = make([]byte, n)
	_, err = io.ReadFull(s.r, text)
	return h[0] & 0xf, text, err
}
