// Package demo is a small site on loopback that tries to get out: a page that
// renders late, hides an instruction, and makes three escape attempts, and the
// canaries that would hear of them. It lets a new user see the seal hold on
// their own machine.
//
// It proves nothing about the seal as a whole; it is an example one can watch.
package demo

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed page.html
var pageHTML string

// Metadata is where the redirect leads: the address at which clouds hand out
// credentials.
const Metadata = "http://169.254.169.254/latest/meta-data/"

// Site is the running demo. Close it.
type Site struct {
	addr   string
	server *http.Server
	canary net.Listener
	udp    net.PacketConn
	wg     sync.WaitGroup
	tcp    atomic.Int64
	stun   atomic.Int64
}

// Start serves the site and its canaries on free ports of 127.0.0.1.
func Start() (*Site, error) {
	s := &Site{}
	var err error
	if s.canary, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if s.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		s.canary.Close()
		return nil, fmt.Errorf("demo: %w", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.canary.Close()
		s.udp.Close()
		return nil, fmt.Errorf("demo: %w", err)
	}
	s.addr = ln.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.Handle("GET /metadata", http.RedirectHandler(Metadata, http.StatusFound))
	mux.HandleFunc("GET /wait", wait)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(func() { s.server.Serve(ln) })
	s.wg.Go(s.countConnections)
	s.wg.Go(s.countPackets)
	return s, nil
}

// Addr is the site's address and port, to be opened by an exact entry.
func (s *Site) Addr() string { return s.addr }

// URL is the page; RedirectURL leads to [Metadata].
func (s *Site) URL() string         { return "http://" + s.addr + "/" }
func (s *Site) RedirectURL() string { return "http://" + s.addr + "/metadata" }

// CanaryURL is what the page tries to fetch.
func (s *Site) CanaryURL() string { return "http://" + s.canary.Addr().String() + "/" }

// Connections and Packets are what the canaries heard: nothing, if sealed.
func (s *Site) Connections() int { return int(s.tcp.Load()) }
func (s *Site) Packets() int     { return int(s.stun.Load()) }

// Close ends everything and returns when it has.
func (s *Site) Close() error {
	err := errors.Join(s.server.Close(), s.canary.Close(), s.udp.Close())
	s.wg.Wait()
	return err
}

func (s *Site) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	page := strings.NewReplacer("{{CANARY}}", s.CanaryURL(), "{{STUN}}", s.udp.LocalAddr().String())
	page.WriteString(w, pageHTML)
}

// wait answers late, so that a page can spend real time.
func wait(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(200 * time.Millisecond):
	case <-r.Context().Done():
	}
	fmt.Fprint(w, "waited")
}

func (s *Site) countConnections() {
	for {
		c, err := s.canary.Accept()
		if err != nil {
			return
		}
		s.tcp.Add(1)
		c.Close()
	}
}

func (s *Site) countPackets() {
	buf := make([]byte, 2048)
	for {
		if _, _, err := s.udp.ReadFrom(buf); err != nil {
			return
		}
		s.stun.Add(1)
	}
}
