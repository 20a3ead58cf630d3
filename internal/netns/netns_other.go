//go:build !linux

package netns

import (
	"net"
	"net/netip"
	"os"
)

// Enter reports that there is no lab.
func Enter(Options) (lab *Lab, code int, done bool, err error) { return nil, 0, false, ErrSystem }

// Lab is the lab that this process is in: on this system, none.
type Lab struct{}

// IPv6 reports whether the lab speaks IPv6.
func (l *Lab) IPv6() bool { return false }

// Listen opens a TCP listener in the far namespace.
func (l *Lab) Listen(network, address string) (net.Listener, error) { return nil, ErrSystem }

// ListenPacket opens a UDP socket in the far namespace.
func (l *Lab) ListenPacket(network, address string) (*PacketConn, error) { return nil, ErrSystem }

// Sniff starts to record what arrives at the far end of the link.
func (l *Lab) Sniff() (*Sniffer, error) { return nil, ErrSystem }

// SniffLoopback starts to record what is sent on loopback.
func (l *Lab) SniffLoopback() (*Sniffer, error) { return nil, ErrSystem }

// Start runs this program again in the near namespace.
func (l *Lab) Start(args, env []string) (*os.File, error) { return nil, ErrSystem }

// PacketConn is a UDP socket of the far namespace.
type PacketConn struct{}

// ReadPacket reads one packet, and says from where to where it was sent.
func (p *PacketConn) ReadPacket(b []byte) (n int, from, to netip.AddrPort, err error) {
	return 0, from, to, ErrSystem
}

// WritePacket sends one packet that appears to come from an address.
func (p *PacketConn) WritePacket(b []byte, from, to netip.AddrPort) error { return ErrSystem }

// Close closes the socket.
func (p *PacketConn) Close() error { return ErrSystem }

// Sniffer records packets.
type Sniffer struct{}

// Packets returns what was sent since the recording began.
func (s *Sniffer) Packets() []Packet { return nil }

// Dropped returns how many packets were lost because the sniffer was too slow.
func (s *Sniffer) Dropped() int { return 0 }

// Close ends the recording.
func (s *Sniffer) Close() error { return ErrSystem }
