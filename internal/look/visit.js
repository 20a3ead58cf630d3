// The walk itself.

let depth = 0, modal = null, hints = null;
const suspected = [], roots = [];

const enterRoot = root => {
  roots.push(root);
  watch(root);
  for (const el of fragmentAll.call(root, HINTS)) hints.add(el);
  for (const el of fragmentAll.call(root, SPOKEN)) spoken.add(el);
};
const fragmentAll = DocumentFragment.prototype.querySelectorAll;

const visit = (el, up, st) => {
  if (++nodes > NODES || depth > DEPTH || entries.length > CONTROLS) cut = true;
  if (cut) return;
  const tag = localName.call(el);
  if (SKIP.has(tag)) return;
  const cs = styleOf(el), display = cs.display;
  if (display === 'none' && tag !== 'area') return TAKES_VALUE.has(tag) ? undefined : hideTree(el);
  if (tag === 'br') return breaks++, endLine(), addName(' ', up ? up.mute : 0);
  const inline = display === 'inline' || display === 'contents';
  if (!inline && cs.contentVisibility === 'hidden') return hideTree(el);
  const hinted = hints.has(el);
  const p = {
    el, cs, up, box: display === 'contents' && up ? up.box : el, position: cs.position, st, boxed: undefined, faint: -1, row: undefined,
    svg: tag === 'svg' || up !== null && up.svg, item: undefined,
    role: '', pointer: hard > 0 || cs.cursor === 'pointer', editor: false, mute: 0, inert: false, disabled: false, live: el === modal, odd: false,
    all: partly === null || up !== null && up.all || wanted.has(el),
  };
  if (up) p.editor = up.editor, p.mute = up.mute, p.inert = up.inert, p.disabled = up.disabled, p.live ||= up.live, p.odd = up.odd;
  p.st = inherit(p, inline, st);
  if (p.st !== st) odd(p, st);
  if (p.st.back && up && el !== bodyElement && (p.st.back !== st.back || p.position !== 'static' && colour(cs.backgroundColor)?.[3] > .95)) noteCover(p);
  if (hinted) attributes(tag, el, p);
  enter(tag, el, p, inline, inline || display.startsWith('inline') ? false : true, hinted);
};

// odd marks what may be out of sight although it is in the tree: what is out
// of the flow, not opaque, or cut off by a box around it.
const odd = (p, st) => {
  const { clip, op } = p.st;
  if (p.odd || p.position === 'absolute' || p.position === 'fixed' || op !== st.op) return void (p.odd = true);
  if (clip !== st.clip && clip && (clip.r - clip.l < 40 || clip.b - clip.t < 40 || scrollHeight.call(p.el) > clip.b - clip.t + 2 || scrollWidth.call(p.el) > clip.r - clip.l + 2)) p.odd = true;
};

const TAKES_VALUE = set('input select textarea');

// attributes sets what an element's attributes say of everything in it.
const attributes = (tag, el, p) => {
  if (hasAttribute.call(el, 'role')) p.role = roleOf(el);
  if (hasAttribute.call(el, 'inert') && !options.behind) p.inert = true;
  if (attr(el, 'aria-disabled') === 'true') p.disabled = true;
  if (!p.editor && (p.role === 'textbox' || p.role === 'searchbox' || isEditor(el))) p.editor = true;
  if (tag === 'label') labels.push({ el, p, at: entries.length, run: runs.length, line: lines.length });
  if (attr(el, 'aria-hidden') === 'true') {
    p.mute = open.length;
  } else if (open.length > p.mute && !TAKES_VALUE.has(tag)) {
    const label = one(attr(el, 'aria-label'));
    if (label) addName(' ' + label + ' ', p.mute), p.mute = open.length;
  }
};

const HEADINGS = set('h1 h2 h3 h4 h5 h6'), PICTURES = set('img svg canvas video'), FRAMES = set('iframe frame object');

const enter = (tag, el, p, inline, block, hinted) => {
  if (block) endLine();
  if (!inline) space(), addName(' ', p.mute);
  const how = p.inert || modal && !p.live ? '' : controlOf(tag, el, p, hinted), e = how ? note(how, tag, p) : null;
  if (e) {
    for (const o of open) o.inner++;
    if (!TAKES_VALUE.has(tag)) open.push(e), hard += isSoft(e) ? 0 : 1;
  }
  if (tag === 'dialog' && el !== modal && matches.call(el, ':modal')) overlooked = el;
  if (PICTURES.has(tag)) picture(tag, el, p);
  else if (FRAMES.has(tag)) frame(tag, el, p);
  if (p.svg && tag !== 'svg' && open.length) addName(' ' + svgTitle(el) + ' ', p.mute);
  if (!TAKES_VALUE.has(tag) && (tag !== 'svg' || speaks(el))) {
    const h = HEADINGS.has(tag) ? 1 : 0;
    heading += h, depth++;
    children(tag, el, p);
    heading -= h, depth--;
  }
  if (e) leave(e);
  if (block) endLine();
  if (!inline) space(), addName(' ', p.mute);
};

const leave = e => {
  if (open[open.length - 1] === e) open.pop(), hard -= isSoft(e) ? 0 : 1;
  e.content = one(e.content);
  // What only looks or listens like a control is a wrapper if there is one in it.
  if (e.inner === 0 && (e.how === 'heard' || e.how === 'cursor') && items(e)) return void (e.gone = true);
  if (e.inner > 0 && (e.how === 'cursor' || e.how === 'heard' && !e.p.pointer || e.how === 'hint' && !e.content)) return void (e.gone = true);
  e.box = present(e);
  if (!e.box) e.gone = true;
};

// speaks tells whether there is more to a drawing than that it is one: text, or
// parts that can be clicked. What is in a control is that control's picture.
const speaks = svg => {
  if (hard) return false;
  if (selectOne.call(svg, SPEAKING)) return true;
  if (!memory.ears) return false;
  const all = selectAll.call(svg, '*');
  for (let i = Math.min(nodeListLength.call(all), 3000) - 1; i >= 0; i--) if (memory.heard.has(nodeListAt.call(all, i))) return true;
  return false;
};
const SPEAKING = 'a,text,foreignObject,[role],[tabindex],[style*="cursor"],[cursor],' + HINTED;

// picture notes an image as something to be seen in the controls around it.
const picture = (tag, el, p) => {
  if (!open.length) return;
  const b = shown(p);
  addName(' ' + (tag === 'img' ? one(attr(el, 'alt')) : tag === 'svg' ? one(attr(el, 'aria-label')) || svgTitle(el) : '') + ' ', p.mute);
  for (const e of open) {
    if (b) e.written = true, (e.pictures ??= []).push(b);
    if (tag === 'img' && !e.image) e.image = fileName(attr(el, 'src'));
  }
};

const frame = (tag, el, p) => {
  const index = frameIndex(el);
  if (index === null) return;
  const b = shown(p), box = b || boxOf.call(el), side = name => parseFloat(p.cs[name]) || 0;
  const l = box.left + clientLeft.call(el) + side('paddingLeft'), t = box.top + clientTop.call(el) + side('paddingTop');
  endLine();
  places.push({ i: index, n: number(el), e: entries.length, l: lines.length, s: !!b && !p.inert && !(modal && !p.live),
    b: [l, t, box.right - l - side('borderRightWidth') - side('paddingRight'), box.bottom - t - side('borderBottomWidth') - side('paddingBottom')] });
};

const children = (tag, el, p) => {
  let root = null;
  if (HOSTS.has(tag) || tag.includes('-')) { // nothing else can have a root of its author's
    if ((root = rootOf(el))) enterRoot(root);
    else suspect(tag, el);
  }
  if (tag === 'slot' && el instanceof HTMLSlotElement) {
    const list = HTMLSlotElement.prototype.assignedNodes.call(el);
    for (let i = 0; i < list.length; i++) memory.slots.set(list[i], el), node(list[i], p);
    if (list.length) return;
  }
  for (let n = firstChild.call(root || el); n; n = nextSibling.call(n)) node(n, p);
};

const node = (n, p) => {
  if (cut || !p.all && !partly.has(n) && !wanted.has(n)) return;
  const type = nodeType.call(n);
  if (type === 1) visit(n, p, p.st);
  else if (type === 3) text(n, p);
};

const HOSTS = set('article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span');
const SUSPECTS = 200;

// suspect notes an element that may have a closed shadow root: the browser has
// to be asked. A custom element is asked about, and others when they have a
// box that nothing in them accounts for.
const suspect = (tag, el) => {
  if (suspected.length >= SUSPECTS) return;
  if (!tag.includes('-')) {
    for (let n = firstChild.call(el); n; n = nextSibling.call(n)) {
      const type = nodeType.call(n);
      if (type === 1 || type === 3 && /[^ \t\n\r\f]/.test(charData.call(n))) return;
    }
    if (!big(boxOf.call(el))) return;
  }
  const asked = memory.asked.get(el);
  if (asked === undefined || asked !== memory.signature(el)) suspected.push(el);
};

const begin = (hinted, said) => {
  modal = options.behind ? null : topModal();
  hints = hinted, spoken = said;
};

// topModal is the modal dialog that everything else waits for. The last one in
// the tree need not be on top; those in shadow trees are known once a walk came
// by them.
let overlooked = null; // a modal dialog that is not modal
const topModal = () => {
  const list = [...querySelectorAll.call(document, ':modal')], known = memory.modal?.deref();
  if (known && !list.includes(known) && isConnected.call(known) && matches.call(known, ':modal')) list.push(known);
  for (const d of list.length > 1 ? list : []) {
    const b = boxOf.call(d), at = atPoint((b.left + b.right) / 2, (b.top + b.bottom) / 2);
    if (at && inside(at, d)) return d;
  }
  return list[list.length - 1] || null;
};

// missed tells whether another dialog than the one known is on top, which calls
// for another walk.
const missed = () => {
  if (!overlooked || options.behind || options.modal) return false;
  const before = modal;
  memory.modal = new WeakRef(overlooked);
  return topModal() !== before;
};

// look walks the whole document.
const noted = new Map(); // inputs to their entries
const look = () => {
  begin(new Set(querySelectorAll.call(document, HINTS)), new Set(querySelectorAll.call(document, SPOKEN)));
  visit(rootElement, null, { op: 1, clip: null, back: canvasColour() });
  endLine();
  noticed();
  readLabels(hints);
  if (labels.length) for (const e of entries) if (e.tag === 'input') noted.set(e.el, e);
  labels.forEach(behind);
  memory.suspected = suspected, memory.walked = nodes, memory.roots = roots;
  return entries.concat(extra).filter(e => !e.gone).sort((a, b) => a.at - b.at);
};

// behind notes the box to tick, or to choose files with, that a label operates
// although it cannot be seen itself.
const behind = l => {
  const c = labelControl.call(l.el);
  if (!(c instanceof HTMLInputElement) || !/^(?:checkbox|radio|file)$/.test(inputType(c)) || l.p.inert || modal && !l.p.live) return;
  let e = noted.get(c);
  if (e && !e.gone) return;
  const b = shown({ ...l.p, box: l.el }) || null;
  if (!b) return;
  if (!e) {
    const p = { ...l.p, el: c, cs: styleOf(c), up: l.p, role: roleOf(c), row: undefined };
    e = { el: c, tag: 'input', how: 'native', p, role: ROLES.has(p.role) ? p.role : nativeRole('input', c), content: '', run: l.run, line: l.line, at: l.at - .5, image: '' };
    extra.push(e), noted.set(c, e);
  }
  e.via = l, e.gone = false, e.box = b;
};
