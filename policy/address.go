package policy

import (
	"net/netip"
)

// Class is the kind of an address, in one word. It may be told to anyone who
// named the address, or logged; for a resolved address it is for logs only.
type Class string

// ClassPublic is the class of the addresses that may be reached without an
// operator's word. All others are refused by default.
const ClassPublic Class = "public"

// The classes of addresses that are not public.
const (
	ClassInvalid       Class = "invalid"         // the zero Addr
	ClassZoned         Class = "zoned"           // any address with a zone
	ClassThisNetwork   Class = "this-network"    // 0.0.0.0 reaches loopback on Linux
	ClassLoopback      Class = "loopback"        //
	ClassUnspecified   Class = "unspecified"     // ::
	ClassLinkLocal     Class = "link-local"      //
	ClassMetadata      Class = "metadata"        // cloud instance metadata and the like
	ClassPrivate       Class = "private"         // RFC 1918
	ClassShared        Class = "shared"          // carrier-grade NAT, RFC 6598
	ClassUniqueLocal   Class = "unique-local"    // RFC 4193
	ClassSiteLocal     Class = "site-local"      // RFC 3879, deprecated
	ClassProtocol      Class = "ietf-protocol"   // IETF protocol assignments
	ClassDocumentation Class = "documentation"   //
	ClassBenchmarking  Class = "benchmarking"    //
	ClassAS112         Class = "as112"           // reverse DNS of private addresses
	ClassAMT           Class = "amt"             // multicast relays, RFC 7450
	ClassRelay6to4     Class = "6to4-relay"      // RFC 7526, deprecated
	ClassMulticast     Class = "multicast"       //
	ClassBroadcast     Class = "broadcast"       //
	ClassReserved      Class = "reserved"        // 240/4, and IPv6 that IANA has not given out
	ClassMapped        Class = "ipv4-mapped"     // this and the next six carry an IPv4 address
	ClassCompatible    Class = "ipv4-compatible" //
	ClassTranslated    Class = "ipv4-translated" // RFC 2765
	ClassNAT64         Class = "nat64"           // RFC 6052, RFC 8215
	ClassTeredo        Class = "teredo"          // RFC 4380
	Class6to4          Class = "6to4"            // RFC 3056
	ClassDiscard       Class = "discard"         // RFC 6666, RFC 9780
	ClassSegmentRoute  Class = "segment-routing" // RFC 9602
	ClassORCHID        Class = "orchid"          // RFC 4843, RFC 7343, RFC 9374
	ClassOwnInterface  Class = "own-interface"   // an address of this machine; never of Classify
)

// Hard reports whether no configuration opens addresses of this class. The one
// exception is loopback, by an exact literal and port in Config.UnsafeAllow.
func (c Class) Hard() bool {
	switch c {
	case ClassPublic, ClassPrivate, ClassShared, ClassUniqueLocal, ClassSiteLocal,
		ClassProtocol, ClassDocumentation, ClassBenchmarking, ClassAS112, ClassAMT, ClassRelay6to4:
		return false
	}
	return true
}

type block struct {
	prefix netip.Prefix
	class  Class
}

func b(prefix string, class Class) block {
	return block{netip.MustParsePrefix(prefix), class}
}

// The tables hold the IANA special-purpose address registries
// (iana-ipv4-special-registry and iana-ipv6-special-registry, IPv6 as of
// 2025-10-09), the multicast and reserved blocks, and addresses at which cloud
// providers serve credentials or control planes. The first matching row
// decides: narrower blocks stand first.
var (
	blocks4 = []block{
		b("169.254.169.254/32", ClassMetadata), // nearly every provider
		b("169.254.170.2/32", ClassMetadata),   // AWS ECS task credentials
		b("169.254.170.23/32", ClassMetadata),  // AWS EKS pod identity
		b("169.254.42.42/32", ClassMetadata),   // Scaleway
		b("169.254.0.23/32", ClassMetadata),    // Tencent
		b("100.100.100.200/32", ClassMetadata), // Alibaba
		b("168.63.129.16/32", ClassMetadata),   // Azure WireServer, looks public
		b("192.0.0.192/32", ClassMetadata),     // Oracle Cloud Classic
		b("0.0.0.0/8", ClassThisNetwork),       // RFC 791
		b("10.0.0.0/8", ClassPrivate),
		b("100.64.0.0/10", ClassShared),
		b("127.0.0.0/8", ClassLoopback),     // RFC 1122
		b("169.254.0.0/16", ClassLinkLocal), // RFC 3927
		b("172.16.0.0/12", ClassPrivate),
		b("192.0.0.0/24", ClassProtocol),         // RFC 6890
		b("192.0.2.0/24", ClassDocumentation),    // RFC 5737
		b("192.31.196.0/24", ClassAS112),         // RFC 7535
		b("192.52.193.0/24", ClassAMT),           // RFC 7450
		b("192.88.99.0/24", ClassRelay6to4),      // RFC 7526
		b("192.168.0.0/16", ClassPrivate),        //
		b("192.175.48.0/24", ClassAS112),         // RFC 7534
		b("198.18.0.0/15", ClassBenchmarking),    // RFC 2544
		b("198.51.100.0/24", ClassDocumentation), // RFC 5737
		b("203.0.113.0/24", ClassDocumentation),  // RFC 5737
		b("224.0.0.0/4", ClassMulticast),         // RFC 5771
		b("255.255.255.255/32", ClassBroadcast),  // RFC 919
		b("240.0.0.0/4", ClassReserved),          // RFC 1112
	}
	blocks6 = []block{
		b("::/128", ClassUnspecified),
		b("::1/128", ClassLoopback),
		b("::ffff:0:0/96", ClassMapped),            // RFC 4291
		b("::ffff:0:0:0/96", ClassTranslated),      // RFC 2765
		b("::/96", ClassCompatible),                // RFC 4291, deprecated
		b("64:ff9b::/96", ClassNAT64),              // RFC 6052
		b("64:ff9b:1::/48", ClassNAT64),            // RFC 8215
		b("100::/64", ClassDiscard),                // RFC 6666
		b("100:0:0:1::/64", ClassDiscard),          // RFC 9780
		b("2001::/32", ClassTeredo),                // RFC 4380
		b("2001:2::/48", ClassBenchmarking),        // RFC 5180
		b("2001:3::/32", ClassAMT),                 // RFC 7450
		b("2001:4:112::/48", ClassAS112),           // RFC 7535
		b("2001:10::/28", ClassORCHID),             // RFC 4843, deprecated
		b("2001:20::/28", ClassORCHID),             // RFC 7343
		b("2001:30::/28", ClassORCHID),             // RFC 9374
		b("2001::/23", ClassProtocol),              // RFC 2928
		b("2001:db8::/32", ClassDocumentation),     // RFC 3849
		b("2002::/16", Class6to4),                  // RFC 3056
		b("2620:4f:8000::/48", ClassAS112),         // RFC 7534
		b("3fff::/20", ClassDocumentation),         // RFC 9637
		b("5f00::/16", ClassSegmentRoute),          // RFC 9602
		b("fd00:ec2::/32", ClassMetadata),          // AWS: metadata, DNS, time, EKS pod identity
		b("fd20:ce::254/128", ClassMetadata),       // Google
		b("fd00:c1::a9fe:a9fe/128", ClassMetadata), // Oracle
		b("fd00:42::42/128", ClassMetadata),        // Scaleway
		b("fd00:a9fe:a9fe::1/128", ClassMetadata),  // Akamai (Linode)
		b("fd00:100::100:200/128", ClassMetadata),  // Alibaba
		b("fe80::a9fe:a9fe/128", ClassMetadata),    // OpenStack
		b("fc00::/7", ClassUniqueLocal),
		b("fe80::/10", ClassLinkLocal), // RFC 4291
		b("fec0::/10", ClassSiteLocal),
		b("ff00::/8", ClassMulticast), // RFC 4291
		b("2000::/3", ClassPublic),    // the only block IANA gives out
		b("::/0", ClassReserved),
	}
)

// Classify returns the class of an address. An IPv6 address that carries an
// IPv4 address is judged by its outer form, which is never public: no web site
// is reached that way, and what is inside could be anything.
func Classify(a netip.Addr) Class {
	switch {
	case !a.IsValid():
		return ClassInvalid
	case a.Zone() != "":
		return ClassZoned
	case a.Is4In6():
		return ClassMapped
	case a.Is4():
		return lookup(blocks4, a)
	}
	return lookup(blocks6, a)
}

func lookup(table []block, a netip.Addr) Class {
	for i := range table {
		if table[i].prefix.Contains(a) {
			return table[i].class
		}
	}
	return ClassPublic
}
