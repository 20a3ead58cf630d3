package extract

import "strings"

// cues are short texts that say what follows them: "34 comments", "You may also
// like", a date, a price.
type cues struct {
	dates, prices []int           // units with one, before each unit, and in all
	last          [numSorts]int   // the last short text so far of each sort of words; -1 if there is none
	ranks         []int           // headings of the main one's rank or above, before each unit, and in all
	sequels       [numSequels]int // units that announce them first, -1 if none does
	articles      []int           // for each node, which of the article elements that hold text is outermost around it, from 1 on, or 0
	numArticles   int
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

// announces reports which sequels a short text says that they follow.
func announces(u *unit, l *lexical, t telling) (is [numSequels]bool) {
	if u.size > costSize {
		return is
	}
	is[comments] = t&talks != 0
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
		for k, is := range announces(u, &f.lexical[i], f.telling[i]) {
			if is && f.cues.sequels[k] < 0 {
				f.cues.sequels[k] = i
			}
		}
	}
}

func (f *features) findCues() {
	n := len(f.units)
	c := cues{dates: make([]int, n+1), prices: make([]int, n+1), ranks: make([]int, n+1), articles: make([]int, len(f.nodes))}
	rank := 2
	if f.heading != nil {
		rank = f.heading.heading()
	}
	for i, u := range f.units {
		c.dates[i+1], c.prices[i+1], c.ranks[i+1] = c.dates[i], c.prices[i], c.ranks[i]
		if u.size < dateSize && f.telling[i]&dated != 0 {
			c.dates[i+1]++
		}
		if u.size < costSize && hasPrice(u.text()) {
			c.prices[i+1]++
		}
		if h := u.heading(); h > 0 && h <= rank {
			c.ranks[i+1]++
		}
	}
	for i, n := range f.nodes {
		if i > 0 {
			c.articles[i] = c.articles[n.parent.at]
		}
		if n.size > 0 && n.is("article") {
			c.numArticles++
			if c.articles[i] == 0 {
				c.articles[i] = c.numArticles
			}
		}
	}
	f.cues = c
	f.findSequels()
}

// introduced is how many words ago each sort of words came last, and how unit i
// and the main heading lie to each other.
func (f *features) introduced(u *unit, i int) {
	for _, k := range f.cues.last {
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
	f.passCue(i)
}

// lastCues finds the last cues before a unit.
func (f *features) lastCues(before int) {
	for k := range f.cues.last {
		f.cues.last[k] = -1
	}
	for i := range before {
		f.passCue(i)
	}
}

func (f *features) passCue(i int) {
	if f.units[i].size > cueSize {
		return
	}
	for k := range f.cues.last {
		if f.lexical[i][k] >= cueShare {
			f.cues.last[k] = i
		}
	}
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
	f.add(float32(min(c.articles[u.box.at], 30)), float32(min(c.numArticles, 30)))
}

// hasPrice reports that a text has a figure and a sign of currency.
func hasPrice(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, currencies)
}

const currencies = "$€£¥₹₽₩"

// telling is what the words of a text say that no share of them does.
type telling uint8

const (
	dated telling = 1 << iota // it names a day
	talks                     // it names what readers have to say
)

// Marks of words in lexiconOf, beside those of the lexicon.
const (
	asMonth = 1 << (numSorts + iota)
	asTalk
)

// months are the names of months in the larger languages of the web, and words
// that stand for a date.
const months = `jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october
	nov november dec december ago yesterday januar februar märz mai juni juli oktober dezember janvier février mars avril juin juillet août
	septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre`

// talk is what readers have to say.
const talk = `comment comments reply replies response responses discussion kommentar kommentare antworten commentaire commentaires réponses
	comentario comentarios respuestas commenti risposte respostas`

// dateParser looks for a date in a folded text, word by word: the name of a
// month beside some figure, or three figures in a row of which one is a year.
type dateParser struct {
	month, figure, numeric, year bool
	run                          int
}

func (d *dateParser) word(w string, month bool) {
	if w[0] < '0' || w[0] > '9' {
		d.month = d.month || month
		d.run, d.year = 0, false
		return
	}
	d.figure = true
	if len(w) > 4 {
		d.run, d.year = 0, false
		return
	}
	d.run++
	d.year = d.year || len(w) == 4 && (w[:2] == "20" || w[:2] == "19")
	d.numeric = d.numeric || d.run >= 3 && d.year
}

func (d *dateParser) found() bool { return d.numeric || d.month && d.figure }
