// The walk itself.

let depth = 0;
const modals = [...querySelectorAll.call(document, ':modal')];
const modal = modals.length ? modals[modals.length - 1] : null;

// hints are the elements that need a closer look, found by the browser at once.
const hints = new Set(querySelectorAll.call(document, HINTS));
const enterRoot = root => {
  watch(root);
  for (const el of DocumentFragment.prototype.querySelectorAll.call(root, HINTS)) hints.add(el);
};

const visit = (el, up, st) => {
  if (++nodes > NODES || depth > DEPTH || entries.length > CONTROLS) cut = true;
  if (cut) return;
  const tag = localName.call(el);
  if (SKIP.has(tag)) return;
  const cs = styleOf(el), display = cs.display;
  if (display === 'none') return tag === 'input' || tag === 'select' || tag === 'textarea' ? undefined : hideTree(el);
  if (tag === 'br') return endLine(), addName(' ', up?.mute);
  const inline = display === 'inline' || display === 'contents';
  if (!inline && cs.contentVisibility === 'hidden') return hideTree(el);
  const hinted = hints.has(el);
  const p = {
    el, cs, up, box: display === 'contents' && up ? up.box : el, position: cs.position, st, boxed: undefined, faint: -1,
    role: hinted ? roleOf(tag, el, true) : '', pointer: cs.cursor === 'pointer', editor: up?.editor || false, mute: up?.mute || false,
    inert: up?.inert || false, disabled: up?.disabled || false, row: undefined,
  };
  p.st = inherit(p, inline, st);
  if (p.st.back && up && el !== bodyElement && (p.st.back !== st.back || p.position !== 'static' && colour(cs.backgroundColor)?.[3] > .95)) noteCover(p);
  if (hinted) attributes(tag, el, p);
  if (el === modal) p.inert = false;
  enter(tag, el, p, display, inline, hinted);
};

// attributes sets what an element's attributes say of everything in it.
const attributes = (tag, el, p) => {
  if (attr(el, 'aria-hidden') === 'true') p.mute = true;
  if (hasAttribute.call(el, 'inert')) p.inert = true;
  if (attr(el, 'aria-disabled') === 'true') p.disabled = true;
  if (el instanceof HTMLElement && editable.call(el) && el !== bodyElement) p.editor = true;
  else if (p.role === 'textbox' || p.role === 'searchbox') p.editor = true;
  if (tag === 'label') labels.push({ el, p, at: entries.length, run: runs.length, line: lines.length });
  if (open.length && !p.mute) {
    const label = one(attr(el, 'aria-label'));
    if (label && tag !== 'input' && tag !== 'select') addName(' ' + label + ' ', false), p.mute = true;
  }
};

const HEADINGS = set('h1 h2 h3 h4 h5 h6');

const enter = (tag, el, p, display, inline, hinted) => {
  const block = !inline && !display.startsWith('inline');
  if (block) endLine();
  if (!inline) addName(' ', p.mute), spaced || (line += ' ', spaced = true);
  const how = p.inert || modal && !p.live && !inModal(p) ? '' : control(tag, el, p, hinted);
  const e = how ? note(how, tag, p) : null;
  if (e) for (const o of open) o.inner++;
  if (e && tag !== 'input' && tag !== 'select' && tag !== 'textarea') {
    open.push(e);
    if (p.mute && !(p.up?.mute)) p.mute = false, e.muted = true;
  }
  const h = HEADINGS.has(tag) ? 1 : 0;
  heading += h, depth++;
  if (tag === 'img' || tag === 'svg' || tag === 'canvas' || tag === 'video') picture(tag, el, p);
  if (tag === 'iframe' || tag === 'frame' || tag === 'object') frame(tag, el, p);
  if (tag !== 'input' && tag !== 'select' && tag !== 'textarea' && tag !== 'svg') children(tag, el, p);
  heading -= h, depth--;
  if (e) leave(e);
  if (block) endLine();
  if (!inline) addName(' ', p.mute), spaced || (line += ' ', spaced = true);
};

const inModal = p => {
  if (p.el === modal) return p.live = true;
  return p.live = !!p.up?.live;
};

const leave = e => {
  if (open[open.length - 1] === e) open.pop();
  e.content = one(e.content);
  // What only looks clickable is a wrapper if there is a control in it.
  if (e.how === 'cursor' && e.inner > 0) return void (e.gone = true);
  if (e.how === 'hint' && e.inner > 0 && !e.content) return void (e.gone = true);
  e.box = present(e);
  if (!e.box) e.gone = true;
};

// picture notes an image as something to be seen in the controls around it.
const picture = (tag, el, p) => {
  if (!open.length) return;
  const b = shown(p);
  if (tag === 'img') addName(' ' + one(attr(el, 'alt')) + ' ', p.mute);
  if (tag === 'svg') addName(' ' + (one(attr(el, 'aria-label')) || svgTitle(el)) + ' ', p.mute);
  for (const e of open) {
    if (b) ink(e, b);
    if (tag === 'img' && !e.image) e.image = fileName(attr(el, 'src'));
  }
};

const frame = (tag, el, p) => {
  const index = frameIndex(el);
  if (index === null) return;
  const b = shown(p), box = b || boxOf.call(el);
  const l = box.left + clientLeft.call(el) + parseFloat(p.cs.paddingLeft), t = box.top + clientTop.call(el) + parseFloat(p.cs.paddingTop);
  places.push({ i: index, n: number(el), e: entries.length, l: lines.length, s: !!b && !(modal && !inModal(p)) && !p.inert,
    b: [l, t, box.right - l - parseFloat(p.cs.borderRightWidth) - parseFloat(p.cs.paddingRight), box.bottom - t - parseFloat(p.cs.borderBottomWidth) - parseFloat(p.cs.paddingBottom)] });
};

const children = (tag, el, p) => {
  const root = rootOf(el);
  if (root) enterRoot(root);
  else suspect(tag, el, p);
  if (tag === 'slot' && el instanceof HTMLSlotElement) {
    const list = HTMLSlotElement.prototype.assignedNodes.call(el);
    for (let i = 0; i < list.length; i++) node(list[i], p);
    if (list.length) return;
  }
  for (let n = firstChild.call(root || el); n; n = nextSibling.call(n)) node(n, p);
};

const node = (n, p) => {
  if (cut) return;
  const type = nodeType.call(n);
  if (type === 1) visit(n, p, p.st);
  else if (type === 3) text(n, p);
};

const HOSTS = set('article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span');
const SUSPECTS = 200;
const suspected = [];

// suspect notes an element that may have a closed shadow root: the browser has
// to be asked. A custom element is asked about once, others when they have a
// box that nothing in them accounts for.
const suspect = (tag, el, p) => {
  const custom = tag.includes('-');
  if (!custom && !HOSTS.has(tag) || suspected.length >= SUSPECTS) return;
  if (!custom) {
    for (let n = firstChild.call(el); n; n = nextSibling.call(n)) {
      const type = nodeType.call(n);
      if (type === 3 && /[^ \t\n\r\f]/.test(charData.call(n)) || type === 1) return;
    }
    const b = boxOf.call(el);
    if (b.width < LEGIBLE || b.height < LEGIBLE) return;
  }
  if (memory.asked.has(el)) return;
  suspected.push(el);
};

// --- what comes out ---------------------------------------------------------------

visit(rootElement, null, { op: 1, clip: null, back: canvasColour() });
endLine();
noticed();

// Labels operate boxes to tick and files that are hidden behind them.
for (const l of labels) {
  const c = labelControl.call(l.el);
  if (!(c instanceof HTMLInputElement) || !/^(?:checkbox|radio|file)$/.test(inputType(c)) || l.p.inert || modal && !inside(l.el, modal)) continue;
  const own = entries.find(e => e.el === c);
  if (own && !own.gone || own?.via) continue;
  const b = shown({ ...l.p, box: l.el }) || null;
  if (!b) continue;
  const e = own || { el: c, tag: 'input', how: 'native', p: own?.p || { el: c, cs: styleOf(c), up: l.p, role: roleOf('input', c, true), st: l.p.st }, role: roleOf('input', c, true) || nativeRole('input', c), content: '', ink: null, faded: false, run: l.run, line: l.line, image: '' };
  e.via = l, e.gone = false, e.box = b;
  if (!own) e.at = l.at - .5, extra.push(e);
}
