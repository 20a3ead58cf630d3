package look_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// controls are pages, and the lines that their elements have in a digest,
// without the index.
var controls = []struct {
	name, html string
	want       string
}{
	{"links", `<a href=/x>Plain</a> <a>No target</a> <a href=/y><img alt=Cart width=20 height=20></a> <a href="/z/reports.html"><span style="display:inline-block;width:20px;height:20px;background:red"></span></a>`,
		`link "Plain" -> /x
link "Cart" -> /y
link "reports.html" -> /z/reports.html`},
	{"buttons", `<button>One</button><input type=submit><input type=reset value=Clear><input type=button value=Press><button aria-pressed=true>Bold</button><div role=button>Div</div>`,
		`button "One"
button "Submit"
button "Clear"
button "Press"
button "Bold" (pressed)
button "Div"`},
	{"inputs of every type", `<label>A <input type=text value=v></label><label>B <input type=email required></label><label>C <input type=number min=1 max=9 value=3></label><label>D <input type=date value=2026-01-02></label>
<label>E <input type=color value=#112233></label><label>F <input type=range min=0 max=10 value=4></label><label>G <input type=checkbox checked></label><label>H <input type=radio></label><label>I <input type=search></label>
<label>J <input type=tel></label><label>K <input type=url></label><label>L <input type=file></label><label>M <input type=time></label><label>N <input type=month></label><label>O <input type=week></label><label>P <input type=datetime-local></label><input type=hidden value=x>`,
		`input "A" = "v"
input(email) "B" (required)
input(number) "C" = "3" of 1..9
input(date) "D" = "2026-01-02"
input(color) "E" = "#112233"
input(range) "F" = "4" of 0..10
checkbox "G" (checked)
radio "H" (unchecked)
input(search) "I"
input(tel) "J"
input(url) "K"
input(file) "L"
input(time) "M"
input(month) "N"
input(week) "O"
input(datetime-local) "P"`},
	{"states", `<label>A <input disabled></label><label>B <input readonly value=r></label><label>C <input aria-invalid=true></label><fieldset disabled><label>D <input></label></fieldset><button aria-disabled=true>E</button>
<input type=checkbox aria-label=F id=f><script>document.getElementById('f').indeterminate=true</script><div role=tab aria-selected=true>G</div><button aria-expanded=false>H</button><a href=/ aria-current=page>I</a><div role=switch aria-checked=false tabindex=0>J</div>`,
		`input "A" (disabled)
input "B" (readonly) = "r"
input "C" (invalid)
input "D" (disabled)
button "E" (disabled)
checkbox "F" (mixed)
tab "G" (selected)
button "H" (collapsed)
link "I" -> / (current)
switch "J" (unchecked)`},
	{"selects", `<label>Plan <select><option>Starter<option selected>Pro<option disabled>Old</select></label><select multiple aria-label=Many size=3><optgroup label="Group, one"><option selected>a<option selected>b</optgroup><option>c, d</select>`,
		`select "Plan" = "Pro" [Starter, Pro, Old (disabled)]
select "Many" (multiple) = "a, b" ["Group, one": a, b, "c, d"]`},
	{"ARIA widgets", `<div role=slider tabindex=0 aria-label=Volume aria-valuenow=3 aria-valuemin=0 aria-valuemax=10>x</div><div role=combobox tabindex=0 aria-label=Country aria-expanded=false>France</div>
<div role=spinbutton tabindex=0 aria-label=Count aria-valuenow=2>2</div><ul role=menu><li role=menuitem>Cut</li><li role=menuitemcheckbox aria-checked=true>Wrap</li></ul><div role=textbox tabindex=0 contenteditable aria-label=Memo>typed</div>`,
		`slider "Volume" = "3" of 0..10
combobox "Country" (collapsed) = "France"
spinbutton "Count" = "2"
menuitem "Cut"
menuitemcheckbox "Wrap" (checked)
textbox "Memo" = "typed"`},
	{"contenteditable", `<p id=l>Post</p><div contenteditable aria-labelledby=l>old <b>text</b></div>`, `textbox "Post" = "old text"`},
	{"details", `<details><summary>More</summary><button>In</button></details><details open><summary>Less</summary><button>Out</button></details>`,
		`button "More" (collapsed)
button "Less" (expanded)
button "Out"`},
	{"labels", `<label for=a>First</label><input id=a><span id=s>Second</span><input aria-labelledby=s><label>Third <input> pieces</label><input title=Fourth><input placeholder=Fifth><label>Flash <input type=checkbox> the screen <input type=number value=3 aria-label=times> times</label>`,
		`input "First"
input "Second"
input "Third pieces"
input "Fourth"
input "Fifth"
checkbox "Flash the screen 3 times" (unchecked)
input(number) "times" = "3"`},
	{"names without markup", `<table><tr><td>Email:</td><td><input name=e1></td></tr></table><div>Zip<br><input name=z></div><input type=radio name=r> Yes <br><input name="user[first_name]"><p><select name=sortOrder><option>x</select>`,
		`input "Email"
input "Zip"
radio "Yes" (unchecked)
input "first name"
select "sort Order" = "x" [x]`},
	{"clickables without a role", `<div onclick=1>Attr</div><div style="cursor:pointer">Looks</div><div data-action="click->x#y">Delegated</div><div id=h>Listens</div><script>document.getElementById('h').addEventListener('click',()=>{})</script>
<div style="cursor:pointer"><a href=/in>Inner link</a></div><div>Nothing</div><img src="a/reload.png" width=30 height=30 onclick=1>`,
		`clickable "Attr"
clickable "Looks"
clickable "Delegated"
clickable "Listens"
link "Inner link" -> /in
img "reload.png"`},
	{"media", `<video controls src="clip.mp4" width=200 height=100></video><audio controls title="Theme"></audio><video width=100 height=100></video>`,
		`video "clip.mp4" = "paused"
audio "Theme" = "paused"`},
	{"image controls", `<input type=image src=go.png width=40 height=40><img usemap=#m width=90 height=40 src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><map name=m><area shape=rect coords=0,0,45,40 href=#west><area shape=rect coords=45,0,90,40 href=#east alt="East wing"></map><svg role=button tabindex=0 width=30 height=30><title>Reload</title><rect width=30 height=30 /></svg>`,
		`button "go.png"
link "#west" -> #west
link "East wing" -> #east
button "Reload"`},
	{"restyled boxes to tick", `<style>.k{position:absolute;opacity:0;width:0;height:0}.c{position:absolute;clip:rect(0 0 0 0);width:1px;height:1px}</style><label><input class=k type=checkbox checked>Mentor</label><label><input class=c type=radio>Express</label><label style="border:1px solid">Choose<input type=file style="display:none"></label>`,
		`checkbox "Mentor" (checked)
radio "Express" (unchecked)
input(file) "Choose"`},
	{"an invisible file input over a button", `<div style="position:relative;width:100px;height:30px;background:#ccc">Upload<input type=file style="position:absolute;inset:0;opacity:0"></div>`, `input(file) "Upload"`},
	{"nested controls", `<div role=button tabindex=0 aria-label="Open order 17" style="position:relative;height:90px"><span>Order 17</span><button>Delete</button></div>`, "button \"Open order 17\"\nbutton \"Delete\""},
	{"rows", `<table><tr><td>Invoice 1</td><td>$10</td><td><button>Delete</button></td></tr><tr><td>Invoice 2</td><td>$20</td><td><button>Delete</button></td></tr></table>
<div class=card><h3><a href=/a>Lamp</a></h3><span>$40</span><button>Add</button></div><div class=card><h3><a href=/b>Chair</a></h3><span>$50</span><button>Add</button></div>`,
		`button "Delete" in row "Invoice 1 · $10"
button "Delete" in row "Invoice 2 · $20"
link "Lamp" -> /a
button "Add" in row "Lamp · $40"
link "Chair" -> /b
button "Add" in row "Chair · $50"`},
	{"what flows in a line is one part of a row", `<section><h3>Lamp</h3><p>By <b>Ane</b>, <s>$60</s> <b>$4<sup>50</sup></b><br>Two</p><button>Add</button></section><section><h3>Chair</h3><p>Sold<button>Add</button>out</p></section>`,
		`button "Add" in row "Lamp · By Ane, $60 $4 · 50 · Two"
button "Add" in row "Chair · Sold · out"`},
	{"open and closed shadow roots", `<x-menu></x-menu><x-sealed></x-sealed><div id=d></div><script>
customElements.define('x-menu',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<button>Deep</button><slot></slot>'}});
customElements.define('x-sealed',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'closed'}).innerHTML='<button>Sealed</button><x-inner></x-inner>'}});
customElements.define('x-inner',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'closed'}).innerHTML='<button>Twice sealed</button>'}});
document.getElementById('d').attachShadow({mode:'closed'}).innerHTML='<a href=/s>In a div</a>'</script>`,
		`button "Deep"
button "Sealed"
button "Twice sealed"
link "In a div" -> /s`},
	{"slots", `<x-card><button slot=b>Second</button><button>First</button><button slot=none>Nowhere</button></x-card><script>customElements.define('x-card',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<slot></slot><slot name=b></slot>'}})</script>`,
		"button \"First\"\nbutton \"Second\""},
	{"a modal dialog", `<a href=/1>Behind</a><dialog id=d><button>Close</button></dialog><script>d.showModal()</script>`, `button "Close" (focused)`},
	{"inert", `<div inert><button>Dead</button></div><button>Alive</button>`, `button "Alive"`},
	{"covered", `<button style="position:absolute;top:100px">Under</button><div style="position:fixed;inset:0;background:#0008"></div>`, `button "Under" (covered)`},
	{"a wrapped link is not covered", `<div style="width:200px;text-align:right">some words first <a href=/w>a link on two lines of text, that is long</a></div>`, `link "a link on two lines of text, that is long" -> /w`},
	{"display: contents", `<a href=/c style="display:contents"><span style="display:inline-block">Contents</span></a>`, `link "Contents" -> /c`},
	{"visible in hidden", `<div style="visibility:hidden"><button>Sunk</button><button style="visibility:visible">Island</button></div>`, `button "Island"`},
	{"hidden in all ways", `<button style="display:none">M1</button><button hidden>M2</button><button style="visibility:hidden">M3</button><button style="opacity:0">M4</button><button style="opacity:.01">M5</button><button style="position:absolute;left:-9999px">M6</button>
<button style="position:absolute;clip-path:inset(100%)">M7</button><button style="transform:scale(0)">M8</button><div style="width:0;height:0;overflow:hidden"><button>M9</button></div><a href=/ style="color:#fff">M10</a><div style="opacity:0"><a href=/>M11</a></div>
<div style="height:20px;overflow:hidden"><p style="margin:0 0 90px">x</p><button>M12</button></div><input style="opacity:0" aria-label=M13><a href=/ style="font-size:0">M14</a><div style="filter:opacity(0)"><button>M15</button></div><button style="position:fixed;top:-90px">M16</button>`, ``},
	{"hidden text names nothing", `<a href=/a>Seen <span style="color:#fff">INK</span><span style="display:none">NONE</span><span style="opacity:0">OP</span></a>`, `link "Seen" -> /a`},
	{"what only screen readers say belongs to a name", `<a href=/a>Read more<span style="position:absolute;width:1px;height:1px;clip:rect(0,0,0,0);overflow:hidden"> about cats</span></a>`, `link "Read more about cats" -> /a`},
}

func TestEachKindOfControl(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	for _, c := range controls {
		p.write(`<base href="https://site.test/"><body>` + c.html)
		var got []string
		for _, l := range lines(p.frame()) {
			_, l, _ = strings.Cut(l, "] ")
			got = append(got, l)
		}
		if d := cmp.Diff(strings.Split(c.want, "\n"), got); d != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, d)
		}
	}
}
