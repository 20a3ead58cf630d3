// Walks the flattened tree of one document and writes what a person could
// see of it as lines. stream.go documents the format and reads it.

const NODES = 300000, CHARS = 4000000, DEPTH = 1000; // beyond these the walk ends, and the header says so
const URL_CHARS = 2049; // one more than a URL may have
const ICON = 48; // px: images with a smaller side decorate; they name a link, but are not told of in the text
const LABEL = 300; // characters of an image's alternative text: nobody sees it while the image shows

const SKIP = set('script style template textarea input select option optgroup datalist head meta link title base ' +
  'audio video canvas map area rp col colgroup param source track progress meter noembed noframes ' +
  'desc metadata defs symbol clipPath mask pattern marker linearGradient radialGradient annotation annotation-xml');
// The elements that mean something to a reader; others are a div or nothing.
const BLOCKS = set('a address article aside blockquote button caption code dd details dialog dl dt fieldset figcaption figure footer form ' +
  'h1 h2 h3 h4 h5 h6 header label legend li main menu nav ol p pre search section summary table tbody td tfoot th thead tr ul');
const INLINES = set('a button code del rt s samp strike summary sup tt mfrac msup msub msubsup msqrt mrow');
const ALWAYS = set('li ul ol dl dt dd pre table tr td th'); // blocks whatever their display is
const INLINE = /^(?:contents|ruby|ruby-text|inline list-item|math|block math)$/; // displays without edges, besides inline
const ROLES = set('main navigation banner contentinfo complementary search dialog alertdialog presentation none article');
const FRAMES = set('iframe frame object');

const out = [];
let chars = 0, nodes = 0, uncounted = NODES, cut = false;
let hiddenChars = 0, unrendered = 0, stretches = 0, inStretch = false;

const escape = s => /[\\\n\r\t]/.test(s) ? s.replace(/[\\\n\r\t]/g, c => c === '\\' ? '\\\\' : c === '\n' ? '\\n' : c === '\r' ? '\\r' : '\\t') : s;
const write = line => {
  out.push(line);
  chars += line.length + 1;
  if (chars > CHARS) cut = true;
};

// --- lines -------------------------------------------------------------------

// An element is written when something inside it is, so that empty wrappers
// cost nothing. flow is true while the last thing written was inline; the
// edge of a block must then be kept even if the block has nothing in it.
// spaced: that thing ended in white space. atomic: the edge of an inline box
// came since. last, lastBox: the run of text it was.
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

// What is outside of the elements that options.within selects is passed over
// in silence: neither written nor counted.
const only = options.within ? new Set(querySelectorAll.call(document, options.within)) : null;
let inside = only ? 0 : 1;

// left holds what is left out, one string for each stretch, if options.hidden
// asks for it; room is how many characters more are told.
const left = [];
let room = options.hidden ? 100000 : 0;

const keep = text => {
  text = text.slice(0, room);
  room -= text.length;
  if (inStretch && left.length) left[left.length - 1] += ' ' + text;
  else left.push(text);
};

// hide counts text that is left out; drawn tells whether it has been drawn at
// all, and only out of sight.
const hide = (text, drawn) => {
  const data = squeeze(text).trim(), n = data.length;
  if (!n || !inside) return;
  hiddenChars += n;
  if (!drawn) unrendered += n;
  if (room > 0) keep(data);
  if (!inStretch) stretches++, inStretch = true;
};

const hideTree = el => {
  const w = createTreeWalker.call(document, el, 4);
  for (let n; uncounted > 0 && (n = w.nextNode()); uncounted--) {
    const around = localName.call(parentNode.call(n));
    if (around !== 'noscript' && !SKIP.has(around)) hide(charData.call(n), false);
  }
  if (!window.length) return;
  for (const e of selectAll.call(el, 'iframe,frame,object')) {
    const i = frameIndex(e);
    if (i !== null) write('F' + i), frames++;
  }
};

// --- text --------------------------------------------------------------------

let halvings = 0;

// visiblePart returns what of text from from to to is inside the clips,
// halving at spaces; what cannot be halved counts when 40 % of it is inside.
const visiblePart = (n, text, from, to, clip) => {
  range.setStart(n, from), range.setEnd(n, to);
  const b = range.getBoundingClientRect();
  if (b.width === 0 || b.height === 0) return '';
  const part = partSeen(b, clip);
  if (part === 1) return text.slice(from, to);
  const mid = part === 0 || ++halvings > 5000 ? -1 : middle(text, from, to);
  if (mid < 0) return part > .4 ? text.slice(from, to) : (hide(text.slice(from, to), true), '');
  return visiblePart(n, text, from, mid, clip) + visiblePart(n, text, mid, to, clip);
};

// middle is where a piece of text is halved: after a space, or between two
// characters when there is none, as in Chinese; -1 for a short word.
const middle = (text, from, to) => {
  const half = (from + to) >> 1;
  let i = text.indexOf(' ', half) + 1;
  if (i <= 0 || i >= to) i = text.lastIndexOf(' ', half) + 1;
  if (i > from) return i;
  if (to - from < 16) return -1;
  return (text.charCodeAt(half) & 0xfc00) === 0xdc00 ? half + 1 : half;
};

// gap tells whether two runs with no white space between them stand apart on
// screen: cells of a row, buttons, padded labels. Parts of a word do not.
const gap = (before, after, a, b) => {
  if (a.height > b.height * 1.6) range.selectNodeContents(before), a = [...range.getClientRects()].pop();
  if (b.height > a.height * 1.6) range.selectNodeContents(after), b = range.getClientRects()[0];
  const line = Math.min(a.height, b.height);
  if (Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) < line / 2) return atomic;
  return Math.max(b.left - a.right, a.left - b.right) > line * .13;
};

const preserves = p => p.white ??= p.cs.whiteSpaceCollapse;

// text visits a text node in p.
const text = (n, p) => {
  if (++nodes > NODES) cut = true;
  if (!inside) return;
  const data = charData.call(n);
  if (!/[^ \t\n\r\f]/.test(data)) return blank(data, p);
  if (!boxed(p)) return hide(data, p.st.op < .1);
  if (p.faint < 0) p.faint = faint(p);
  if (p.faint === HIDDEN) return hide(data, true);
  range.selectNodeContents(n);
  const b = range.getBoundingClientRect();
  if (!legible(b, data)) return hide(data, b.width > 0 || b.height > 0);
  if (p.faint === SUSPECT && !contrasts(p, b)) return hide(data, true);
  const part = partSeen(b, p.st.clip);
  if (part === 0) return hide(data, true);
  emit(n, part === 1 ? data : visiblePart(n, data, 0, data.length, p.st.clip), p, b);
};

// blank writes white space between runs, once; it opens no element.
const blank = (data, p) => {
  if (!flow || !data) return;
  if (preserves(p) !== 'collapse') {
    if (boxed(p)) flush(), write('P' + escape(data)), spaced = true, last = null;
  } else if (!spaced) {
    write('T ');
    spaced = true;
  }
};

const emit = (n, data, p, b) => {
  if (!data) return;
  flush();
  inStretch = false;
  let kind = 'T';
  const plain = !/[\n\t\r\f\\]|  |^ | $/.test(data);
  if (!plain) {
    const white = preserves(p);
    if (white === 'preserve' || white === 'break-spaces') kind = 'P';
    else data = white === 'preserve-breaks' ? data.replace(/[ \t\f]*\n[ \t\f]*/g, '\n') : squeeze(data);
  }
  if (last && !spaced && kind === 'T' && data[0] !== ' ' && !/^[.,;:!?)\]}%»”’]/.test(data) && gap(last, n, lastBox, b)) data = ' ' + data;
  runs.push({ line: out.length, data, p, l: b.left, t: b.top, r: b.right, b: b.bottom });
  write(kind + (plain ? data : escape(data)));
  flow = true, spaced = data[data.length - 1] === ' ', atomic = false, last = n, lastBox = b;
};

// uncover takes out the runs that turned out to lie under an opaque layer.
const uncover = () => {
  if (!covers.length) return;
  for (const run of runs) {
    if (!covered(run)) continue;
    out[run.line] = 'T ';
    inStretch = false;
    hide(run.data, true);
  }
};

// --- elements ------------------------------------------------------------------

const field = (key, value) => value ? '\t' + key + '=' + escape(String(value)) : '';

// openLine is the line that opens el, or '' when el needs none.
const openLine = (el, tag, cs, block) => {
  const tex = formulas && !block ? source(el, tag) : '';
  if (tex) return '(math' + field('tex', tex.slice(0, 2 * LABEL));
  const keep = block ? BLOCKS.has(tag) : INLINES.has(tag);
  if (!keep && !block) return '';
  let line = (block ? '<' : '(') + (keep ? tag : 'div');
  const role = attr(el, 'role');
  if (role && ROLES.has(role)) line += field('role', role);
  if (attr(el, 'aria-expanded') === 'false') line += field('closed', 1);
  switch (keep && tag) {
    case 'a': line += field('href', attr(el, 'href').slice(0, URL_CHARS)); break;
    case 'ol': line += field('start', attr(el, 'start')) + field('reversed', hasAttribute.call(el, 'reversed') && 1) + field('style', cs.listStyleType); break;
    case 'li': line += field('value', attr(el, 'value')); break;
    case 'td': case 'th': line += field('cols', attr(el, 'colspan')) + field('rows', attr(el, 'rowspan')); break;
    case 'pre': case 'code': line += field('lang', language(el)); break;
    case 'details': line += field('closed', !hasAttribute.call(el, 'open') && 1); break;
  }
  return line;
};

// source is the TeX that a formula names as its source: a math element, or the
// span around a hidden one and what is shown for it. It is not visible, so
// what it says is compared with what is.
const TEX = 'annotation[encoding="application/x-tex"]', formulas = querySelector.call(document, TEX) !== null;
const source = (el, tag) => {
  let m = tag === 'math' ? el : null;
  if (tag === 'span') {
    const a = firstChild.call(el), b = a instanceof Element ? firstChild.call(a) : null;
    if (b instanceof Element && localName.call(b) === 'math') m = b;
  }
  const a = m && Element.prototype.querySelector.call(m, TEX), t = a && firstChild.call(a);
  return t && nodeType.call(t) === 3 ? squeeze(charData.call(t)).trim() : '';
};

// language is the programming language that el, or the box around a pre, names.
const language = el => {
  for (const e of [el, parentNode.call(el)]) {
    if (!(e instanceof Element)) continue;
    const m = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*)([\w+#.-]+)/.exec(attr(e, 'class'));
    const name = m ? m[1] : attr(e, 'data-lang') || attr(e, 'data-language');
    if (name || localName.call(el) !== 'pre') return name;
  }
  return '';
};

let depth = 0, inPre = 0;

const visit = (el, up, st) => {
  if (++nodes > NODES || depth > DEPTH) cut = true;
  if (cut) return;
  const tag = localName.call(el);
  if (SKIP.has(tag) || tag === 'img' && !attr(el, 'alt')) return;
  const cs = styleOf(el), display = cs.display;
  if (display === 'none') return tag === 'noscript' ? undefined : hideTree(el);
  if (tag === 'br') return lineBreak();
  if (tag === 'hr') return inside && (flush(), write('-')), edge();
  const inline = display === 'inline' || display !== 'block' && INLINE.test(display);
  if (!inline && cs.contentVisibility === 'hidden') return skipped(el);
  if (inPre && cs.userSelect === 'none') return; // line numbers, prompts and buttons are not the code
  const p = { el, cs, up, box: display === 'contents' && up ? up.box : el, position: cs.position, st, boxed: undefined, faint: -1, white: undefined };
  p.st = inherit(p, inline, st);
  if (p.st.back && up && el !== bodyElement && (p.st.back !== st.back || p.position !== 'static' && colour(cs.backgroundColor)?.[3] > .95)) noteCover(p);
  if (tag === 'img') return image(p);
  if (FRAMES.has(tag) && frame(tag, p)) return;
  enter(tag, p, display, inline);
};

const enter = (tag, p, display, inline) => {
  const block = !inline && !display.startsWith('inline') || ALWAYS.has(tag);
  const scope = only?.has(p.el) ? 1 : 0;
  inside += scope;
  const line = openLine(p.el, tag, p.cs, block), had = flow;
  const aside = had && block && (p.position === 'absolute' || p.position === 'fixed') ? { spaced, atomic, last, lastBox } : null;
  if (block) edge();
  else if (!inline) atomic = true;
  if (line) opened.push(line);
  if (inside && (tag === 'td' || tag === 'th')) flush(); // an empty cell keeps its column
  const pre = tag === 'pre' ? 1 : 0;
  depth++, inPre += pre;
  children(tag, p, display);
  depth--, inPre -= pre;
  inside -= scope;
  const is = line && close();
  if (aside && !is) { // out of the flow, and nothing in it: the line goes on
    ({ spaced, atomic, last, lastBox } = aside), flow = true;
  } else if (block) {
    edge();
    if (had && !is && inside) write('|');
  } else if (!inline) {
    atomic = true;
  }
};

// skipped leaves out contents that the page holds back until they are asked for.
const skipped = el => {
  hideTree(el);
  if (inside && attr(el, 'hidden') === 'until-found') flush(), write('C'), edge();
};

const children = (tag, p, display) => {
  const root = shadowRoot.call(p.el);
  if (tag === 'slot' && !root && p.el instanceof HTMLSlotElement) {
    const nodes = HTMLSlotElement.prototype.assignedNodes.call(p.el);
    for (let i = 0; i < nodes.length; i++) node(nodes[i], p);
    if (nodes.length) return;
  }
  const parent = root || p.el;
  if (/flex|grid/.test(display)) return ordered(parent, p);
  for (let n = firstChild.call(parent); n; n = nextSibling.call(n)) node(n, p);
};

// ordered visits the items of a flex or grid container as they are laid out.
const ordered = (parent, p) => {
  const items = [];
  let sort = false;
  for (let n = firstChild.call(parent); n; n = nextSibling.call(n)) {
    const order = nodeType.call(n) === 1 ? +styleOf(n).order || 0 : 0;
    if (order) sort = true;
    items.push({ n, order });
  }
  if (sort) items.sort((a, b) => a.order - b.order);
  if (/flex/.test(p.cs.display) && /reverse/.test(p.cs.flexDirection)) items.reverse();
  for (const i of items) node(i.n, p);
};

const node = (n, p) => {
  if (cut) return;
  const type = nodeType.call(n);
  if (type === 1) visit(n, p, p.st);
  else if (type === 3) text(n, p);
};

const lineBreak = () => {
  if (flow && inside) write('/');
  spaced = true, atomic = false, last = null;
};

const image = p => {
  if (!inside) return;
  const alt = squeeze(attr(p.el, 'alt')).trim(), b = alt && shown(p);
  if (!b) return;
  flush();
  const side = name => Math.max(b[name], parseInt(attr(p.el, name)) || 0); // an image that was not loaded has lost its size
  write((Math.min(side('width'), side('height')) >= ICON ? 'I' : 'i') + escape(alt.slice(0, LABEL)));
  flow = true, spaced = false, atomic = true, last = null;
};

let frames = 0;

// frame writes the place of a frame; false for an object that shows its own
// contents instead of a document.
const frame = (tag, p) => {
  if (!inside) return tag !== 'object';
  const index = frameIndex(p.el), b = shown(p);
  if (index === null) return tag !== 'object';
  flush(), write('F' + index + (b ? ' ' + Math.round(b.width) + ' ' + Math.round(b.height) : ''));
  frames++, edge();
  return true;
};

// --- the document ----------------------------------------------------------------

const finishAnimations = () => {
  let n = 0;
  for (const a of getAnimations.call(document)) {
    if (a.playState !== 'running' || a.playbackRate === 0 || !Number.isFinite(a.effect?.getComputedTiming().endTime)) continue;
    try { a.finish(), n++; } catch { /* a timeline that cannot be finished stays as it is */ }
  }
  return n;
};

// fallback is the length of what the page keeps for browsers without scripts.
const fallback = () => {
  let n = 0;
  for (const e of querySelectorAll.call(document, 'noscript')) {
    const t = firstChild.call(e);
    if (t && nodeType.call(t) === 3) n += squeeze(charData.call(t).replace(/<[^>]*>/g, ' ')).trim().length;
  }
  return n;
};

// said is the descriptions and texts in the page's structured data, and about
// the kinds of thing that the page says it is: the types there, and Open Graph's.
const SAID = 20000; // characters
let said = '';
const about = () => {
  const kinds = new Set();
  for (const e of querySelectorAll.call(document, 'script[type="application/ld+json"]')) {
    const t = firstChild.call(e);
    if (!t || nodeType.call(t) !== 3) continue;
    const data = charData.call(t).slice(0, 100000);
    for (const m of data.matchAll(/"@type"\s*:\s*(?:\[\s*)?"([A-Za-z]{1,40})"/g)) if (kinds.size < 100) kinds.add(m[1]);
    for (const m of data.matchAll(/"(?:description|articleBody|text)"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")/g)) if (said.length < SAID) said += plainly(m[1]) + ' ';
  }
  const m = /^\s*([a-z]+)/i.exec(meta('meta[property="og:type"]'));
  if (m) kinds.add('og:' + m[1].toLowerCase());
  return [...kinds].join(' ');
};

// plainly is the text of a string in JSON that may hold HTML.
const plainly = json => {
  let s = '';
  try { s = JSON.parse(json.replace(/[\n\r\t]/g, ' ')); } catch { /* no string after all */ }
  return s.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/<[^>]*>/g, ' ').replace(/&#?\w+;/g, ' ').slice(0, SAID);
};
const meta = selector => {
  const e = querySelector.call(document, selector);
  return e ? attr(e, 'content').slice(0, 500) : '';
};

// CAPTCHA matches the widgets of those who sell them. They say nothing alone:
// many are on every page of a site, out of sight.
const CAPTCHA = ['recaptcha', 'hcaptcha.com', 'challenges.cloudflare.com', 'captcha-delivery', 'arkoselabs', 'geetest'].map(s => `iframe[src*="${s}"]`).join(',') +
  ',.g-recaptcha,.h-captcha,.cf-turnstile,#px-captcha,#challenge-form,#captcha-form,form[action*=captcha],img[src*=captcha]';

const finished = options.finishAnimations ? finishAnimations() : 0;
visit(rootElement, null, { op: 1, clip: null, back: canvasColour() });
uncover();
const noscript = chars < 2000 ? fallback() : 0; // asked for only when there is hardly anything else
const busy = querySelector.call(document, 'body[aria-busy=true],main[aria-busy=true],[role=main][aria-busy=true]') !== null;
const head = [`bellglass-page 1\thidden=${hiddenChars}\tunrendered=${unrendered}\tblocks=${stretches}\tfinished=${finished}\tnodes=${nodes}` +
  `\tframes=${frames}\tbusy=${+busy}\tcut=${+cut}\tnoscript=${noscript}\twidth=${viewWidth}\theight=${viewHeight}` +
  `\tpasswords=${querySelectorAll.call(document, 'input[type=password]').length}\tcaptcha=${+(querySelector.call(document, CAPTCHA) !== null)}`,
  '=title ' + escape(title.call(document)), '=url ' + escape(documentURL.call(document)), '=base ' + escape(baseURI.call(document)), '=lang ' + escape(attr(rootElement, 'lang')),
  '=about ' + about(), '=said ' + escape(said), '=description ' + escape(meta('meta[name=description]') + ' ' + meta('meta[property="og:description"]'))];
if (options.hidden) head[0] += '\ttold=1';
return head.concat(left.map(s => '=hidden ' + escape(s)), out).join('\n');
