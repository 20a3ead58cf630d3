package extract

import "strings"

// cues are short texts that say what follows them: "34 comments", "You may also
// like", a date, a price.
type cues struct {
	dates, prices []int           // units with one, before each unit, and in all
	last          [][numSorts]int // for each unit, the last short text before it of each sort of words; -1 if there is none
	ranks         []int           // headings of the main one's rank or above, before each unit, and in all
	sequels       [numSequels]int // units that announce them first, -1 if none does
	articles      map[*node]int   // article elements that hold text, from 1 on
}

const (
	cueSize  = 50  // characters of a text that may introduce another
	cueShare = .3  // share of its words that are of one sort
	dateSize = 120 // characters of a text that is told by its date
	costSize = 80  // and by a price
)

// Sequels are what often comes after the main text of a page.
const (
	comments = iota
	otherPages
	reviews
	numSequels
)

// talk is the words that announce what readers have to say.
var talk = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`comment comments reply replies response responses discussion kommentar kommentare antworten commentaire
		commentaires réponses comentario comentarios respuestas commenti risposte respostas`) {
		set[foldText(w)] = true
	}
	return set
}()

// announces reports which sequels a short text says that they follow.
func announces(u *unit, l *lexical) (is [numSequels]bool) {
	if u.size > costSize {
		return is
	}
	for w := range strings.FieldsSeq(u.key()) {
		is[comments] = is[comments] || talk[w]
	}
	is[otherPages], is[reviews] = l[ofOthers] >= cueShare, l[ofReviews] >= cueShare
	return is
}

// findSequels finds where each begins, after the first running text below the
// main heading.
func (f *features) findSequels() {
	for k := range f.cues.sequels {
		f.cues.sequels[k] = -1
	}
	begun, from := false, 0
	if f.heading != nil {
		from = f.headingAt()
	}
	for i := from; i < len(f.units); i++ {
		u := f.units[i]
		if u.running() {
			begun = true
		}
		if !begun {
			continue
		}
		for k, is := range announces(u, &f.lexical[i]) {
			if is && f.cues.sequels[k] < 0 {
				f.cues.sequels[k] = i
			}
		}
	}
}

func (f *features) findCues() {
	n := len(f.units)
	c := cues{dates: make([]int, n+1), prices: make([]int, n+1), ranks: make([]int, n+1), last: make([][numSorts]int, n), articles: map[*node]int{}}
	var last [numSorts]int
	for k := range last {
		last[k] = -1
	}
	rank := 2
	if f.heading != nil {
		rank = f.heading.heading()
	}
	for i, u := range f.units {
		c.dates[i+1], c.prices[i+1], c.ranks[i+1] = c.dates[i], c.prices[i], c.ranks[i]
		if u.size < dateSize && hasDate(u.key()) {
			c.dates[i+1]++
		}
		if u.size < costSize && hasPrice(u.text()) {
			c.prices[i+1]++
		}
		if h := u.heading(); h > 0 && h <= rank {
			c.ranks[i+1]++
		}
		c.last[i] = last
		if u.size > cueSize {
			continue
		}
		for k := range last {
			if f.lexical[i][k] >= cueShare {
				last[k] = i
			}
		}
	}
	for _, n := range f.nodes {
		if n.size > 0 && n.is("article") {
			c.articles[n] = len(c.articles) + 1
		}
	}
	f.cues = c
	f.findSequels()
}

// introduced is how many words ago each sort of words came last, and how unit i
// and the main heading lie to each other.
func (f *features) introduced(u *unit, i int) {
	for _, k := range f.cues.last[i] {
		if k < 0 {
			f.add(-1)
		} else {
			f.add(lg(f.words[i] - f.words[k]))
		}
	}
	for _, k := range f.cues.sequels {
		if k < 0 || k > i {
			f.add(-1)
		} else {
			f.add(lg(f.words[i] - f.words[k]))
		}
	}
	steps, part := f.toHeading(u)
	f.add(steps, part)
}

// toHeading is how many boxes one has to go out from a unit to have the main
// heading inside, and that box's share of the page.
func (f *features) toHeading(u *unit) (steps, part float32) {
	if f.heading == nil {
		return -1, 0
	}
	h := f.headingAt()
	for n := u.box; ; steps++ {
		s := f.sums[n.at]
		if s.first <= h && h < s.end {
			return steps, ratio(s.size, f.chars[len(f.units)])
		}
		if s.around == n {
			return -1, 0
		}
		n = s.around
	}
}

// dated is how the boxes around a unit begin, if with a cue, and how many dates
// and prices they hold.
func (f *features) dated(u *unit, i int) {
	c, n := &f.cues, u.box
	for range levels {
		n = f.sums[n.at].around
		s := f.sums[n.at]
		var l lexical
		if s.first < s.end && f.units[s.first].size <= 60 {
			l = f.lexical[s.first]
		}
		dates, prices := c.dates[s.end]-c.dates[s.first], c.prices[s.end]-c.prices[s.first]
		f.add(l[numSorts], l[ofComments], l[ofOthers], l[ofReviews], l[ofThings])
		f.add(ratio(dates, s.end-s.first), ratio(prices, s.end-s.first), lg(dates), lg(prices))
	}
	all := len(f.units)
	f.add(float32(c.dates[i+1]-c.dates[i]), float32(c.prices[i+1]-c.prices[i]),
		ratio(c.dates[all], all), ratio(c.prices[all], all), lg(c.dates[all]), lg(c.prices[all]))
	ranks := 0
	if f.heading != nil {
		ranks = c.ranks[i+1] - c.ranks[f.headingAt()]
	}
	f.add(float32(max(min(ranks, 20), -20)), lg(c.ranks[all]))
	outermost := -1
	for n := u.box; n != nil; n = n.parent {
		if k := c.articles[n]; k > 0 {
			outermost = k
		}
	}
	f.add(float32(min(outermost, 30)), float32(min(len(c.articles), 30)))
}

// hasPrice reports that a text has a figure and a sign of currency.
func hasPrice(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, currencies)
}

const currencies = "$€£¥₹₽₩"

// months are the names of months in the larger languages of the web, and words
// that stand for a date.
var months = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october
		nov november dec december ago yesterday januar februar märz mai juni juli oktober dezember janvier février mars avril juin juillet août
		septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre`) {
		set[foldText(w)] = true
	}
	return set
}()

// hasDate reports that a folded text names a month beside some figure, or has
// three figures in a row of which one is a year.
func hasDate(folded string) bool {
	month, figure := false, false
	run, year := 0, false
	for w := range strings.FieldsSeq(folded) {
		if w[0] < '0' || w[0] > '9' {
			month = month || months[w]
			run, year = 0, false
			continue
		}
		figure = true
		if len(w) > 4 {
			run, year = 0, false
			continue
		}
		run++
		year = year || len(w) == 4 && (strings.HasPrefix(w, "20") || strings.HasPrefix(w, "19"))
		if run >= 3 && year {
			return true
		}
	}
	return month && figure
}
