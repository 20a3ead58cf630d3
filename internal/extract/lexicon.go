package extract

import "strings"

// lexicon is words of user interfaces, by what they are for, in the larger
// languages of the web. No word is a reason to leave text out: how much of a
// short text they make up is one sign among many (see features).
var lexicon = []string{
	// signing in
	`login log sign signin signup register account password logout join anmelden registrieren konto passwort connexion compte inscription
	iniciar sesión cuenta registrarse accedi registrati conta entrar inloggen`,
	// buying
	`cart basket bag checkout buy add wishlist favourites favorites compare quantity qty stock availability size color colour sale off save
	sold warenkorb kaufen panier acheter ajouter carrito comprar añadir carrello acquista aggiungi carrinho winkelwagen`,
	// delivery and payment
	`shipping delivery deliver returns return refund warranty payment pay klarna paypal pickup store order orders exchange exchanges guarantee
	free versand lieferung rückgabe zahlung livraison retour paiement envío devoluciones pago spedizione reso pagamento entrega verzending`,
	// what buyers say
	`review reviews rating ratings rated stars star helpful verified reviewer customer customers feedback bewertung bewertungen sterne avis
	étoiles reseñas opiniones recensioni avaliações`,
	// passing on
	`share tweet facebook twitter instagram pinterest linkedin whatsapp youtube tiktok reddit email print copy link follow teilen folgen
	drucken partager suivre compartir seguir condividi seguici compartilhar delen`,
	// the law
	`copyright rights reserved privacy policy terms conditions cookies cookie imprint legal disclaimer accessibility sitemap consent gdpr
	preferences trademarks datenschutz impressum agb mentions légales confidentialité privacidad términos condiciones note condizioni`,
	// getting about
	`menu home search skip navigation toggle close open main content back next previous prev more show less all view see expand collapse
	categories browse language filter filters sort apply clear reset page results suche startseite menü schließen weiter zurück rechercher
	accueil fermer suivant buscar inicio cerrar siguiente cerca chiudi zoeken`,
	// other pages
	`related similar recommended recommendations also like popular trending latest recent featured suggested suggestions viewed bought
	together explore discover read don miss top picks topics articles stories posts products news ähnliche beliebt empfohlen auch
	similaires recommandés aussi populaires relacionados recomendados también correlati consigliati anche relacionadas`,
	// letters and advertisements
	`newsletter subscribe subscription inbox updates exclusive offers address unsubscribe advertisement sponsored promoted ad ads advertise
	abonnieren abonnez suscríbete iscriviti inscreva anzeige publicité publicidad`,
	// forums and comments
	`comment comments reply replies responses respond leave post quote report likes dislike flag thread threads member members joined
	messages reputation moderator views upvote downvote vote votes kommentar kommentare antworten commentaire commentaires répondre
	comentario comentarios responder commenti rispondi`,
	// about the text
	`by author published updated posted date min written on ago minutes hours days tags tagged category filed under photo credit image source
	photograph getty images ap reuters edited last modified autor veröffentlicht publié par publicado por pubblicato`,
	// about the site
	`contact about us careers jobs press help support faq faqs investors company team service phone call chat locations stores app download
	partners blog kontakt über uns hilfe karriere presse contactez propos aide contacto nosotros ayuda contatti chi siamo aiuto`,
	// about a thing
	`description details features specifications specs product overview material materials dimensions weight information highlights
	ingredients included care what technical beschreibung produktbeschreibung eigenschaften technische daten caractéristiques détails
	descripción características detalles descrizione caratteristiche descrição`,
}

var lexiconOf = func() map[string]uint32 {
	sorts := map[string]uint32{}
	for i, words := range lexicon {
		for w := range strings.FieldsSeq(words) {
			sorts[foldText(w)] |= 1 << i
		}
	}
	for w := range strings.FieldsSeq(months) {
		sorts[foldText(w)] |= asMonth
	}
	for w := range strings.FieldsSeq(talk) {
		sorts[foldText(w)] |= asTalk
	}
	return sorts
}()

// lexical is the share of each sort of word in a text, and of all together.
type lexical [numSorts + 1]float32

// numSorts is the length of the lexicon.
const numSorts = 13

// Some of its sorts.
const (
	ofReviews  = 3
	ofOthers   = 7
	ofComments = 9
	ofThings   = 12
)

// lexicalOf looks at the first words of a folded text.
func lexicalOf(folded string) (l lexical, is telling) {
	n, any := 0, 0
	var d dateParser
	for w := range strings.FieldsSeq(folded) {
		if n++; n > 60 {
			break
		}
		sorts := lexiconOf[w]
		d.word(w, sorts&asMonth != 0)
		if sorts&asTalk != 0 {
			is |= talks
		}
		if sorts &= 1<<numSorts - 1; sorts == 0 {
			continue
		}
		any++
		for i := range lexicon {
			if sorts&(1<<i) != 0 {
				l[i]++
			}
		}
	}
	for i := range lexicon {
		l[i] /= float32(max(n, 1))
	}
	l[numSorts] = ratio(any, n)
	if d.found() {
		is |= dated
	}
	return l, is
}
