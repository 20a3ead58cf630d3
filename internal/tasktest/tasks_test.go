package tasktest

// task is a page, what to do on it, and what its server is told then.
type task struct {
	name, html string
	steps      []string
	want       string
}

var tasks = []task{
	{"colours", `<style>.c{display:inline-block;width:60px;height:60px;margin:4px}</style><p>Choose the blue one.</p><div id=all></div><script>
for (const c of ['red', 'lime', 'blue', 'gold']) { const d = document.createElement('div'); d.className = 'c'; d.dataset.color = c; d.style.backgroundColor = c; on(d, 'click', () => done(c)); all.append(d) }</script>`,
		[]string{`click clickable "blue"`}, "blue"},
	{"shapes", `<svg width=300 height=150><circle cx=40 cy=40 r=20 fill=red /><rect x=90 y=20 width=40 height=40 fill=blue /><text x=160 y=45 fill=green>T7</text><a href="#in"><polygon points="220,20 260,20 240,60"><title>Warning</title></polygon></a></svg>
<script>for (const s of document.querySelectorAll('circle,rect,text')) on(s, 'click', () => done(s.localName))</script>`,
		[]string{`has "T7"`, `has link "Warning"`, `click "blue rect"`}, "rect"},
	{"mail", `<style>.i{display:inline-block;width:18px;height:18px;background:#999}.m{border:1px solid;padding:4px}</style><div id=box></div><script>
for (const who of ['Ann', 'Bob', 'Cyd']) { const d = document.createElement('div'); d.className = 'm'; d.innerHTML = '<b>' + who + '</b> <span>Re: lunch</span> <span class="i star"></span> <span class="i trash"></span>'; box.append(d);
for (const x of ['star', 'trash']) on($('.' + x, d), 'click', () => done(x + ' ' + who)) }</script>`,
		[]string{`click "star" & Bob`, `has "star" in row "Bob`}, "star Bob"},
	{"tree", `<ul id=t><li><span class=f>Fruit</span><ul hidden><li><span class=f>Citrus</span><ul hidden><li><span class=l>Lemon</span><li><span class=l>Lime</span></ul></ul><li><span class=f>Nuts</span><ul hidden><li><span class=l>Almond</span></ul></ul>
<script>on(t, 'click', e => { if (e.target.matches('.f')) e.target.nextElementSibling.hidden ^= 1; if (e.target.matches('.l')) done(e.target.textContent) })</script>`,
		[]string{`click "Fruit"`, `click "Citrus"`, `click "Lime"`}, "Lime"},
	{"calendar", `<label>Date <input id=d readonly></label><button id=ok>Submit</button><table id=c hidden><caption><a href="#" id=prev>‹ Prev</a> <span id=m></span></caption></table><script>
let m = 6; const draw = () => { $('#m').textContent = 'Month ' + m; c.querySelectorAll('tr').forEach(r => r.remove()); for (let w = 0; w < 5; w++) { const r = c.insertRow(); for (let i = 1; i <= 7; i++) { const n = w * 7 + i, td = r.insertCell(); if (n <= 30) td.innerHTML = '<a href="#">' + n + '</a>' } } };
draw(); on(d, 'click', () => { c.hidden = false }); on(prev, 'click', e => { e.preventDefault(); m--; draw() });
on(c, 'click', e => { if (e.target.closest('td a')) { e.preventDefault(); d.value = m + '/' + e.target.textContent; c.hidden = true } }); on(ok, 'click', () => done(d.value))</script>`,
		[]string{`refuse-fill "Date" = not_editable`, `click input "Date"`, `click "‹ Prev"`, `click link "17"`, `click button "Submit"`}, "5/17"},
	{"suggestions", `<style>#s li:hover{background:#ddd}</style><label>Country <input id=q autocomplete=off></label><ul id=s hidden></ul><button id=ok>OK</button><script>
let timer; on(q, 'input', () => { clearTimeout(timer); timer = setTimeout(() => { s.replaceChildren(); for (const x of ['Norway', 'North Macedonia', 'Nauru']) if (x.toLowerCase().startsWith(q.value.toLowerCase())) { const li = document.createElement('li'); li.textContent = x; s.append(li) } s.hidden = false }, 300) });
on(s, 'mousedown', e => { q.value = e.target.textContent; s.hidden = true; e.preventDefault() }); on(ok, 'click', () => done(q.value))</script>`,
		[]string{`fill "Country" = nor`, `click "Norway"`, `click "OK"`}, "Norway"},
	{"tabs", `<div role=tablist><a role=tab href="#a" aria-selected=true>One</a><a role=tab href="#b" aria-selected=false>Two</a></div><div id=a role=tabpanel><button onclick="done('one')">Take</button></div><div id=b role=tabpanel hidden><button onclick="done('two')">Take</button></div><script>
document.querySelectorAll('[role=tab]').forEach(t => on(t, 'click', e => { e.preventDefault(); document.querySelectorAll('[role=tab]').forEach(o => { o.setAttribute('aria-selected', o === t); $(o.getAttribute('href')).hidden = o !== t }) }))</script>`,
		[]string{`click tab "Two"`, `click "Take"`}, "two"},
	{"accordion", `<style>.p{max-height:0;overflow:hidden;transition:max-height .3s}.open .p{max-height:200px}</style><section><h3 tabindex=0>Shipping</h3><div class=p><p>Ships on Mondays.</p><button onclick="done('ship')">Track</button></div></section><section><h3 tabindex=0>Returns</h3><div class=p><p>Within 30 days.</p><button onclick="done('return')">Return it</button></div></section>
<script>document.querySelectorAll('h3').forEach(h => on(h, 'click', () => h.parentNode.classList.toggle('open')))</script>`,
		[]string{`lacks Return it`, `click "Returns"`, `has 30 days`, `click "Return it"`}, "return"},
	{"slider", `<div id=h role=slider tabindex=0 aria-label=Volume aria-valuemin=0 aria-valuemax=20 aria-valuenow=5 style="width:40px;height:20px;background:#88f"></div><button id=ok>OK</button><script>
on(h, 'keydown', e => { const d = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -99, End: 99 }[e.key]; if (d) { h.setAttribute('aria-valuenow', Math.max(0, Math.min(20, +h.getAttribute('aria-valuenow') + d))); e.preventDefault() } }); on(ok, 'click', () => done(h.getAttribute('aria-valuenow')))</script>`,
		[]string{`fill slider "Volume" = 12`, `has "12" of 0..20`, `click "OK"`}, "12"},
	{"spinner", `<label for=n>Guests</label><input id=n value=1 role=spinbutton aria-valuenow=1><button aria-label=More onclick="n.value=+n.value+1">+</button><button aria-label=Fewer onclick="n.value=+n.value-1">-</button><button onclick="done(n.value)">OK</button>`,
		[]string{`click "More"`, `click "More"`, `has "3"`, `click "OK"`}, "3"},
	{"listbox", `<button id=b aria-haspopup=listbox aria-expanded=false>Size</button><ul id=l role=listbox hidden><li role=option>Small<li role=option>Large</ul><script>
on(b, 'click', () => { l.hidden = !l.hidden; b.setAttribute('aria-expanded', !l.hidden) }); on(l, 'click', e => { b.textContent = 'Size: ' + e.target.textContent; l.hidden = true; done(e.target.textContent) })</script>`,
		[]string{`click button "Size" & collapsed`, `has (expanded`, `click option "Large"`, `has Size: Large`}, "Large"},
	{"menus", `<style>ul{list-style:none;margin:0;padding:0;width:120px}li ul{display:none;position:absolute;left:130px;top:0;background:#eee}li{position:relative;padding:6px;background:#ddd;cursor:pointer}li:hover>ul{display:block}</style><ul><li>File<ul><li onclick="done('open')">Open</li><li onclick="done('save')">Save as</li></ul></li><li>Edit<ul><li onclick="done('undo')">Undo</li></ul></li></ul>`,
		[]string{`click "File"`, `click "Save as"`}, "save"},
	{"rating", `<style>.r{border:0}.r input{position:absolute;opacity:0}.r label{font-size:30px}</style><fieldset class=r><legend>Rate it</legend><input type=radio name=s id=s1 value=1><label for=s1 title="1 star">★</label><input type=radio name=s id=s2 value=2><label for=s2 title="2 stars">★</label><input type=radio name=s id=s3 value=3><label for=s3 title="3 stars">★</label></fieldset><button onclick="done(document.querySelector('[name=s]:checked')?.value)">Send</button>`,
		[]string{`click 2 stars`, `click "Send"`}, "2"},
	{"table-rows", `<style>tr.on{background:#cdf}</style><table id=t><tr><th>Name<th>Price</tr><tr data-id=7><td>Lamp<td>$4</tr><tr data-id=8><td>Chair<td>$9</tr></table><script>on(t, 'click', e => { const r = e.target.closest('tr[data-id]'); if (r) done(r.dataset.id) })</script>`,
		[]string{`click "Chair`}, "8"},
	{"noughts", `<style>td{width:50px;height:50px;border:1px solid}</style><table id=t></table><script>for (let r = 0; r < 3; r++) { const row = t.insertRow(); for (let c = 0; c < 3; c++) { const td = row.insertCell(); td.id = 'cell-' + r + '-' + c; on(td, 'click', () => { td.textContent = 'X'; done(td.id) }) } }</script>`,
		[]string{`click "cell 1 2"`}, "cell-1-2"},
	{"transfer", `<label>From <select id=a multiple size=4><option>Ada<option>Bea<option>Cleo<option>Dora</select></label><button onclick="for(const o of [...a.selectedOptions])b.append(o)">Move</button><label>To <select id=b multiple size=4></select></label><button onclick="done([...b.options].map(o=>o.text))">Save</button>`,
		[]string{"fill \"From\" = Bea\nDora", `click "Move"`, `click "Save"`}, "Bea,Dora"},
	{"endless", `<ul id=u style="margin:0"></ul><div id=end style="height:20px">more below</div><script>let n = 0; const add = () => { for (let i = 0; i < 30; i++) { const li = document.createElement('li'); li.style.height = '40px'; li.innerHTML = '<a href="#" >Post ' + ++n + '</a>'; u.append(li) } }; add();
new IntersectionObserver(e => { if (e[0].isIntersecting && n < 120) add() }).observe(end); on(u, 'click', e => { e.preventDefault(); if (e.target.matches('a')) done(e.target.textContent) })</script>`,
		[]string{`lacks Post 45"`, `scroll`, `scroll`, `look`, `click "Post 45"`}, "Post 45"},
	{"seen-first", `<div id=end style="height:20px">wait</div><script>new IntersectionObserver(([e]) => { if (e.isIntersecting) { end.innerHTML = '<button onclick="done(1)">Lazy</button>' } }).observe(end)</script>`,
		[]string{`click "Lazy"`}, "1"},
	{"wizard", `<form id=f novalidate><div id=one><label>Name <input id=n></label><span id=err role=alert></span></div><div id=two hidden><label><input type=radio name=k value=air> Air</label><label><input type=radio name=k value=sea> Sea</label></div><button type=button id=go>Next</button></form><script>
on(go, 'click', () => { if (!one.hidden) { if (!n.value) { err.textContent = 'Name is missing'; n.setAttribute('aria-invalid', 'true'); return } one.hidden = true; two.hidden = false; go.textContent = 'Finish' } else done(n.value + ' ' + f.k.value) })</script>`,
		[]string{`click "Next"`, `has Name is missing`, `has (invalid`, `fill "Name" = Eve`, `click "Next"`, `click radio "Sea"`, `click "Finish"`}, "Eve sea"},
	{"stacked-dialogs", `<dialog id=a><p>Second</p><button onclick="done('a')">In second</button><button onclick="a.close()">Close second</button></dialog><dialog id=b><p>First</p><button onclick="done('b')">In first</button></dialog><button>Behind</button><script>b.showModal(); a.showModal()</script>`,
		[]string{`lacks "In first"`, `lacks "Behind"`, `click "Close second"`, `click "In first"`}, "b"},
	{"shadow-dialog", `<button onclick="done('behind')">Behind</button><x-dialog></x-dialog><script>customElements.define('x-dialog', class extends HTMLElement { connectedCallback() { const r = this.attachShadow({ mode: 'open' }); r.innerHTML = '<dialog><button>Agree</button></dialog>'; const d = r.querySelector('dialog'); d.showModal(); on(r.querySelector('button'), 'click', () => { d.close(); done('agreed') }) } })</script>`,
		[]string{`lacks "Behind"`, `click "Agree"`, `has "Behind"`}, "agreed"},
	{"popover", `<button popovertarget=p>More</button><div id=p popover><button onclick="done('shared')">Share</button></div>`,
		[]string{`lacks "Share"`, `click "More"`, `click "Share"`}, "shared"},
	{"hover-swap", `<style>#w{position:relative;width:120px;height:40px}#w button{position:absolute;inset:0}#w .evil{display:none}#w:hover .evil{display:block}</style><div id=w><button onclick="done('safe')">Safe</button><button class=evil onclick="done('deleted')">Delete everything</button></div>`,
		[]string{`refuse "Safe" = covered`}, ""},
	{"swap-on-press", `<div id=w><button id=s>Safe</button></div><script>on(s, 'pointerover', () => { w.innerHTML = '<button onclick="done(\'deleted\')">Delete everything</button>' })</script>`,
		[]string{`refuse "Safe" = rejected`}, ""},
	{"focus-theft-on-select", `<label>Name <input id=a></label><label>Note <input id=b></label><script>on(a, 'select', () => b.focus()); on(b, 'input', () => done('stolen ' + b.value))</script>`,
		[]string{`fill "Name" = Eve`}, ""},
	{"focus-theft-on-input", `<label>Name <input id=a></label><label>Note <input id=b></label><script>on(a, 'beforeinput', () => b.focus()); on(b, 'input', () => done('stolen ' + b.value)); on(a, 'input', () => done('typed ' + a.value))</script>`,
		[]string{`fill "Name" = Eve`}, "typed Eve"},
	{"focus-theft-for-ever", `<label>Name <input id=a></label><label>Note <input id=b></label><script>let on1 = false; on(a, 'beforeinput', () => { on1 = true; b.focus() }); on(a, 'focus', () => { if (on1) b.focus() }); on(b, 'input', () => done('stolen ' + b.value))</script>`,
		[]string{`try-fill "Name" = Eve`}, ""},
	{"focus-theft-by-frame", `<label>Name <input id=a></label><iframe id=f srcdoc="&lt;input id=i&gt;"></iframe><script>on(a, 'beforeinput', () => { const i = f.contentDocument.getElementById('i'); on(i, 'input', () => done('stolen ' + i.value)); f.contentWindow.focus(); i.focus() })</script>`,
		[]string{`try-fill "Name" = Eve`}, ""},
	{"select-key", `<button id=x onclick="done('wrong')">Danger</button><label>Plan <select id=s><option>Basic<option>Pro</select></label><script>x.focus(); on(s, 'keydown', e => { if (e.key === 'Enter') done(s.value) })</script>`,
		[]string{`enter "Plan" = Pro`}, "Pro"},
	{"advance", `<form id=f><label>Code <input id=a></label><button id=x type=button onclick="done('wrong')">Reset</button></form><script>on(a, 'input', () => x.focus()); on(f, 'submit', e => { e.preventDefault(); done('sent ' + a.value) })</script>`,
		[]string{`submit "Code" = 77`}, "sent 77"},
	{"select-reverts", `<label>Plan <select id=s><option>Basic<option>Pro</select></label><script>on(s, 'change', () => { s.value = 'Basic'; done('changed') })</script>`,
		[]string{`fill "Plan" = Pro`, `has now holds "Basic"`}, "changed"},
	{"rerender", `<div id=r></div><script>let v = ''; const draw = () => { r.innerHTML = '<label>Filter <input value="' + v + '"></label><ul>' + ['apple', 'pear', 'plum'].filter(x => x.includes(v)).map(x => '<li><a href="#' + x + '">' + x + '</a>').join('') + '</ul>' }; draw();
on(r, 'input', e => { v = e.target.value; draw() }); on(r, 'click', e => { if (e.target.matches('a')) { e.preventDefault(); done(e.target.textContent) } })</script>`,
		[]string{`fill "Filter" = pl`, `lacks link "pear"`, `click "plum"`}, "plum"},
	{"media", `<video controls width=300 height=150 src="data:video/mp4;base64,"></video><button onclick="done('x')">Next</button>`,
		[]string{`has video`, `has paused`, `click "Next"`}, "x"},
	{"countdown", `<button id=b disabled>Continue (5)</button><script>let n = 5; const t = setInterval(() => { b.textContent = --n ? 'Continue (' + n + ')' : 'Continue'; if (!n) { b.disabled = false; clearInterval(t) } }, 2000); on(b, 'click', () => done('went on'))</script>`,
		[]string{`refuse "Continue ( = element_disabled`, `wait nothing that is there`, `click "Continue"`}, "went on"},
	{"toast", `<button id=b>Save</button><div id=t></div><script>on(b, 'click', () => { setTimeout(() => { t.textContent = 'Saved as draft 12'; done('saved'); setTimeout(() => { t.textContent = '' }, 3000) }, 400) })</script>`,
		[]string{`click "Save"`, `has Saved as draft 12`}, "saved"},
	{"new-page", `<a href="http://other.tasks.test/there" target=_blank>Open it</a>`,
		[]string{`click "Open it"`, `has page 2 was opened`, `has there`}, ""},
	{"labels", `<label for=t>I agree to <a href="#terms">the terms</a></label> <input type=checkbox id=t><label>Colour<select id=c><option>red<option>blue</select></label><button onclick="done(t.checked+' '+c.value)">Go</button>`,
		[]string{`fill checkbox "I agree = checked`, `fill "Colour" = blue`, `click "Go"`}, "true blue"},
	{"editor", `<style>[contenteditable]{border:1px solid;min-height:40px}</style><button aria-pressed=false id=bold>B</button><div id=e contenteditable role=textbox aria-label=Body></div><button onclick="done(e.innerText.trim())">Post</button>`,
		[]string{"fill \"Body\" = Hello\nworld 👋", `click "Post"`}, "Hello\nworld 👋"},
	{"frames", `<iframe srcdoc="&lt;label&gt;Inner &lt;input id=i&gt;&lt;/label&gt;&lt;button onclick=&quot;parent.done(i.value)&quot;&gt;Inner send&lt;/button&gt;" width=300 height=80></iframe>`,
		[]string{`fill "Inner" = deep`, `click "Inner send"`}, "deep"},
	{"confirm", `<button onclick="done(confirm('Delete the list?'))">Delete</button>`,
		[]string{`accept "Delete"`, `has confirm "Delete the list?"`}, "true"},
	{"delegated", `<div id=u><div class=item>Tea</div><div class=item>Coffee</div><div class=item>Milk</div></div><script>on(u, 'click', e => { if (e.target.className === 'item') done(e.target.textContent) })</script>`,
		[]string{`click "Coffee"`}, "Coffee"},
	{"todo", `<style>.x{display:none}li:hover .x{display:inline}</style><input id=n placeholder="What needs to be done?"><ul id=u></ul><script>
on(n, 'keydown', e => { if (e.key !== 'Enter' || !n.value) return; const li = document.createElement('li'); li.innerHTML = '<input type=checkbox class=t><label></label><button class=x>×</button>'; li.querySelector('label').textContent = n.value; n.value = ''; u.append(li);
on(li.querySelector('.x'), 'click', () => { li.remove(); done([...u.querySelectorAll('label')].map(l => l.textContent)) }) })</script>`,
		[]string{`enter "What needs to be done?" = Milk`, `enter "What needs to be done?" = Bread`, `click checkbox "Milk"`, `has (checked`, `click "×"`}, "Bread"},
	{"twins", `<form aria-label="Sign in" onsubmit="event.preventDefault();done('in')"><button>Go</button></form><form aria-label="Register" onsubmit="event.preventDefault();done('new')"><button>Go</button></form>`,
		[]string{`click "Go" in group "Register"`}, "new"},
	{"questions", `<table><tr><th>Question<th>Agree<th>Neutral<th>Disagree</tr><tr><td>It works<td><input type=radio name=a value=1><td><input type=radio name=a value=2><td><input type=radio name=a value=3></tr><tr><td>It is quick<td><input type=radio name=b value=1><td><input type=radio name=b value=2><td><input type=radio name=b value=3></tr></table><button onclick="done([...document.querySelectorAll(':checked')].map(x=>x.name+x.value))">Send</button>`,
		[]string{`click radio "Disagree" & It works`, `click radio "Agree" & It is quick`, `click "Send"`}, "a3,b1"},
	{"upload", `<label>Photo <input type=file id=f></label><button onclick="done(f.files.length)">Send</button>`,
		[]string{`click "Photo"`, `has file chooser cancelled`, `click "Send"`}, "0"},
	{"script-link", `<a href="javascript:done('ran')">Run</a>`, []string{`click "Run"`}, "ran"},
	{"inner-scroll", `<div style="height:100px;overflow:auto;border:1px solid" id=s></div><script>for (let i = 1; i <= 60; i++) { const b = document.createElement('button'); b.textContent = 'Choice ' + i; b.style.display = 'block'; on(b, 'click', () => done(i)); s.append(b) }</script>`,
		[]string{`click "Choice 47"`}, "47"},
	{"plaintext", `<div id=e contenteditable=plaintext-only aria-label=Note>old</div><button onclick="done(e.textContent)">Save</button>`,
		[]string{`fill "Note" = new text`, `click "Save"`}, "new text"},
	{"switch", `<div id=w role=switch tabindex=0 aria-checked=false aria-label=Alerts style="width:40px;height:20px;background:#999"></div><script>on(w, 'click', () => { w.setAttribute('aria-checked', w.getAttribute('aria-checked') !== 'true'); done(w.getAttribute('aria-checked')) })</script>`,
		[]string{`fill switch "Alerts" = checked`, `has (checked`}, "true"},
	{"press-menu", `<button id=b>Options</button><div id=m hidden><div class=o>Copy</div><div class=o>Paste</div></div><script>on(b, 'mousedown', () => { m.hidden = false }); on(document, 'mousedown', e => { if (!m.contains(e.target) && e.target !== b) m.hidden = true }); for (const o of m.querySelectorAll('.o')) on(o, 'mouseup', () => { m.hidden = true; done(o.textContent) })</script>`,
		[]string{`click "Options"`, `click "Paste"`}, "Paste"},
	{"late-button", `<button id=b>Load</button><script>on(b, 'click', () => setTimeout(() => { const n = document.createElement('button'); n.textContent = 'Loaded'; on(n, 'click', () => done('loaded')); document.body.append(n) }, 2500))</script>`,
		[]string{`click "Load"`, `click "Loaded"`}, "loaded"},
	{"repaint-on-press", `<div id=r></div><script>let n = 0; const draw = () => { r.innerHTML = '<button>Add</button><p>' + n + ' in it</p>' }; draw(); on(r, 'click', e => { if (e.target.matches('button')) { n++; draw(); if (n === 3) done(n) } }); on(r, 'mouseover', () => {})</script>`,
		[]string{`click "Add"`, `click "Add"`, `click "Add"`, `has 3 in it`}, "3"},
	{"application", `<div id=root><h1>Plans</h1><p>Choose what fits.</p><div><span>Seats</span> <input name=x1></div><div class=c style="cursor:pointer">Basic plan</div><div class=d style="cursor:pointer">Team plan</div><button>Help</button><p>Prices without tax.</p></div><script>on(root, 'click', e => { if (e.target.matches('.d')) done('team ' + $('input').value) })</script>`,
		[]string{`has Choose what fits.`, `has Prices without tax.`, `fill input "Seats" = 4`, `click clickable "Team plan"`}, "team 4"},
	{"typed-inputs", `<form id=f><label>Day <input type=date name=d></label><label>Hour <input type=time name=t></label><label>Level <input type=range name=r min=0 max=10></label><label>Tint <input type=color name=c></label><label>How many <input type=number name=n></label><button>Send</button></form><script>on(f, 'submit', e => { e.preventDefault(); done([...new FormData(f).values()]) })</script>`,
		[]string{`fill "Day" = 2026-03-04`, `fill "Hour" = 07:30`, `fill "Level" = 8`, `fill "Tint" = #00ff00`, `fill "How many" = 3`, `click "Send"`}, "2026-03-04,07:30,8,#00ff00,3"},
}
