// What the walk notes: text and controls.

const NODES = 300000, DEPTH = 1000, CONTROLS = 20000; // beyond these the walk ends, and says so

const SKIP = set('script style template head meta link title base param source track noembed noframes datalist optgroup option rp ' +
  'desc metadata defs symbol clipPath mask pattern marker linearGradient radialGradient annotation annotation-xml col colgroup');
const ROLES = set('button link checkbox menuitem menuitemcheckbox menuitemradio option radio searchbox slider spinbutton switch tab textbox combobox treeitem');
const KNOWN_ROLES = set('alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure ' +
  'form generic grid gridcell group heading img image insertion link list listbox listitem log main marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation ' +
  'progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem');
const INPUT_ROLES = { button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', email: 'textbox', tel: 'textbox', text: 'textbox', url: 'textbox', password: 'textbox' };
const TYPED = set('text search email tel url password number date datetime-local month time week');
// What an author writes on an element that acts when it is clicked.
const HINTED = '[onclick],[onmousedown],[onmouseup],[onpointerdown],[onpointerup],[ontouchstart],[data-action],[data-click],[data-onclick],[data-toggle],[data-bs-toggle],[data-dismiss],[data-bs-dismiss],[data-href],[data-url],' +
  '[jsaction],[ng-click],[data-ng-click],[ng-reflect-router-link],[routerlink],[hx-get],[hx-post],[hx-put],[hx-delete],[phx-click],[wire\\:click],[x-on\\:click],[v-on\\:click],[\\@click],[up-follow],[data-turbo-method],[data-method],[data-remote]';
const HINTS = 'a,area,button,input,select,textarea,summary,label,audio,video,img,[role],[contenteditable],[tabindex],[aria-label],[aria-hidden],[aria-disabled],[inert],' + HINTED;

const entries = [], extra = [], lines = [], places = [], labels = [];
let nodes = 0, breaks = 0, gap = false, cut = false, hiddenChars = 0, hiddenBlocks = 0, inStretch = false, chars = 0;

const hide = data => {
  const n = squeeze(data).trim().length;
  if (!n) return;
  hiddenChars += n;
  if (!inStretch) hiddenBlocks++, inStretch = true;
};

let uncounted = NODES;
const hideTree = el => {
  const w = createTreeWalker.call(document, el, 4);
  for (let n; uncounted > 0 && (n = w.nextNode()); uncounted--) {
    const around = localName.call(parentNode.call(n));
    if (around !== 'noscript' && !SKIP.has(around)) hide(charData.call(n));
  }
};

// --- lines of text -------------------------------------------------------------

// A line is a list of runs of text and spaces. One that holds nothing but the
// names of controls is left out, because they are listed; headings stay.
// heading: how many are around.
let hash = 0; // of all text, as Java hashes strings
let line = [], lineChars = 0, ownChars = 0, heading = 0, spaced = true;

const endLine = () => {
  if (ownChars > 0) {
    if (chars < options.text) lines.push(line);
    chars += lineChars + 1;
  }
  if (line.length) line = [];
  lineChars = ownChars = 0, spaced = true;
};

const space = () => {
  if (spaced) return;
  if (chars < options.text) line.push(' ');
  lineChars++, spaced = true;
};

const count = s => /[\ud800-\udbff]/.test(s) ? [...s].length : s.length;

const addText = (run, own) => {
  let s = squeeze(run.data);
  if (spaced && s[0] === ' ') s = s.slice(1);
  if (!s) return;
  const n = count(s);
  for (let i = 0; i < s.length; i++) hash = (hash * 31 + s.charCodeAt(i)) | 0;
  if (chars < options.text) run.s = s, line.push(run);
  lineChars += n;
  spaced = s[s.length - 1] === ' ';
  if (own) ownChars += n;
};

// linesOut puts the lines together, without what an opaque layer covers.
const linesOut = () => {
  const out = [];
  for (const l of lines) {
    let s = '';
    for (const x of l) {
      if (x === ' ') s += x;
      else if (covers.length && covered(x)) hide(x.data);
      else s += x.s;
    }
    if ((s = squeeze(s).trim())) out.push(s);
  }
  return out;
};

// --- names from content ----------------------------------------------------------

// open are the controls around the current node, outermost first. An element
// with a label of its own mutes what is in it for the controls around it: the
// first mute of them.
// What only listens, or is only marked as if it did, may as well be what an
// application is in: it is open, but its text is text. hard counts the others.
const open = [];
let hard = 0;
const isSoft = e => (e.how === 'heard' || e.how === 'hint') && !e.p.pointer;
const addName = (s, mute) => { for (let i = mute; i < open.length; i++) if (open[i].content.length < NAME_CHARS) open[i].content += s; };

// --- text --------------------------------------------------------------------------

// text visits a text node. Beyond the text that was asked for, what is in the
// flow, opaque and not clipped is taken as seen until somebody wants to know.
const text = (n, p) => {
  if (++nodes > NODES) cut = true;
  const data = charData.call(n);
  if (!/[^ \t\n\r\f]/.test(data)) {
    if (data) space(), gap = true, addName(' ', p.mute);
    return;
  }
  const control = hard > 0 || p.editor, run = { n, data, p, control, breaks, gap, in: undefined, l: 0, t: 0, r: 0, b: 0, s: '' };
  gap = false;
  if (p.editor) return void runs.push(run);
  if (!boxed(p)) return hide(data);
  if (control && p.faint < 0) p.faint = faint(p);
  if (p.faint === HIDDEN) return faded(data);
  const later = chars >= options.text && !p.odd && p.faint !== SUSPECT;
  if (!later) {
    inSight(run);
    if (run.in === FADED) return faded(data);
    if (run.in !== SEEN) return addName(data, p.mute), hide(data);
  }
  inStretch = false;
  for (const e of open) e.written = true;
  addName(data, p.mute);
  runs.push(run);
  addText(run, !control || heading > 0);
};

const SEEN = 1, FADED = 2, AWAY = 3; // a run of text is in sight, in a colour that cannot be seen, or out of sight

// inSight decides once whether a run of text can be seen, and where it is.
const inSight = run => {
  if (run.in !== undefined) return run.in === SEEN;
  const { n, data, p } = run;
  if (p.faint < 0) p.faint = faint(p);
  range.selectNodeContents(n);
  const b = range.getBoundingClientRect();
  run.l = b.left, run.t = b.top, run.r = b.right, run.b = b.bottom;
  if (p.faint === HIDDEN) run.in = FADED;
  else if (!legible(b, data)) run.in = AWAY;
  else if (p.faint === SUSPECT && !contrasts(p, b)) run.in = FADED;
  else run.in = partSeen(b, p.st.clip) > .3 ? SEEN : AWAY;
  return run.in === SEEN;
};

// faded is text in a colour that cannot be seen: it names nothing either.
const faded = data => {
  hide(data);
  for (const e of open) e.faded = true;
};

// --- controls ------------------------------------------------------------------------

const roleOf = el => {
  for (const r of attr(el, 'role').toLowerCase().split(/[ \t\n\r\f]+/)) if (KNOWN_ROLES.has(r)) return r;
  return '';
};

const isLink = el => hasAttribute.call(el, 'href') || hasAttribute.call(el, 'xlink:href');

const nativeRole = (tag, el) => {
  switch (tag) {
    case 'a': case 'area': return isLink(el) ? 'link' : '';
    case 'button': case 'summary': return 'button';
    case 'select': return selectMultiple.call(el) || +attr(el, 'size') > 1 ? 'listbox' : 'combobox';
    case 'textarea': return 'textbox';
    case 'input': {
      const type = inputType(el);
      if (hasAttribute.call(el, 'list') && /^(?:text|search|email|tel|url)$/.test(type)) return 'combobox';
      return INPUT_ROLES[type] || '';
    }
  }
  return '';
};

const isSummary = el => {
  const d = parentNode.call(el);
  if (!(d instanceof HTMLDetailsElement)) return false;
  for (let e = previousElement.call(el); e; e = previousElement.call(e)) if (localName.call(e) === 'summary') return false;
  return true;
};

// controlOf tells how an element can be operated, if at all: 'native', 'role',
// 'editor', 'media', 'hint' (its author says so), 'heard' (it listens) or
// 'cursor' (it looks so).
const controlOf = (tag, el, p, hinted) => {
  if (hinted) {
    switch (tag) {
      case 'a': case 'area': if (isLink(el)) return 'native'; break;
      case 'button': case 'select': case 'textarea': return formClasses[tag] && el instanceof formClasses[tag] ? 'native' : '';
      case 'input': return el instanceof HTMLInputElement && inputType(el) !== 'hidden' ? 'native' : '';
      case 'summary': if (isSummary(el)) return 'native'; break;
      case 'audio': case 'video': if (hasAttribute.call(el, 'controls')) return 'media'; break;
    }
    if (ROLES.has(p.role)) return 'role';
    if (p.editor && !p.up?.editor) return 'editor';
    if (matches.call(el, HINTED)) return 'hint';
  }
  if (tag === 'label' || el === rootElement || el === bodyElement) return '';
  if (memory.ears && memory.heard.has(el)) return 'heard';
  return p.pointer && !p.up?.pointer && !hard ? 'cursor' : '';
};

const note = (how, tag, p) => {
  const own = ROLES.has(p.role) || how === 'editor' && p.role ? p.role : '';
  const e = { el: p.el, tag, how, p, role: own || nativeRole(tag, p.el) || (how === 'editor' ? 'textbox' : ''), content: '', written: false, faded: false, run: runs.length, line: lines.length, at: entries.length, inner: 0, image: '', pictures: null, via: null, gone: false, box: null };
  entries.push(e);
  return e;
};

const TRANSPARENT = /^(?:checkbox|radio|file|range|color|date)$/;
const big = b => b.right - b.left >= LEGIBLE && b.bottom - b.top >= LEGIBLE;

// present finds the box of a control that a person can see and operate.
const present = e => {
  const { p, el, tag } = e, clip = p.st.clip;
  const see = b => big(b) && seen(b.left, b.top, b.right, b.bottom, clip) > 0 ? b : null;
  if (tag === 'area') {
    const img = imageOf(el), b = img && areaBox(el);
    return b && checkVisibility.call(img, BY_STYLE) ? see(b) : null;
  }
  let box = null;
  if (p.cs.visibility === 'visible' && checkVisibility.call(el, p.st.op < .1 ? { visibilityProperty: true } : BY_STYLE)) {
    if (p.st.op >= .1) box = see(boxOf.call(el));
    else if ((tag === 'select' || tag === 'input' && TRANSPARENT.test(inputType(el))) && p.cs.pointerEvents !== 'none') box = onTop(el, see(boxOf.call(el)));
  }
  if (box) return e.faded && !e.written && !painted(e) ? null : box; // only writing that cannot be seen
  return p.st.op < .1 ? null : inkOf(e);
};

// inkOf is the box around what can be seen in a control that has none itself.
const inkOf = e => {
  const k = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const add = b => { k.left = Math.min(k.left, b.left), k.top = Math.min(k.top, b.top), k.right = Math.max(k.right, b.right), k.bottom = Math.max(k.bottom, b.bottom); };
  for (let i = e.run; i < runs.length; i++) if (inSight(runs[i])) add({ left: runs[i].l, top: runs[i].t, right: runs[i].r, bottom: runs[i].b });
  for (const b of e.pictures || []) add(b);
  return big(k) ? { ...k, width: k.right - k.left, height: k.bottom - k.top } : null;
};

// onTop tells whether the middle of an invisible control is what one clicks there.
const onTop = (el, b) => {
  if (!b) return null;
  const x = b.left + b.width / 2, y = b.top + b.height / 2;
  if (x < 0 || y < 0 || x >= viewWidth || y >= viewHeight) return b;
  return inside(atPoint(x, y), el) ? b : null;
};

const painted = e => {
  const cs = e.p.cs, c = colour(cs.backgroundColor), back = e.p.up?.st.back;
  if (cs.backgroundImage !== 'none' || cs.boxShadow !== 'none' || parseFloat(cs.borderTopWidth) + parseFloat(cs.borderLeftWidth) > 0) return true;
  return !!c && c[3] > .1 && (!back || !near(c, back));
};
