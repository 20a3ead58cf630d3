// Walks the flattened tree of one document and writes what a person could
// see of it as lines. stream.go documents the format and reads it.

const NODES = 300000, CHARS = 4000000, DEPTH = 1000; // beyond these the walk ends, and the header says so
const LABEL = 300; // characters of an image's alternative text: nobody sees it while the image shows

const set = words => new Set(words.split(' '));
const SKIP = set('script style template noscript textarea input select option optgroup datalist head meta link title base ' +
  'audio video canvas map area rp col colgroup param source track progress meter noembed noframes ' +
  'desc metadata defs symbol clipPath mask pattern marker linearGradient radialGradient annotation annotation-xml');
// The elements that mean something to a reader; others are a div or nothing.
const BLOCKS = set('address article aside blockquote button caption code dd details dialog dl dt fieldset figcaption figure footer form ' +
  'h1 h2 h3 h4 h5 h6 header label legend li main menu nav ol p pre search section summary table tbody td tfoot th thead tr ul');
const INLINES = set('a button code del rt s samp strike summary sup tt');
const ALWAYS = set('li ul ol dl dt dd pre table tr td th'); // blocks whatever their display is
const INLINE = /^(?:contents|ruby|ruby-text|inline list-item|math|block math)$/; // displays without edges, besides inline
const EMPTY = set('td th');
const ROLES = set('main navigation banner contentinfo complementary search dialog alertdialog presentation none article');
const FRAMES = set('iframe frame object');

const out = [];
let chars = 0, nodes = 0, cut = false;
let hiddenChars = 0, unrendered = 0, stretches = 0, inStretch = false;

const escape = s => /[\\\n\r\t]/.test(s) ? s.replace(/[\\\n\r\t]/g, c => c === '\\' ? '\\\\' : c === '\n' ? '\\n' : c === '\r' ? '\\r' : '\\t') : s;
const squeeze = s => /[\t\n\r\f]|  /.test(s) ? s.replace(/[ \t\n\r\f]+/g, ' ') : s;
const write = line => {
  out.push(line);
  chars += line.length + 1;
  if (chars > CHARS) cut = true;
};

// --- lines ---------------------------------------------------------------

// An element is written when something inside it is, so that empty wrappers
// cost nothing. flow is true while the last thing written was inline; the
// edge of a block must then be kept even if the block has nothing in it.
const opened = [];
let written = 0, flow = false, spaced = false, atomic = false, last = null, lastBox = null;

const edge = () => { flow = spaced = atomic = false, last = null; };
const flush = () => { while (written < opened.length) write(opened[written++]); };
const close = () => {
  const is = written === opened.length;
  opened.pop();
  if (is) written--, write('>');
  return is;
};

// hide counts text that is left out; rendered text has a box of its own.
const hide = (text, rendered) => {
  const n = squeeze(text).trim().length;
  if (!n) return;
  hiddenChars += n;
  if (!rendered) unrendered += n;
  if (!inStretch) stretches++, inStretch = true;
};

const hideTree = el => {
  const w = createTreeWalker.call(document, el, 4);
  for (let n; n = w.nextNode();) {
    if (++nodes > NODES) { cut = true; return; }
    if (!SKIP.has(localName.call(parentNode.call(n)))) hide(charData.call(n), false);
  }
};

// --- text ----------------------------------------------------------------

const rangeBox = (n, from, to) => {
  range.setStart(n, from), range.setEnd(n, to);
  return range.getBoundingClientRect();
};

// legible rejects text too small or too crowded to read, as letters set on
// top of each other are: under 10 square pixels for each of them.
const legible = (b, n) => b.height >= LEGIBLE && b.width > .5 && b.width * b.height >= 10 * n;

let bisections = 0;

// visiblePart returns what of n's text from from to to is inside the clips,
// halving at spaces; a word counts when 40 % of it is.
const visiblePart = (n, text, from, to, clip) => {
  const b = rangeBox(n, from, to);
  if (b.width === 0 && b.height === 0) return '';
  const part = seen(b.left, b.top, b.right, b.bottom, clip);
  if (part === 1) return text.slice(from, to);
  if (part === 0) return hide(text.slice(from, to), true), '';
  let mid = text.indexOf(' ', (from + to) >> 1);
  if (mid < 0 || mid >= to - 1) mid = text.lastIndexOf(' ', (from + to) >> 1);
  if (mid < from || ++bisections > 5000) return part > .4 ? text.slice(from, to) : (hide(text.slice(from, to), true), '');
  return visiblePart(n, text, from, mid + 1, clip) + visiblePart(n, text, mid + 1, to, clip);
};

// gap tells whether two runs with no white space between them stand apart on
// screen: cells of a row, buttons, padded labels. Parts of a word do not.
const gap = (before, after, a, b) => {
  if (a.height > b.height * 1.6) range.selectNodeContents(before), a = Array.prototype.at.call(range.getClientRects(), -1);
  if (b.height > a.height * 1.6) range.selectNodeContents(after), b = range.getClientRects()[0];
  const line = Math.min(a.height, b.height);
  if (Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) < line / 2) return atomic;
  return Math.max(b.left - a.right, a.left - b.right) > line * .13;
};

// blank writes white space between runs, once; it opens no element.
const blank = () => {
  if (!spaced) write('T ');
  spaced = true;
};

const preserves = p => p.white ??= p.cs.whiteSpaceCollapse;

// text visits one text node; p is what is known about its parent.
const text = (n, p) => {
  if (++nodes > NODES) cut = true;
  const data = charData.call(n);
  if (!/[^ \t\n\r\f]/.test(data)) {
    if (!flow || !data) return;
    if (preserves(p) === 'collapse') blank();
    else if (boxed(p)) flush(), write('P' + escape(data)), spaced = true, last = null;
    return;
  }
  if (!boxed(p)) return hide(data, p.st.op < .1);
  if (p.faint === undefined) p.faint = faint(p.el, p.cs, p.st);
  if (p.faint === HIDDEN) return hide(data, true);
  range.selectNodeContents(n);
  const b = range.getBoundingClientRect();
  if (!legible(b, data.length > 40 ? squeeze(data).trim().length : 1)) return hide(data, b.width > 0 || b.height > 0);
  if (p.faint === SUSPECT && !contrasts(p.el, p.cs, b)) return hide(data, true);
  const part = seen(b.left, b.top, b.right, b.bottom, p.st.clip);
  if (part === 0) return hide(data, true);
  emit(n, part === 1 ? data : visiblePart(n, data, 0, data.length, p.st.clip), p, b);
};

const emit = (n, data, p, b) => {
  if (!data) return;
  flush();
  inStretch = false;
  if (/^\s|\s$|[\n\t\r]|  /.test(data)) {
    const white = preserves(p);
    if (white === 'preserve' || white === 'break-spaces') {
      write('P' + escape(data));
      flow = true, spaced = atomic = false, last = n, lastBox = b;
      return;
    }
    data = white === 'preserve-breaks' ? data.replace(/[ \t\f]*\n[ \t\f]*/g, '\n') : squeeze(data);
  }
  if (last && !spaced && data[0] !== ' ' && !/^[.,;:!?)\]}%»”’]/.test(data) && gap(last, n, lastBox, b)) data = ' ' + data;
  write('T' + escape(data));
  flow = true, spaced = data[data.length - 1] === ' ', atomic = false, last = n, lastBox = b;
};

// boxed tells whether text inside p's element has a box at all. An element
// with display: contents has none, so its nearest box is asked instead.
// Opacity is asked about for the sake of closed shadow trees around it.
const boxed = p => p.boxed ??= checkVisibility.call(p.box, p.box === p.el ? BY_STYLE : BY_BOX) &&
  (p.box === p.el || p.cs.visibility === 'visible') &&
  (localName.call(p.el) !== 'details' || styleOf(p.el, '::details-content').contentVisibility !== 'hidden');
const BY_STYLE = { visibilityProperty: true, opacityProperty: true }, BY_BOX = { opacityProperty: true };

// --- elements --------------------------------------------------------------

const attr = (el, name) => attribute.call(el, name) || '';
const field = (key, value) => value ? '\t' + key + '=' + escape(String(value)) : '';

// openLine is the line that opens el, or '' when el needs none.
const openLine = (el, tag, cs, display, block) => {
  const keep = block ? BLOCKS.has(tag) : INLINES.has(tag);
  if (!keep && !block) return '';
  let line = (block ? '<' : '(') + (keep ? tag : 'div');
  const role = attr(el, 'role');
  if (role && ROLES.has(role)) line += field('role', role);
  if (attr(el, 'aria-expanded') === 'false') line += field('closed', 1);
  switch (keep && tag) {
    case 'a': line += field('href', target(el)); break;
    case 'ol': line += field('start', attr(el, 'start')) + field('reversed', hasAttribute.call(el, 'reversed') && 1) + field('style', cs.listStyleType); break;
    case 'li': line += field('value', attr(el, 'value')); break;
    case 'td': case 'th': line += field('cols', attr(el, 'colspan')) + field('rows', attr(el, 'rowspan')); break;
    case 'pre': case 'code': line += field('lang', language(el)); break;
    case 'details': line += field('closed', !hasAttribute.call(el, 'open') && 1); break;
  }
  return line;
};

let href = null;

// target is where a link leads, if to the web.
const target = el => {
  if (!hasAttribute.call(el, 'href') || !(el instanceof HTMLAnchorElement)) return '';
  href ??= getter(HTMLAnchorElement, 'href');
  const url = href.call(el);
  return /^https?:/.test(url) && url.length <= 2048 ? url : '';
};

const language = el => {
  const m = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*)([\w+#.-]+)/.exec(attr(el, 'class'));
  return m ? m[1] : attr(el, 'data-lang') || attr(el, 'data-language');
};

// inherit is the state below el: what of it is painted, and over what.
const inherit = (el, cs, inline, st) => {
  let { op, clip, back } = st;
  if (cs.opacity !== '1' || cs.filter !== 'none' || cs.mask !== 'none') op *= opacityOf(cs);
  const position = inline ? '' : cs.position;
  if (clip && (position === 'absolute' || position === 'fixed')) clip = clipFrom(el, position === 'fixed', clip);
  if (cs.clipPath !== 'none') clip = shapeClip(el, cs.clipPath, clip);
  if (!inline) clip = clipOf(el, cs, position, clip);
  const bg = cs.backgroundColor;
  if (bg !== 'rgba(0, 0, 0, 0)') {
    const c = colour(bg);
    back = !c ? null : c[3] > .99 ? c : back && over(c, c[3], back);
  }
  return op === st.op && clip === st.clip && back === st.back ? st : { op, clip, back };
};

const path = []; // the elements around, outermost first, with style and state

// clipFrom finds the clips around a box that is taken out of the flow.
const clipFrom = (el, fixed, clip) => {
  const parent = el instanceof HTMLElement ? offsetParent.call(el) : null;
  for (let i = path.length - 1; i >= 0; i--) {
    if (path[i].el === parent) return path[i].st.clip;
  }
  return !parent && fixed ? null : clip; // not found: a shadow tree is in between
};

const visit = (el, box, st) => {
  if (++nodes > NODES || path.length > DEPTH) cut = true;
  if (cut) return;
  const tag = localName.call(el);
  if (SKIP.has(tag)) return;
  const cs = styleOf(el), display = cs.display;
  if (display === 'none') return hideTree(el);
  if (tag === 'br') return lineBreak();
  if (FRAMES.has(tag) && frame(el, tag, cs, st, box)) return;
  if (tag === 'hr') return flush(), write('-'), edge();
  const inline = display === 'inline' || display !== 'block' && INLINE.test(display);
  const block = !inline && !display.startsWith('inline') || ALWAYS.has(tag);
  if (!inline && cs.contentVisibility === 'hidden') return skipped(el);
  if (display !== 'contents') box = el;
  const p = { el, cs, box, st: inherit(el, cs, inline, st), boxed: undefined, faint: undefined, white: undefined };
  if (tag === 'img') return image(el, p);
  enter(el, tag, p, display, block, inline);
};

const enter = (el, tag, p, display, block, inline) => {
  const line = openLine(el, tag, p.cs, display, block), had = flow;
  if (block) edge();
  else if (!inline) atomic = true;
  if (line) {
    opened.push(line);
    if (EMPTY.has(tag)) flush();
  }
  path.push(p);
  children(el, tag, p);
  path.pop();
  const is = line && close();
  if (block) {
    edge();
    if (had && !is) write('|');
  } else if (!inline) {
    atomic = true;
  }
};

// skipped leaves out contents that the page holds back until they are asked for.
const skipped = el => {
  hideTree(el);
  if (attr(el, 'hidden') === 'until-found') flush(), write('C'), edge();
};

const children = (el, tag, p) => {
  const root = shadowRoot.call(el);
  if (tag === 'slot' && !root && el instanceof HTMLSlotElement) {
    const nodes = HTMLSlotElement.prototype.assignedNodes.call(el);
    for (let i = 0; i < nodes.length; i++) node(nodes[i], p);
    if (nodes.length) return;
  }
  for (let n = firstChild.call(root || el); n; n = nextSibling.call(n)) node(n, p);
};

const node = (n, p) => {
  if (cut) return;
  const type = nodeType.call(n);
  if (type === 1) visit(n, p.box, p.st);
  else if (type === 3) text(n, p);
};

const lineBreak = () => {
  if (flow) write('/');
  spaced = atomic = false, last = null;
};

// shown tells whether a box with content of its own is in sight.
const shown = p => {
  if (!boxed(p) || p.st.op < .1) return null;
  const b = boxOf.call(p.el);
  return b.width >= LEGIBLE && b.height >= LEGIBLE && seen(b.left, b.top, b.right, b.bottom, p.st.clip) > 0 ? b : null;
};

const image = (el, p) => {
  const alt = squeeze(attr(el, 'alt')).trim();
  if (!alt || !shown(p)) return;
  flush();
  write('I' + escape(alt.slice(0, LABEL)));
  flow = true, spaced = false, atomic = true, last = null;
};

let frames = 0;
const frame = (el, tag, cs, st, box) => {
  const proto = tag === 'iframe' ? HTMLIFrameElement : tag === 'frame' ? HTMLFrameElement : HTMLObjectElement;
  const inner = el instanceof proto ? getter(proto, 'contentWindow').call(el) : null;
  if (!inner) return tag !== 'object';
  const p = { el, cs, box: cs.display === 'contents' ? box : el, st: inherit(el, cs, false, st), boxed: undefined };
  let index = -1;
  for (let i = 0; i < window.length && index < 0; i++) if (window[i] === inner) index = i;
  const b = shown(p);
  flush(), write('F' + index + (b ? ' ' + Math.round(b.width) + ' ' + Math.round(b.height) : ''));
  frames++, edge();
  return true;
};

// --- the document ------------------------------------------------------------

const finishAnimations = () => {
  let n = 0;
  for (const a of getAnimations.call(document)) {
    if (a.playState !== 'running' || a.playbackRate === 0 || !Number.isFinite(a.effect?.getComputedTiming().endTime)) continue;
    try { a.finish(), n++; } catch { /* a timeline that cannot be finished stays as it is */ }
  }
  return n;
};

const finished = options.finishAnimations ? finishAnimations() : 0;
const start = { op: 1, clip: null, back: canvasColour() };
if (rootElement) visit(rootElement, rootElement, start);
const busy = !!bodyElement && (attr(bodyElement, 'aria-busy') === 'true' || querySelector.call(document, 'main[aria-busy=true],[role=main][aria-busy=true]') !== null);
const head = [`bellglass-page 1\thidden=${hiddenChars}\tunrendered=${unrendered}\tblocks=${stretches}\tfinished=${finished}\tnodes=${nodes}` +
  `\tframes=${frames}\tbusy=${+busy}\tcut=${+cut}\twidth=${viewWidth}\theight=${viewHeight}`,
  '=title ' + escape(title.call(document)), '=url ' + escape(documentURL.call(document)), '=lang ' + escape(attr(rootElement, 'lang'))];
return head.concat(out).join('\n');
