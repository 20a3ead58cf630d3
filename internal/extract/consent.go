package extract

import "strings"

// maxBanner is the most characters of a box that is taken for a consent
// banner; the longest list of purposes met has some two thousand.
const maxBanner = 3000

// maxChoice is the most characters of a button's words.
const maxChoice = 30

// choices are what the buttons of consent banners say, folded.
var choices = map[string]bool{}

// notices are what these banners speak of, folded.
var notices = []string{
	"cookie", "consent", "privacy", "personal data", "our partners", "gdpr", "datenschutz", "einwilligung", "partnern",
	"confidentialite", "donnees personnelles", "privacidad", "datos personales", "riservatezza", "dati personali",
	"privacidade", "dados pessoais", "privacybeleid", "gegevens", "ciasteczka", "prywatnosc", "куки", "персональных данных",
	"隐私", "プライバシー", "クッキー", "쿠키", "integritet", "personvern", "evaste", "tietosuoja", "cerez",
}

func init() {
	for _, s := range []string{
		"accept", "accept all", "accept all cookies", "accept cookies", "allow all", "allow all cookies", "allow cookies", "i accept", "i agree",
		"agree", "agree and continue", "agree and close", "accept and continue", "accept and close", "continue and accept", "yes i agree",
		"reject", "reject all", "decline", "decline all", "deny", "refuse", "only necessary", "necessary only", "only essential",
		"essential cookies only", "use necessary cookies only", "got it",
		"alle akzeptieren", "akzeptieren", "alle cookies akzeptieren", "zustimmen", "einverstanden", "ablehnen", "alle ablehnen", "nur notwendige",
		"tout accepter", "accepter", "accepter et fermer", "j accepte", "tout refuser", "refuser", "continuer sans accepter",
		"aceptar", "aceptar todo", "aceptar todas", "aceptar y continuar", "rechazar", "rechazar todo", "accetta", "accetta tutto", "accetto", "rifiuta", "rifiuta tutto",
		"aceitar", "aceitar tudo", "aceitar todos", "rejeitar", "accepteren", "alles accepteren", "akkoord", "weigeren", "alles weigeren",
		"zaakceptuj", "akceptuje", "akceptuj wszystkie", "odrzuc", "prijmout vse", "souhlasim", "принять", "принять все", "согласен", "отклонить",
		"同意", "接受", "全部接受", "同意する", "すべて許可", "동의", "모두 동의", "godkann alla", "acceptera", "acceptera alla", "godta alle", "aksepter", "accepter alle", "hyvaksy kaikki", "kabul et",
	} {
		choices[strings.TrimSpace(fold(s).text)] = true
	}
	for i, s := range notices {
		notices[i] = strings.TrimSpace(fold(s).text)
	}
}

// banner returns the smallest box that asks for consent: with a notice, and a
// button that says accept or reject. Nil if there is none.
func (d *Doc) banner() *node {
	if d.asked {
		return d.asks
	}
	d.asked, d.asks = true, d.findBanner()
	return d.asks
}

func (d *Doc) findBanner() *node {
	var found *node
	tries := 0
	d.root.walk(func(n *node) bool {
		if n.kind != textNode || n.size == 0 || n.size > maxChoice || !isChoice(n.text) {
			return true
		}
		tries++
		found = asking(n)
		return found == nil && tries < 20
	})
	return found
}

// isChoice reports whether s, the text of a short node, is one of choices. Of
// texts in ASCII, which nearly all are, nothing is kept.
func isChoice(s string) bool {
	var buf [2 * maxChoice]byte
	b, space := buf[:0], false
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 0x80:
			return choices[strings.TrimSpace(fold(s).text)]
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		default:
			space = len(b) > 0
			continue
		}
		if len(b)+2 > cap(b) {
			return false
		}
		if space {
			b = append(b, ' ')
		}
		b, space = append(b, c), false
	}
	return choices[string(b)]
}

// asking climbs from a choice to the box of its notice.
func asking(n *node) *node {
	for range 12 {
		n = n.parent
		if n == nil || n.parent == nil || n.size > maxBanner {
			return nil
		}
		if n.kind != blockNode || n.size < 2*maxChoice {
			continue
		}
		text := fold(plainText(n)).text
		for _, w := range notices {
			if strings.Contains(text, w) {
				return n
			}
		}
	}
	return nil
}

// within reports whether n is rendered as part of s.
func (s selection) within(n *node) bool {
	for ; n != nil; n = n.parent {
		if s.skip.has(n) {
			return false
		}
		if n == s.top {
			return true
		}
	}
	return false
}
