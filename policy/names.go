package policy

import "strings"

// nameRule says how a name is treated before any DNS query.
type nameRule int

const (
	nameOrdinary nameRule = iota
	nameSoft              // refused unless an entry names it
	nameHard              // refused whatever the entries say
)

// hardNames never reach a resolver: what they mean is local to the machine or
// the network it stands in, whatever an answer might say.
var hardNames = map[string]bool{
	"localhost":                  true, // RFC 6761; its subdomains are in hardSuffixes
	"ip6-localhost":              true, // /etc/hosts of Debian
	"ip6-loopback":               true,
	"localdomain":                true,
	"metadata":                   true, // Google
	"metadata.goog":              true,
	"metadata.google.internal":   true,
	"instance-data":              true, // AWS
	"instance-data.ec2.internal": true,
	"metadata.azure.internal":    true,
	"metadata.tencentyun.com":    true,
}

// hardSuffixes are refused with everything below them.
var hardSuffixes = []string{
	".localhost",   // RFC 6761
	".localdomain", // what Red Hat calls its loopback
	".onion",       // RFC 7686: never to be looked up in DNS
	".invalid",     // RFC 6761
}

// softSuffixes are private name spaces. They are refused as a whole, and
// opened name by name, for what they hold differs from network to network.
var softSuffixes = []string{
	".local",     // RFC 6762
	".internal",  // reserved by ICANN in 2024
	".home.arpa", // RFC 8375
	".lan",
	".corp", // ICANN's name-collision list
	".svc",  // Kubernetes, from inside a cluster
	".cluster.local",
}

func classifyName(name string) nameRule {
	if hardNames[name] || numericLastLabel(name) {
		return nameHard
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return nameSoft // a single label: a search list's or NetBIOS's business
	}
	for _, s := range hardSuffixes {
		if strings.HasSuffix(name, s) {
			return nameHard
		}
	}
	for _, s := range softSuffixes {
		if strings.HasSuffix(name, s) || name == s[1:] {
			return nameSoft
		}
	}
	return nameOrdinary
}
