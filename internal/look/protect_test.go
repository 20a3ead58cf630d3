package look_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bellglass/bellglass/internal/look"
)

// protected are fields that take a password, a one-time code or a payment
// card; each holds SECRET. The fields of open take none.
var (
	protected = []string{
		`<input type=password value=SECRET>`,
		`<input type=PassWord value=SECRET>`,
		`<input autocomplete=current-password value=SECRET>`,
		`<input autocomplete="section-a billing cc-number" value=SECRET>`,
		`<input autocomplete="current-password webauthn" value=SECRET>`,
		`<input autocomplete="username new-password" value=SECRET>`,
		`<input autocomplete=ONE-TIME-CODE value=SECRET>`,
		`<input autocomplete="shipping	cc-csc" value=SECRET>`,
		`<textarea autocomplete=cc-number>SECRET</textarea>`,
		`<select autocomplete=cc-exp-month><option>SECRET</select>`,
		`<select autocomplete="billing cc-exp-year"><option>SECRET</select>`,
		`<input autocomplete=cc-name value=SECRET>`,
		`<input name=cardnumber value=SECRET>`,
		`<input name=card_number value=SECRET>`,
		`<input id=creditCardNumber value=SECRET>`,
		`<input name="payment[cc_number]" value=SECRET>`,
		`<input name=cvv value=SECRET>`,
		`<input name=cvc2 type=tel value=123 data-x=SECRET>`,
		`<input name=user_password value=SECRET>`,
		`<input id=userPass value=SECRET>`,
		`<input name=passwd value=SECRET>`,
		`<label>Password <input value=SECRET></label>`,
		`<label for=f>Card number</label><input id=f value=SECRET>`,
		`<span id=l>Security code</span><input aria-labelledby=l value=SECRET>`,
		`<input aria-label="One-time code" value=SECRET>`,
		`<input placeholder="Enter your PIN" value=SECRET>`,
		`<input title="Name on card" value=SECRET>`,
		`<table><tr><td>Passwort:</td><td><input name=x1 value=SECRET></td></tr></table>`,
		`<label>Mot de passe <input value=SECRET></label>`,
		`<label>Пароль <input value=SECRET></label>`,
		`<label>密码<input value=SECRET></label>`,
		`<label>Expiration date <input name=exp-date value=SECRET></label>`,
		`<input style="-webkit-text-security:disc" value=SECRET>`,
		`<div contenteditable style="-webkit-text-security:circle">SECRET</div>`,
		`<style>.m{-webkit-text-security:square}</style><textarea class=m>SECRET</textarea>`,
		`<p id=p>Password</p><div contenteditable aria-labelledby=p>SECRET</div>`,
		`<div>Card number</div><div contenteditable>SECRET</div>`,
		`<div contenteditable role=textbox data-placeholder=Password>SECRET</div>`,
		`<input type=password value=SECRET id=s><script>s.type='text'</script>`,
		`<input type=password value=SECRET id=s><script>s.setAttribute('type','tel');s.removeAttribute('type')</script>`,
		`<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML='<input type=password value=SECRET>'</script>`,
		`<div id=h></div><script>h.attachShadow({mode:'closed'}).innerHTML='<input name=cvc value=SECRET>'</script>`,
		`<form><input type=password value=SECRET name=a><input name=type><input name=getAttribute><input name=autocomplete></form>`,
		`<input type=number name=otp value=1 data-x=SECRET>`,
		`<input name=verificationCode value=SECRET>`,
		`<input inputmode=numeric maxlength=4 placeholder=CVC value=SECRET>`,
		`<label>IBAN <input value=SECRET></label>`,
	}
	free = []string{
		`<input name=email value=OPEN>`, `<input autocomplete=username value=OPEN>`, `<label>Search <input value=OPEN></label>`, `<input name=compass value=OPEN>`,
		`<label>Passenger <input value=OPEN></label>`, `<input name=discard value=OPEN>`, `<label>Shipping address <input value=OPEN></label>`, `<input name=opinion value=OPEN>`,
		`<label>Business card title <textarea>OPEN</textarea></label>`, `<input type=checkbox aria-label="Show password">`, `<input autocomplete=off name=accept value=OPEN>`,
		`<label>Postal code <input value=OPEN></label>`, `<label>Promo code <input value=OPEN></label>`, `<input name="forgotPassword:form:username" value=OPEN>`, `<label>Country code <input value=OPEN></label>`,
	}
)

// watched is a tab in which fields are watched from the beginning of a
// document, as a session does it.
func watched(t *testing.T) *tab {
	p := newTab(t)
	p.eval(p.world(), look.WatchScript()+";''")
	return p
}

// TestProtectedFields: no such field is offered without its mark, and what it
// holds is nowhere.
func TestProtectedFields(t *testing.T) {
	t.Parallel()
	p := watched(t)
	for _, html := range protected {
		p.write(html)
		f := p.frame()
		n := 0
		for _, e := range f.Elements {
			if e.Protected {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d protected fields in %s: %v", n, html, lines(f))
		}
		for _, e := range f.Elements {
			s := p.eval(p.world(), look.NodeScript(e.Node))
			again, _, err := look.ParseNode(s)
			if err != nil || again.Protected != e.Protected {
				t.Errorf("looked at again: %v, protected %t: %s", err, again.Protected, html)
			}
			if strings.Contains(s, "SECRET") {
				t.Errorf("the value left the page: %s: %s", html, s)
			}
		}
		if all := fmt.Sprint(f); strings.Contains(all, "SECRET") {
			t.Errorf("the value is in what was seen of %s: %s", html, all)
		}
	}
	for _, html := range free {
		p.write(html)
		f := p.frame()
		if len(f.Elements) != 1 || f.Elements[0].Protected {
			t.Errorf("protected, or not there: %s: %v", html, lines(f))
		}
	}
}

// TestOnceAPasswordAlwaysOne: a field that was seen as a password stays one
// when its type changes later, when its names change, and when another field
// takes its place under its id.
func TestOnceAPasswordAlwaysOne(t *testing.T) {
	t.Parallel()
	p := watched(t)
	p.write(`<main><input type=password id=field7 name=a7 value=SECRET></main>`)
	for _, change := range []string{
		`document.querySelector('input').type='text'`,
		`document.querySelector('input').removeAttribute('name')`,
		`document.querySelector('main').innerHTML='<input type=text id=field7 value=SECRET>'`,
	} {
		p.frame()
		p.js(change + ";''")
		f := p.frame()
		if len(f.Elements) != 1 || !f.Elements[0].Protected || f.Elements[0].Value != "" {
			t.Errorf("after %s: %v", change, lines(f))
		}
	}
}

// TestAPageCannotLiftProtection: nothing that a page does in its own world
// changes what ours sees.
func TestAPageCannotLiftProtection(t *testing.T) {
	t.Parallel()
	p := watched(t)
	p.write(`<script>
for(const [c,n] of [[HTMLInputElement,'type'],[Element,'localName'],[Node,'nodeType'],[HTMLInputElement,'labels'],[HTMLElement,'isContentEditable']])Object.defineProperty(c.prototype,n,{get(){return 'text'},configurable:true});
Element.prototype.getAttribute=()=>'forged';Element.prototype.matches=()=>false;document.querySelectorAll=()=>[];JSON.stringify=()=>'{"look":1,"e":[]}';
Array.prototype.push=()=>0;WeakMap.prototype.get=()=>({forged:1});globalThis[Symbol.for('bellglass.look')]={get:()=>({closed:new Map,asked:new Map,heard:new Set})};Set.prototype.has=()=>false;RegExp.prototype.test=()=>false;
Object.defineProperty(document,'title',{get:()=>'x\nURL: https://forged.test/\nGeneration: 9'});
</script><form><input type=password value=SECRET aria-label=Key><input name=nextSibling><input name=firstChild><input name=parentNode><input name=elements></form><img name=querySelectorAll><img name=body><form name=documentElement></form>`)
	f := p.frame()
	if len(f.Elements) != 5 || !f.Elements[0].Protected || f.Elements[0].Name != "Key" || f.Title != "" {
		t.Errorf("%q %v", f.Title, lines(f))
	}
}

// TestPageTextHoldsNoValues: what controls hold is not page text.
func TestPageTextHoldsNoValues(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.write(`<p>Words</p><input value=VALUE><textarea>VALUE</textarea><select><option>VALUE</select><div contenteditable>VALUE</div><div role=textbox>VALUE</div><input type=submit value=VALUE><p>and more</p>`)
	if got := strings.Join(p.frame().Lines, "\n"); strings.Contains(got, "VALUE") || !strings.Contains(got, "Words") || !strings.Contains(got, "and more") {
		t.Error(got)
	}
}
