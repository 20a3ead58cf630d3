package look_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/digest"
)

// formPages are the annotated forms of real pages: field names and types.
type formPages struct {
	Pages map[string]struct {
		URL    string              `json:"url"`
		Fields []map[string]string `json:"visible_html_fields"`
	} `json:"pages"`
}

// oracle lists the annotated fields as the browser has them, with what it
// says of their boxes itself, and the number that the walker knows them by.
const oracle = `(fields=>{const m=globalThis[Symbol.for('bellglass.look')].get(document),out=[];
const sees=e=>{const b=e.getBoundingClientRect();return e.checkVisibility({opacityProperty:true,visibilityProperty:true})&&b.width>3&&b.height>3&&b.right+scrollX>0&&b.bottom+scrollY>0};
fields.forEach((names,i)=>{const f=document.forms[i];if(!f)return;
for(const e of HTMLFormElement.prototype[Symbol.iterator]?.call(f)||Object.getOwnPropertyDescriptor(HTMLFormElement.prototype,'elements').get.call(f)){
const t=names[e.name];if(!t||!/^(?:INPUT|SELECT|TEXTAREA|BUTTON)$/.test(e.tagName))continue;
out.push({n:m.numbers.get(e)||0,t,name:e.name,type:e.type,seen:e.type!=='hidden'&&sees(e)})}});
return JSON.stringify(out)})`

type annotated struct {
	N    int64  `json:"n"`
	T    string `json:"t"`
	Name string `json:"name"`
	Type string `json:"type"`
	Seen bool   `json:"seen"`
}

// annotatedPages returns the folder of real pages with annotated forms, what is said
// of them, and their names in order.
func annotatedPages(t *testing.T) (dir string, index formPages, names []string) {
	t.Helper()
	dir = os.Getenv("BELLGLASS_CORPORA")
	if dir == "" {
		t.Skip("BELLGLASS_CORPORA does not name the folder with the annotated pages")
	}
	dir = filepath.Join(dir, "formasaurus")
	b, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if os.IsNotExist(err) {
		t.Skip(err)
	}
	check(t, err)
	check(t, json.Unmarshal(b, &index))
	return dir, index, slices.Sorted(maps.Keys(index.Pages))
}

// TestFieldsOfRealPages: of the fields that people annotated on real pages,
// those that can be seen are in the digest, once, with a name; hidden ones are
// not; what takes a password, a code or a card is protected.
func TestFieldsOfRealPages(t *testing.T) {
	dir, index, names := annotatedPages(t)
	p := newTab(t)
	_, err := cdpt.Call(t.Context(), p.s, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	check(t, err)
	var sum score
	for _, name := range names {
		_, err = cdpt.Call(t.Context(), p.s, page.Navigate, page.NavigateParams{URL: "about:blank"})
		check(t, err)
		p.put(outside.ReplaceAllString(gunzip(t, filepath.Join(dir, name+".gz")), ""))
		f := p.frame()
		fields, _ := json.Marshal(index.Pages[name].Fields)
		var all []annotated
		check(t, json.Unmarshal([]byte(p.eval(p.world(), oracle+"("+string(fields)+")")), &all))
		sum.add(t, name, f, all)
	}
	t.Logf("%d fields to be seen: %d once in the digest, %d with a name; %d hidden ones, %d of them in the digest; %d secret ones, %d protected", sum.seen, sum.once, sum.named, sum.hidden, sum.wrong, sum.secret, sum.protected)
	if sum.seen < 300 || sum.secret < 20 {
		t.Error("too few fields were looked at")
	}
	if sum.once*100 < sum.seen*99 || sum.named*100 < sum.seen*99 || sum.wrong > 0 || sum.protected < sum.secret {
		t.Error("not good enough")
	}
}

// outside are the elements that would be fetched, and cannot be here.
var outside = regexp.MustCompile(`(?is)<(?:link|meta)\b[^>]*>|<script\b[^>]*\bsrc=[^>]*>|<iframe\b[^>]*>|\bsrc=["']?http[^\s>]*`)

type score struct{ seen, once, named, hidden, wrong, secret, protected int }

// secretTypes are the annotations of passwords, codes and cards.
var secretTypes = []string{"p1", "p2", "pi", "c#", "cs", "ch", "cm", "cy"}

func (s *score) add(t *testing.T, name string, f *digest.Frame, all []annotated) {
	for _, a := range all {
		var found []digest.Element
		for _, e := range f.Elements {
			if a.N != 0 && e.Node == a.N {
				found = append(found, e)
			}
		}
		what := fmt.Sprintf("%s: %s %q (%s)", name, a.Type, a.Name, a.T)
		if !a.Seen {
			s.hidden++
			tick := a.Type == "checkbox" || a.Type == "radio" || a.Type == "file"
			if len(found) > 0 && !tick {
				s.wrong++
				t.Log("hidden, but listed: ", what, found[0].Box)
			}
			continue
		}
		s.seen++
		if len(found) == 1 {
			s.once++
			if sensible(found[0]) {
				s.named++
			} else {
				t.Logf("no name: %s %q", what, found[0].Name)
			}
			if os.Getenv("DUMP_NAMES") != "" {
				t.Logf("name: %s %q", what, found[0].Name)
			}
		} else {
			t.Logf("%d times: %s", len(found), what)
		}
		if len(found) == 1 && found[0].Protected && a.Type != "password" {
			t.Logf("protected, too: %s %q", what, found[0].Name)
		}
		if slices.Contains(secretTypes, a.T) && !(a.T == "p1" && strings.HasSuffix(a.Name, "username")) { // one user name is annotated as a password
			s.secret++
			if len(found) > 0 && found[0].Protected {
				s.protected++
			} else {
				t.Log("not protected: ", what)
			}
		}
	}
}

// sensible names say something: a letter or digit, and not just the kind.
func sensible(e digest.Element) bool {
	return strings.IndexFunc(e.Name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 && e.Name != e.Tag && (e.Name != e.Type || e.Type == "password")
}

func gunzip(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	check(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	check(t, err)
	b, err := io.ReadAll(z)
	check(t, err)
	return string(b)
}
