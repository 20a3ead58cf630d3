package extract

import (
	"slices"
	"strings"
)

// Signal is a word on what kind of answer a page may be, for who reads it: a
// guess from what it says, which a page can provoke or avoid.
type Signal string

// The signals.
const (
	Soft404     Signal = "soft_404"     // says that there is no such page, with a status of success
	LoginWall   Signal = "login_wall"   // asks for a login or subscription instead of showing its contents
	Captcha     Signal = "captcha"      // asks for proof of being a person
	ConsentWall Signal = "consent_wall" // asks for consent before it shows its contents
	LowContent  Signal = "low_content"  // shows hardly any text
	HiddenText  Signal = "hidden_text"  // holds much text that is drawn where nobody can see it
)

// Sizes in characters without white space, by which the signals of
// testdata/signals were told apart from pages that only speak of such things.
const (
	wallText      = 1500 // a page with more is no wall, whatever it says
	shortWall     = 700  // the same, if only its form says so
	restText      = 300  // less than this beside a banner is no content
	hiddenLeast   = 150  // drawn where nobody sees it
	hiddenMost    = 2500 // in any case
	hiddenShare   = 4    // hidden_text if the page shows less than so many times as much
	teaserTail    = 500  // of the end of a text, in which it asks for a subscription
	headingLength = 120  // of a heading that says what the page is
)

// Signals judges a page by its text, the document's state (status 0 stands for
// one that is not known) and its main part as rendered by [Doc.Text], which is
// not always asked for.
func (d *Doc) Signals(status int, main func() string) []Signal {
	var out []Signal
	add := func(s Signal, is bool) {
		if is {
			out = append(out, s)
		}
	}
	titles := d.titles()
	text := ""
	if d.TextLen <= wallText {
		text = fold(d.Text(TextOptions{Whole: true})).text
	}
	rest := d.TextLen
	if b := d.banner(); b != nil {
		rest -= b.size
	}
	small := d.TextLen <= wallText
	gone := (status == 0 || status < 400) && small && (anyIs(titles, goneTitles) || anyHas(titles, gonePhrases) || d.TextLen <= shortWall && has(text, gonePhrases))
	robot := small && (anyHas(titles, robotPhrases) || has(text, robotPhrases) || d.captcha && d.TextLen <= shortWall && has(text, robotWords))
	login := !gone && !robot && (small && has(text, loginPhrases) || d.passwords > 0 && d.TextLen <= shortWall ||
		d.TextLen <= 4*wallText && has(fold(tail(main(), teaserTail)).text, teaserPhrases))
	consent := !robot && rest < d.TextLen && rest < restText
	add(Soft404, gone)
	add(LoginWall, login)
	add(Captcha, robot)
	add(ConsentWall, consent)
	add(LowContent, d.Thin())
	drawn := d.HiddenChars - d.UnrenderedChars
	add(HiddenText, drawn >= hiddenMost || drawn >= hiddenLeast && drawn*hiddenShare >= d.TextLen)
	return out
}

// titles are the page's title, in its parts too, and its first headings,
// folded.
func (d *Doc) titles() []string {
	var out []string
	put := func(s string) {
		if s = strings.TrimSpace(fold(s).text); s != "" && len(s) <= headingLength && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	put(d.Title)
	for _, part := range strings.FieldsFunc(d.Title, func(r rune) bool { return strings.ContainsRune("|–—·:»›•", r) }) {
		put(part)
	}
	for _, part := range strings.Split(d.Title, " - ") {
		put(part)
	}
	n := 0
	d.root.walk(func(k *node) bool {
		if k.is("h1", "h2") {
			put(plainText(k))
			n++
		}
		return n < 3
	})
	return out
}

// tail returns the last n bytes of s, at a character's edge.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[runeStart(s, len(s)-n):]
}

func anyIs(texts []string, words map[string]bool) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return words[s] })
}

func anyHas(texts []string, phrases []string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return has(s, phrases) })
}

func has(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}

// folds makes phrases comparable.
func folds(lines string) []string {
	var out []string
	for l := range strings.Lines(lines) {
		if l = strings.TrimSpace(fold(l).text); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// goneTitles are whole titles of pages that are not there.
var goneTitles = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range folds(`404
		404 error
		error 404
		not found
		404 not found
		page not found
		404 page not found
		oops
		nicht gefunden
		fehler 404
		erreur 404
		error 404 no encontrado
		ошибка 404`) {
		m[s] = true
	}
	return m
}()

// gonePhrases say so in a sentence.
var gonePhrases = folds(`page not found
	page cannot be found
	page can t be found
	page could not be found
	page you requested could not
	page you are looking for
	page you re looking for
	page you were looking for
	page does not exist
	page doesn t exist
	page no longer exists
	page is no longer available
	page has been removed
	page isn t available
	content is no longer available
	we couldn t find that page
	we can t find that page
	we can t find the page
	product is no longer available
	this listing has ended
	this job is no longer available
	this post has been deleted
	seite nicht gefunden
	seite wurde nicht gefunden
	seite konnte nicht gefunden werden
	seite existiert nicht
	page introuvable
	page est introuvable
	page n existe pas
	page demandee n existe
	pagina no encontrada
	pagina no existe
	pagina que buscas
	pagina non trovata
	pagina nao encontrada
	pagina niet gevonden
	strona nie zostala znaleziona
	nie znaleziono strony
	страница не найдена
	такой страницы нет
	页面不存在
	找不到页面
	ページが見つかりません
	ページは存在しません
	페이지를 찾을 수 없습니다
	sidan kunde inte hittas
	sidan hittades inte
	sayfa bulunamadi`)

// robotPhrases ask for proof of being a person.
var robotPhrases = folds(`verify you are human
	verify that you are human
	verify you re human
	verifying you are human
	confirm you are human
	confirm that you are human
	confirm you re human
	prove you are human
	prove you re not a robot
	are you a robot
	you are not a robot
	you re not a robot
	i m not a robot
	i am not a robot
	checking your browser
	checking if the site connection is secure
	enable javascript and cookies to continue
	unusual traffic from your
	complete the security check
	press and hold to confirm
	complete the captcha
	solve the captcha
	solve this captcha
	enter the characters you see
	type the characters you see
	bestatigen sie dass sie ein mensch
	sind sie ein mensch
	kein roboter
	verifiez que vous etes humain
	vous n etes pas un robot
	no eres un robot
	non sei un robot
	nao e um robo
	что вы не робот
	я не робот
	请完成安全验证
	人机验证
	ロボットではありません
	로봇이 아닙니다`)

// robotWords are what such a page has in it beside its widget.
var robotWords = folds(`captcha
	robot
	human
	security check
	just a moment
	verification
	verify
	access denied`)

// loginPhrases ask for a login in place of contents.
var loginPhrases = folds(`log in to continue
	login to continue
	sign in to continue
	log in to view
	login to view
	sign in to view
	log in to see
	sign in to see
	sign up to see
	log in to access
	sign in to access
	please log in
	please login
	please sign in
	you must be logged in
	you must log in
	you need to be logged in
	you need to log in
	you need to sign in
	log in or sign up to
	log in or create an account
	this content is for members
	members only
	for subscribers only
	subscribers only
	subscribe to continue
	subscribe to read
	create a free account to
	melden sie sich an um
	bitte melden sie sich an
	bitte einloggen
	anmelden um fortzufahren
	nur fur abonnenten
	nur fur mitglieder
	connectez vous pour
	veuillez vous connecter
	reserve aux abonnes
	inicia sesion para
	iniciar sesion para continuar
	solo para suscriptores
	accedi per continuare
	riservato agli abbonati
	faca login para
	log in om verder
	zaloguj sie aby
	войдите чтобы
	необходимо войти
	请登录
	请先登录
	ログインしてください
	로그인이 필요`)

// teaserPhrases end the free part of a text.
var teaserPhrases = folds(`to continue reading
	to keep reading
	continue reading with
	to read the full
	to read the rest
	to unlock this
	already a subscriber
	already a member
	subscribe now to
	this article is for subscribers
	want to read more
	weiterlesen mit
	um weiterzulesen
	jetzt weiterlesen
	pour lire la suite
	il vous reste
	para seguir leyendo
	para continuar leyendo
	per continuare a leggere
	om verder te lezen`)
