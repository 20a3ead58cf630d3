// Walks the flattened tree of one document once, and notes its controls and
// its visible text.

const NODES = 300000, DEPTH = 1000, CONTROLS = 20000; // beyond these the walk ends, and says so

const SKIP = set('script style template noscript head meta link title base param source track noembed noframes datalist optgroup option rp ' +
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
let nodes = 0, cut = false, hiddenChars = 0, hiddenBlocks = 0, inStretch = false, chars = 0, suspects = 0;

const hide = data => {
  const n = squeeze(data).trim().length;
  if (!n) return;
  hiddenChars += n;
  if (!inStretch) hiddenBlocks++, inStretch = true;
};

let uncounted = NODES;
const hideTree = el => {
  const w = createTreeWalker.call(document, el, 4);
  for (let n; uncounted > 0 && (n = w.nextNode()); uncounted--) if (!SKIP.has(localName.call(parentNode.call(n)))) hide(charData.call(n));
};

// --- lines of text -------------------------------------------------------------

// A line that holds nothing but the names of controls is left out: they are
// listed. Headings stay.
let line = '', lineOwn = 0, heading = 0, spaced = true;

const endLine = () => {
  if (line && lineOwn > 0) {
    const s = line.trim();
    if (s) {
      if (chars < options.text) lines.push(s);
      chars += [...s].length + 1;
    }
  }
  line = '', lineOwn = 0, spaced = true;
};

const addText = (data, own) => {
  let s = squeeze(data);
  if (spaced) s = s.replace(/^ /, '');
  if (!s) return;
  line += s;
  spaced = s.endsWith(' ');
  if (own) lineOwn += s.trim().length;
};

// --- names from content ----------------------------------------------------------

const open = []; // controls around the current node, outermost first
const addName = (s, mute) => { if (!mute) for (const e of open) if (e.content.length < NAME_CHARS) e.content += s; };

// --- text --------------------------------------------------------------------------

const text = (n, p) => {
  if (++nodes > NODES) cut = true;
  const data = charData.call(n);
  if (!/[^ \t\n\r\f]/.test(data)) {
    if (data) addName(' ', p.mute), spaced || (line += ' ', spaced = true);
    return;
  }
  if (!boxed(p)) return hide(data);
  if (p.faint < 0) p.faint = faint(p);
  if (p.faint === HIDDEN) return faded(data);
  range.selectNodeContents(n);
  const b = range.getBoundingClientRect();
  if (!legible(b, data)) return addName(data, p.mute), hide(data);
  if (p.faint === SUSPECT && !contrasts(p, b)) return faded(data);
  const part = partSeen(b, p.st.clip);
  addName(data, p.mute);
  if (part === 0) return hide(data);
  inStretch = false;
  const control = open.length > 0 || p.editor;
  for (const e of open) ink(e, b);
  runs.push({ data, p, l: b.left, t: b.top, r: b.right, b: b.bottom, control });
  if (!p.editor) addText(data, !control || heading > 0);
};

// faded is text in a colour that cannot be seen: it names nothing either.
const faded = data => {
  hide(data);
  for (const e of open) e.faded = true;
};

const ink = (e, b) => {
  if (!e.ink) e.ink = { left: b.left, top: b.top, right: b.right, bottom: b.bottom };
  else e.ink = { left: Math.min(e.ink.left, b.left), top: Math.min(e.ink.top, b.top), right: Math.max(e.ink.right, b.right), bottom: Math.max(e.ink.bottom, b.bottom) };
};

// --- controls ------------------------------------------------------------------------

const roleOf = (tag, el, hinted) => {
  if (!hinted) return '';
  for (const r of attr(el, 'role').toLowerCase().split(/[ \t\n\r\f]+/)) if (KNOWN_ROLES.has(r)) return r;
  return '';
};

const nativeRole = (tag, el) => {
  switch (tag) {
    case 'a': case 'area': return hasAttribute.call(el, 'href') || hasAttribute.call(el, 'xlink:href') ? 'link' : '';
    case 'button': case 'summary': return 'button';
    case 'select': return ofForm(tag, el, 'multiple') || +attr(el, 'size') > 1 ? 'listbox' : 'combobox';
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

// control tells how an element can be operated, if at all: 'native', 'role',
// 'editor', 'media', 'hint' (its author says so) or 'cursor' (its looks do).
const control = (tag, el, p, hinted) => {
  if (hinted) {
    switch (tag) {
      case 'a': case 'area': if (hasAttribute.call(el, 'href') || hasAttribute.call(el, 'xlink:href')) return 'native'; break;
      case 'button': case 'select': case 'textarea': return 'native';
      case 'input': return inputType(el) === 'hidden' ? '' : 'native';
      case 'summary': if (isSummary(el)) return 'native'; break;
      case 'audio': case 'video': if (hasAttribute.call(el, 'controls')) return 'media'; break;
    }
    if (ROLES.has(p.role)) return 'role';
    if (p.editor && !p.up?.editor) return 'editor';
    if (matches.call(el, HINTED)) return 'hint';
  }
  if (memory.heard.has(el)) return 'hint';
  if (p.pointer && !p.up?.pointer && tag !== 'label' && tag !== 'html' && tag !== 'body') return 'cursor';
  return '';
};

const note = (how, tag, p) => {
  const e = { el: p.el, tag, how, p, role: p.role || nativeRole(tag, p.el) || (p.editor ? 'textbox' : ''), content: '', ink: null, faded: false, run: runs.length, line: lines.length, at: entries.length, inner: 0, image: '', via: null, gone: false, box: null };
  entries.push(e);
  return e;
};

const TRANSPARENT = /^(?:checkbox|radio|file|range|color|date)$/;

// present finds the box of a control that a person can see and operate.
const present = e => {
  const { p, el, tag } = e;
  if (tag === 'area') return present.area(e);
  const see = b => b.width >= LEGIBLE && b.height >= LEGIBLE && seen(b.left, b.top, b.right, b.bottom, p.up?.st.clip || null) > 0 ? b : null;
  let box = null;
  if (p.cs.visibility === 'visible' && boxedLoose(e)) {
    if (p.st.op >= .1) box = see(boxOf.call(el));
    else if ((tag === 'select' || tag === 'input' && TRANSPARENT.test(inputType(el))) && p.cs.pointerEvents !== 'none') box = onTop(el, see(boxOf.call(el)));
  }
  if (box && e.faded && !e.ink && !painted(e)) return null; // only writing that cannot be seen
  if (box) return box;
  if (!e.ink) return null;
  const k = e.ink;
  return { left: k.left, top: k.top, right: k.right, bottom: k.bottom, width: k.right - k.left, height: k.bottom - k.top };
};

present.area = e => {
  const img = imageOf(e.el), b = img && areaBox(e.el);
  return b && checkVisibility.call(img, BY_STYLE) && seen(b.left, b.top, b.right, b.bottom, e.p.up?.st.clip || null) > 0 ? b : null;
};

const boxedLoose = e => checkVisibility.call(e.el, e.p.st.op < .1 ? { visibilityProperty: true } : BY_STYLE);

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

// --- rows ------------------------------------------------------------------------------

const ROW_ROLES = set('row listitem article option treeitem');
const ROW_TAGS = set('tr li article dd');
const NO_ROW = set('form main body html table tbody thead tfoot ul ol dl nav header footer dialog fieldset');

// rowOf is the nearest repeated box around a control.
const rowOf = p => {
  for (let q = p, i = 0; q && i < 8; q = q.up, i++) {
    if (q.row !== undefined) return q.row;
    const tag = localName.call(q.el);
    if (i > 0 && NO_ROW.has(tag)) return q.row = null;
    if (i > 0 && (ROW_TAGS.has(tag) || ROW_ROLES.has(q.role) || repeated(q, tag))) return q.row = q.el;
  }
  return null;
};

const repeated = (q, tag) => {
  if (q.cs.display === 'inline' || tag === 'label' || tag === 'a' || tag === 'button' || tag === 'td' || tag === 'th') return false;
  const cls = attr(q.el, 'class');
  for (const s of [nextElement.call(q.el), previousElement.call(q.el)]) if (s && localName.call(s) === tag && attr(s, 'class') === cls && (cls || tag.includes('-') || tag === 'section')) return true;
  return false;
};

const rowTexts = new Map();

// rowText is what a row says, what its buttons say apart.
const rowText = (row, e) => {
  let all = rowTexts.get(row);
  if (!all) {
    all = [];
    let i = Math.min(e.run, runs.length - 1);
    const has = r => inside(r.p.el, row);
    if (i >= 0 && !has(runs[i])) while (i > 0 && !has(runs[i]) && e.run - i < 3) i--;
    while (i > 0 && has(runs[i - 1])) i--;
    for (let n = 0; i < runs.length && n < 40 && has(runs[i]); i++, n++) all.push(runs[i]);
    rowTexts.set(row, all);
  }
  const parts = [];
  let n = 0;
  for (const r of all) {
    if (inside(r.p.el, e.el) || r.p.editor) continue;
    const s = one(r.data);
    if (!s || r.control && inButton(r.p, row)) continue;
    if (parts[parts.length - 1] === s) continue;
    parts.push(s);
    if ((n += s.length) > 100) break;
  }
  return parts.join(' · ').slice(0, 160);
};

const inButton = (p, row) => {
  for (let q = p; q && q.el !== row; q = q.up) {
    const tag = localName.call(q.el);
    if (tag === 'button' || tag === 'label' && false || q.role === 'button') return true;
  }
  return false;
};

const GROUPS = 'fieldset,[role=group],[role=radiogroup],[role=listbox],[role=menu],[role=tablist],[role=toolbar]';
const groupOf = (tag, el) => {
  const g = closest.call(el, GROUPS);
  if (!g || g === el) return '';
  const by = attr(g, 'aria-labelledby');
  let s = by && referenced(g, by, null) || one(attr(g, 'aria-label'));
  if (!s && g instanceof HTMLFieldSetElement) {
    for (let n = firstChild.call(g); n; n = nextSibling.call(n)) if (n instanceof HTMLLegendElement) { s = one(nameText(n, el, false, 0)); break; }
  }
  return s;
};
