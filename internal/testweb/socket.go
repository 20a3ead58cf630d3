package testweb

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Opcodes of RFC 6455 §5.2 that the server uses.
const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xa
)

// socketLimit is the largest message that a client may send.
const socketLimit = 64 << 10

// socket is the server's side of a WebSocket. Fragmented messages are not
// joined: each frame counts as a message.
type socket struct {
	c  net.Conn
	r  *bufio.Reader
	mu sync.Mutex // one frame at a time
}

// upgrade performs the handshake of RFC 6455 §4.2.2.
func upgrade(w http.ResponseWriter, r *http.Request) (*socket, error) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if key == "" || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(w, "this is a WebSocket endpoint", http.StatusUpgradeRequired)
		return nil, errors.New("testweb: not a WebSocket handshake")
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "WebSocket needs HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return nil, fmt.Errorf("testweb: upgrade: %w", err)
	}
	c.SetDeadline(time.Time{})
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("testweb: upgrade: %w", err)
	}
	return &socket{c: c, r: rw.Reader}, nil
}

// send writes one unmasked frame.
func (s *socket) send(op byte, payload []byte) error {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.c.Write(append(b, payload...))
	return err
}

// receive reads one frame, which a client must have masked.
func (s *socket) receive() (op byte, payload []byte, err error) {
	var h [2]byte
	if _, err := io.ReadFull(s.r, h[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(h[1] & 0x7f)
	if n >= 126 {
		ext := make([]byte, 2<<(2*(n-126)))
		if _, err := io.ReadFull(s.r, ext); err != nil {
			return 0, nil, err
		}
		n = 0
		for _, b := range ext {
			n = n<<8 | uint64(b)
		}
	}
	if h[1]&0x80 == 0 || n > socketLimit {
		return 0, nil, errors.New("testweb: unmasked or oversized frame")
	}
	buf := make([]byte, 4+n)
	if _, err := io.ReadFull(s.r, buf); err != nil {
		return 0, nil, err
	}
	payload = buf[4:]
	for i := range payload {
		payload[i] ^= buf[i%4]
	}
	return h[0] & 0xf, payload, nil
}

// serveSocket greets, sends "tick 1", "tick 2" … and echoes what it is sent,
// until the client closes.
func serveSocket(w http.ResponseWriter, r *http.Request, p params) {
	s, err := upgrade(w, r)
	if err != nil {
		return
	}
	defer s.c.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.listen()
	}()
	s.tick(p.ms("ms", 100), gone)
	s.c.Close()
	<-gone
}

// tick sends until the connection fails or gone closes.
func (s *socket) tick(every time.Duration, gone <-chan struct{}) {
	if s.send(opText, []byte("hello")) != nil {
		return
	}
	t := time.NewTicker(max(every, time.Millisecond))
	defer t.Stop()
	for i := 1; ; i++ {
		select {
		case <-gone:
			return
		case <-t.C:
			if s.send(opText, fmt.Appendf(nil, "tick %d", i)) != nil {
				return
			}
		}
	}
}

// listen answers the client's frames until it closes.
func (s *socket) listen() {
	for {
		op, payload, err := s.receive()
		if err != nil {
			return
		}
		switch op {
		case opClose:
			s.send(opClose, payload)
			return
		case opPing:
			err = s.send(opPong, payload)
		case opText:
			err = s.send(opText, append([]byte("echo "), payload...))
		}
		if err != nil {
			return
		}
	}
}
