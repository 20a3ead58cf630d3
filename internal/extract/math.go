package extract

import (
	"strings"
	"unicode"
)

// tex returns a formula as its page's TeX source, between dollar signs, or ""
// if there is none to be trusted: the source stands in an annotation that
// nobody sees, so it must say nothing but what is on screen.
func tex(source, visible string) string {
	source = strings.TrimSpace(Line(source, maxTeX))
	if source == "" || strings.HasSuffix(source, "…") || strings.Contains(source, "$") || !faithful(source, visible) {
		return ""
	}
	return "$" + unwrapTeX(source) + "$"
}

// maxTeX is the most characters of a formula's source.
const maxTeX = 1000

// texImage returns the formula that a picture's alternative text is, as
// MediaWiki writes it, or "".
func texImage(alt string) string {
	s := unwrapTeX(strings.TrimSpace(alt))
	if s == alt || s == "" || strings.HasSuffix(s, "…") || strings.Contains(s, "$") {
		return ""
	}
	return "$" + s + "$"
}

// unwrapTeX takes {\displaystyle …} from around a formula.
func unwrapTeX(s string) string {
	for _, style := range []string{`{\displaystyle `, `{\textstyle `} {
		if in, ok := strings.CutPrefix(s, style); ok {
			if in, ok = strings.CutSuffix(in, "}"); ok {
				return strings.TrimSpace(in)
			}
		}
	}
	return s
}

// faithful reports that every letter and digit of a TeX source is visible,
// apart from the names of well-known commands and environments.
func faithful(source, visible string) bool {
	have := map[rune]int{}
	for _, r := range visible {
		have[r]++
	}
	for source != "" {
		if source[0] == '\\' {
			name := source[1:]
			if end := strings.IndexFunc(name, func(r rune) bool { return r > 'z' || !unicode.IsLetter(r) }); end >= 0 {
				name = name[:end]
			}
			source = source[1+len(name):]
			switch {
			case name == "begin" || name == "end":
				env, rest, ok := strings.Cut(strings.TrimPrefix(source, "{"), "}")
				if !ok || !texEnvironments[strings.TrimSuffix(env, "*")] {
					return false
				}
				source = rest
			case name == "" && source != "":
				source = source[1:] // \, \; \\ \{
			case !texCommands[name]:
				return false
			}
			continue
		}
		for _, r := range source {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				if have[r]--; have[r] < 0 {
					return false
				}
			}
			source = source[len(string(r)):]
			break
		}
	}
	return true
}

func texSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

var texEnvironments = texSet(`matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix cases rcases aligned align alignedat gathered
	gather split equation array`)

var texCommands = texSet(`alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho
	sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
	frac dfrac tfrac cfrac sqrt root binom dbinom tbinom over choose sum prod coprod int iint iiint oint bigcup bigcap bigoplus bigotimes
	lim limsup liminf sup inf max min sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln lg exp det dim ker gcd deg arg Pr mod
	bmod pmod left right big Big bigg Bigg bigl bigr Bigl Bigr middle cdot cdots ldots dots vdots ddots times div pm mp ast star circ bullet
	oplus ominus otimes odot wedge vee cap cup setminus subset supset subseteq supseteq in notin ni forall exists nexists neg lnot land lor
	le leq ge geq ne neq equiv sim simeq approx cong propto ll gg prec succ mid nmid parallel perp to gets rightarrow leftarrow Rightarrow
	Leftarrow leftrightarrow Leftrightarrow longrightarrow longleftarrow Longrightarrow implies iff mapsto uparrow downarrow infty partial
	nabla hbar ell Re Im aleph emptyset varnothing prime angle degree triangle square top bot vdash models therefore because
	hat widehat tilde widetilde bar overline underline vec dot ddot acute grave breve check overbrace underbrace overset underset stackrel
	mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak boldsymbol bm text textbf textit textrm operatorname displaystyle textstyle
	scriptstyle limits nolimits quad qquad langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert vert Vert not nonumber`)
