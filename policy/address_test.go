package policy

import (
	"net/netip"
	"testing"
)

// classified are addresses and their classes; ids in the first column.
var classified = []struct {
	id, addr string
	class    Class
	hard     bool
}{
	{"IP-013", "0.1.2.3", ClassThisNetwork, true},
	{"", "0.0.0.0", ClassThisNetwork, true},
	{"IP-014", "10.0.0.1", ClassPrivate, false},
	{"IP-015", "172.16.0.1", ClassPrivate, false},
	{"IP-016", "172.31.255.255", ClassPrivate, false},
	{"IP-017", "192.168.1.1", ClassPrivate, false},
	{"IP-018", "172.15.255.255", ClassPublic, false},
	{"", "172.32.0.0", ClassPublic, false},
	{"IP-020", "100.64.0.1", ClassShared, false},
	{"IP-021", "100.127.255.255", ClassShared, false},
	{"IP-022", "100.63.255.255", ClassPublic, false},
	{"IP-023", "100.128.0.0", ClassPublic, false},
	{"", "127.0.0.1", ClassLoopback, true},
	{"", "127.255.255.255", ClassLoopback, true},
	{"", "128.0.0.0", ClassPublic, false},
	{"IP-024", "169.254.169.254", ClassMetadata, true},
	{"IP-027", "169.254.169.253", ClassLinkLocal, true},
	{"", "169.254.170.2", ClassMetadata, true},
	{"", "169.254.170.23", ClassMetadata, true},
	{"IP-028", "169.254.42.42", ClassMetadata, true},
	{"", "169.254.0.23", ClassMetadata, true},
	{"IP-030", "100.100.100.200", ClassMetadata, true},
	{"IP-031", "168.63.129.16", ClassMetadata, true},
	{"", "168.63.129.17", ClassPublic, false},
	{"IP-032", "192.0.0.192", ClassMetadata, true},
	{"IP-033", "192.0.0.8", ClassProtocol, false},
	{"IP-034", "192.0.0.170", ClassProtocol, false},
	{"", "192.0.2.1", ClassDocumentation, false},
	{"IP-036", "198.51.100.1", ClassDocumentation, false},
	{"IP-037", "203.0.113.1", ClassDocumentation, false},
	{"", "192.31.196.1", ClassAS112, false},
	{"", "192.175.48.1", ClassAS112, false},
	{"", "192.52.193.1", ClassAMT, false},
	{"", "192.88.99.1", ClassRelay6to4, false},
	{"IP-039", "198.18.0.1", ClassBenchmarking, false},
	{"IP-040", "198.19.255.255", ClassBenchmarking, false},
	{"IP-041", "224.0.0.1", ClassMulticast, true},
	{"IP-042", "239.255.255.255", ClassMulticast, true},
	{"IP-043", "240.0.0.1", ClassReserved, true},
	{"IP-044", "255.255.255.255", ClassBroadcast, true},
	{"", "8.8.8.8", ClassPublic, false},
	{"IP-045", "::", ClassUnspecified, true},
	{"IP-046", "::1", ClassLoopback, true},
	{"", "::127.0.0.1", ClassCompatible, true},
	{"IP-050", "::ffff:169.254.169.254", ClassMapped, true},
	{"", "::ffff:8.8.8.8", ClassMapped, true},
	{"IP-055", "::ffff:0:a9fe:a9fe", ClassTranslated, true},
	{"IP-057", "64:ff9b::a9fe:a9fe", ClassNAT64, true},
	{"IP-058", "64:ff9b:1::7f00:1", ClassNAT64, true},
	{"IP-059", "64:ff9b:1:a00:0:100::", ClassNAT64, true},
	{"", "100::1", ClassDiscard, true},
	{"", "100:0:0:1::1", ClassDiscard, true},
	{"IP-060", "2002:7f00:1::", Class6to4, true},
	{"IP-061", "2002:a9fe:a9fe::", Class6to4, true},
	{"IP-062", "2001:0:4136:e378:8000:63bf:3fff:fdd2", ClassTeredo, true},
	{"", "2001:1::1", ClassProtocol, false},
	{"IP-063", "2001:2::1", ClassBenchmarking, false},
	{"", "2001:3::1", ClassAMT, false},
	{"", "2001:4:112::1", ClassAS112, false},
	{"IP-064", "2001:10::1", ClassORCHID, true},
	{"IP-065", "2001:20::1", ClassORCHID, true},
	{"IP-066", "2001:30::1", ClassORCHID, true},
	{"", "2001:1ff:ffff::1", ClassProtocol, false},
	{"", "2001:200::1", ClassPublic, false},
	{"IP-067", "2001:db8::1", ClassDocumentation, false},
	{"IP-068", "3fff::1", ClassDocumentation, false},
	{"", "3fff:1000::1", ClassPublic, false},
	{"IP-069", "5f00::1", ClassSegmentRoute, true},
	{"", "2620:4f:8000::1", ClassAS112, false},
	{"IP-073", "fc00::1", ClassUniqueLocal, false},
	{"IP-074", "fd00:ec2::254", ClassMetadata, true},
	{"IP-075", "fd00:ec2::23", ClassMetadata, true},
	{"", "fd20:ce::254", ClassMetadata, true},
	{"", "fd00:c1::a9fe:a9fe", ClassMetadata, true},
	{"IP-078", "fd00:42::42", ClassMetadata, true},
	{"IP-079", "fd00:a9fe:a9fe::1", ClassMetadata, true},
	{"IP-080", "fd00:100::100:200", ClassMetadata, true},
	{"", "fe80::1", ClassLinkLocal, true},
	{"", "fe80::a9fe:a9fe", ClassMetadata, true},
	{"", "fec0::1", ClassSiteLocal, false},
	{"IP-083", "ff02::1", ClassMulticast, true},
	{"IP-084", "4000::1", ClassReserved, true},
	{"IP-085", "200::1", ClassReserved, true},
	{"IP-086", "2606:4700:4700::1111", ClassPublic, false},
	{"IP-087", "2a00:1450:4001:80b::200e", ClassPublic, false},
	{"zone", "2606:4700::1%eth0", ClassZoned, true},
}

func TestClassify(t *testing.T) {
	for _, tt := range classified {
		got := Classify(netip.MustParseAddr(tt.addr))
		if got != tt.class || got.Hard() != tt.hard {
			t.Errorf("%s %s: got %s, hard %v; want %s, hard %v", tt.id, tt.addr, got, got.Hard(), tt.class, tt.hard)
		}
	}
	if got := Classify(netip.Addr{}); got != ClassInvalid {
		t.Errorf("zero address: got %s", got)
	}
}

// TestNoNameReachesWhatIsNotPublic asks for every address of the table as the
// answer to a name that is allowed in every way there is.
func TestNoNameReachesWhatIsNotPublic(t *testing.T) {
	r := mustCompile(t, Config{Mode: ModePublic, AllowInsecureHTTP: true, Allow: []string{".example.com"}})
	for _, tt := range classified {
		a := netip.MustParseAddr(tt.addr)
		got := reason(t, r.CheckAddr(Host{Name: "www.example.com"}, a, 443))
		want := ReasonAddress
		if tt.class == ClassPublic {
			want = ""
		}
		if got != want {
			t.Errorf("%s %s: got %q, want %q", tt.id, tt.addr, got, want)
		}
	}
}

// TestTablesAreCanonical keeps a typing error in a table from opening what it
// was meant to close.
func TestTablesAreCanonical(t *testing.T) {
	for _, table := range [][]block{blocks4, blocks6} {
		for i, row := range table {
			if row.prefix != row.prefix.Masked() {
				t.Errorf("%s has host bits", row.prefix)
			}
			for _, earlier := range table[:i] {
				if earlier.prefix.Bits() <= row.prefix.Bits() && earlier.prefix.Contains(row.prefix.Addr()) {
					t.Errorf("%s is hidden by %s before it", row.prefix, earlier.prefix)
				}
			}
		}
	}
}

func FuzzCheckAddr(f *testing.F) {
	for _, tt := range classified {
		f.Add(tt.addr)
	}
	r, err := Compile(Config{
		Mode: ModePublic, Allow: []string{"named.test", "10.1.2.3"},
		AllowedPrivateCIDRs: []string{"10.1.0.0/16", "100.64.0.0/10", "fc00::/7"},
		UnsafeAllow:         []string{"127.0.0.1:8080"},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return
		}
		class := Classify(a)
		public := r.CheckAddr(Host{Name: "public.test"}, a, 443) == nil
		named := r.CheckAddr(Host{Name: "named.test"}, a, 443) == nil
		switch {
		case public != (class == ClassPublic):
			t.Errorf("%s is %s, but a public name reaches it: %v", a, class, public)
		case named && class.Hard():
			t.Errorf("%s is %s, and a named host reaches it", a, class)
		case class == ClassPublic && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.Is4In6()):
			t.Errorf("%s is taken for public", a)
		case a.Is4() && Classify(netip.AddrFrom16(a.As16())) != ClassMapped:
			t.Errorf("mapped form of %s is no mapped form", a)
		}
		if r.CheckAddr(Host{Addr: a}, a, 8080) == nil && class.Hard() && s != "127.0.0.1" {
			t.Errorf("%s at 8080 is open", a)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	for _, s := range []string{"93.184.216.34", "2a00:1450:4001:80b::200e"} {
		a := netip.MustParseAddr(s)
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if Classify(a) != ClassPublic {
					b.Fatal("not public")
				}
			}
		})
	}
}
