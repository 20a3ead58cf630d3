// What a person could see. Every judgement here is about rendering: boxes,
// clips, opacity and colour. Names, roles and ARIA decide nothing.
//
// Nothing in the tree is read through a plain property: a form with a control
// named "nextSibling" shadows its own accessors, in isolated worlds too. The
// accessors below come from the prototypes, which a page cannot reach.
const getter = (proto, name) => Object.getOwnPropertyDescriptor(proto.prototype, name).get;
const nodeType = getter(Node, 'nodeType'), parentNode = getter(Node, 'parentNode'), charData = getter(CharacterData, 'data'), baseURI = getter(Node, 'baseURI');
const firstChild = getter(Node, 'firstChild'), nextSibling = getter(Node, 'nextSibling');
const lastChild = getter(Node, 'lastChild'), previousSibling = getter(Node, 'previousSibling');
const { contains, compareDocumentPosition } = Node.prototype;
const localName = getter(Element, 'localName'), namespace = getter(Element, 'namespaceURI'), shadowRoot = getter(Element, 'shadowRoot');
const { getAttribute: attribute, hasAttribute, checkVisibility, getBoundingClientRect: boxOf, querySelectorAll: selectAll } = Element.prototype;
const scrollWidth = getter(Element, 'scrollWidth'), scrollHeight = getter(Element, 'scrollHeight');
const scrollLeft = getter(Element, 'scrollLeft'), scrollTop = getter(Element, 'scrollTop');
const clientLeft = getter(Element, 'clientLeft'), clientTop = getter(Element, 'clientTop');
const clientWidth = getter(Element, 'clientWidth'), clientHeight = getter(Element, 'clientHeight');
const offsetParent = getter(HTMLElement, 'offsetParent');
const { querySelector, querySelectorAll, elementsFromPoint, createTreeWalker, createRange, getAnimations } = Document.prototype;
const title = getter(Document, 'title'), documentURL = getter(Document, 'URL');
const rootElement = getter(Document, 'documentElement').call(document), bodyElement = getter(Document, 'body').call(document);
if (!rootElement) return 'bellglass-page 1';
const styleOf = getComputedStyle.bind(window), range = createRange.call(document);

const LEGIBLE = 4; // px: the least height of a line, and the least side of a box, that a person can read
const FAR = 4; // viewport widths: nobody scrolls further sideways to read
const pageX = scrollX, pageY = scrollY, viewWidth = innerWidth, viewHeight = innerHeight;

// A frame, p in what follows, is what is known about one element on the way
// down: el, its style cs, the nearest element with a box, the frame it is in
// (up), its position, and st, the state of what is in it: the opacity op, the
// innermost clip and the colour behind (back, null when not known).

// --- clips -----------------------------------------------------------------

// A clip is a box outside which its contents are not painted, linked to the
// clip around it. A box that a person can scroll carries the reach of its
// contents; what lies in reach counts as seen where the box itself is seen.
const clipBox = (el, scrolls, outer) => {
  const b = boxOf.call(el), l = b.left + clientLeft.call(el), t = b.top + clientTop.call(el);
  const w = clientWidth.call(el) || b.width, h = clientHeight.call(el) || b.height;
  const c = { l, t, r: Math.min(l + w, b.right), b: Math.min(t + h, b.bottom), reach: null, outer };
  if (!scrolls) return c;
  const x = l - scrollLeft.call(el), y = t - scrollTop.call(el), sw = scrollWidth.call(el), sh = scrollHeight.call(el);
  const rtl = scrollLeft.call(el) < 0 || styleOf(el).direction === 'rtl';
  c.reach = { l: rtl ? x + w - sw : x, t: y, r: rtl ? x + w : x + sw, b: y + sh };
  return c;
};

// clipOf returns the clip that el's children live in, given el's own.
const clipOf = (el, cs, position, outer) => {
  let c = outer;
  if (cs.overflow !== 'visible') {
    if (el === rootElement || el === bodyElement) return outer; // belongs to the viewport
    const x = cs.overflowX, y = cs.overflowY;
    c = clipBox(el, x === 'auto' || x === 'scroll' || y === 'auto' || y === 'scroll', outer);
    if (x === 'visible') c.l = -Infinity, c.r = Infinity;
    if (y === 'visible') c.t = -Infinity, c.b = Infinity;
  } else if (containsPaint(cs)) {
    c = clipBox(el, false, outer);
  }
  if ((position === 'absolute' || position === 'fixed') && cs.clip !== 'auto') c = legacyClip(el, cs.clip, c);
  return c;
};

const containsPaint = cs => {
  const contain = cs.contain;
  return contain !== 'none' && /paint|strict|content/.test(contain) || cs.contentVisibility === 'auto';
};

const legacyClip = (el, clip, outer) => {
  const m = /^rect\((\S+?),? (\S+?),? (\S+?),? (\S+?)\)$/.exec(clip), b = boxOf.call(el);
  if (!m) return outer;
  const edge = (s, from, auto) => s === 'auto' ? auto : from + parseFloat(s);
  return { t: edge(m[1], b.top, -Infinity), r: edge(m[2], b.left, Infinity), b: edge(m[3], b.top, Infinity), l: edge(m[4], b.left, -Infinity), reach: null, outer };
};

// clipFrom finds the clips around a box that is taken out of the flow. What
// is fixed to the viewport cannot be scrolled into it.
const clipFrom = (el, fixed, clip, up) => {
  const parent = el instanceof HTMLElement ? offsetParent.call(el) : null;
  if (!parent && fixed) return { l: 0, t: 0, r: viewWidth, b: viewHeight, reach: null, outer: null };
  for (let p = up; p; p = p.up) {
    if (p.el === parent) return p.st.clip;
  }
  return clip; // not found: a shadow tree is in between
};

// length resolves a computed length or percentage, or NaN.
const length = (s, size) => {
  const m = /^(?:calc\()?(-?[\d.e+-]+)(px|%)(?: ([+-]) ([\d.]+)(px|%)\))?$/.exec(s || '');
  if (!m) return s === '0' ? 0 : NaN;
  const part = (v, unit) => unit === '%' ? v * size / 100 : +v;
  return part(m[1], m[2]) + (m[3] ? (m[3] === '-' ? -1 : 1) * part(m[4], m[5]) : 0);
};

// shapeClip turns a basic shape of clip-path into the box around it. A shape
// it cannot read clips nothing; one without area hides all.
const shapeClip = (el, path, outer) => {
  const m = /^(inset|rect|xywh|circle|ellipse|polygon|path)\((.*)\)/.exec(path);
  if (!m) return outer;
  const b = boxOf.call(el), X = s => length(s, b.width), Y = s => length(s, b.height);
  const words = m[2].split(' round ')[0].match(/calc\([^()]*\)|[^\s,]+/g) || [];
  const [w0, w1 = w0, w2 = w0, w3 = w1] = words;
  let box = null;
  switch (m[1]) {
    case 'inset': box = [X(w3), Y(w0), b.width - X(w1), b.height - Y(w2)]; break;
    case 'rect': box = [X(w3), Y(w0), X(w1), Y(w2)]; break;
    case 'xywh': box = [X(w0), Y(w1), X(w0) + X(w2), Y(w1) + Y(w3)]; break;
    case 'polygon': box = polygonBox(words, X, Y); break;
    case 'path': box = (m[2].match(/-?\d*\.?\d+/g) || []).length > 5 ? null : [0, 0, 0, 0]; break;
    default: box = roundBox(words, m[1], b);
  }
  if (!box || box.some(Number.isNaN)) return outer;
  return { l: b.left + box[0], t: b.top + box[1], r: b.left + box[2], b: b.top + box[3], reach: null, outer };
};

const roundBox = (words, kind, b) => {
  const at = words.indexOf('at'), size = at < 0 ? words : words.slice(0, at), pos = at < 0 ? [] : words.slice(at + 1);
  const cx = pos.length ? length(pos[0], b.width) : b.width / 2, cy = pos.length > 1 ? length(pos[1], b.height) : b.height / 2;
  const diagonal = Math.hypot(b.width, b.height) / Math.SQRT2;
  const rx = length(size[0], kind === 'circle' ? diagonal : b.width), ry = kind === 'circle' ? rx : length(size[1], b.height);
  return [cx - rx, cy - ry, cx + rx, cy + ry];
};

const polygonBox = (words, X, Y) => {
  const p = words.filter(w => w !== 'evenodd' && w !== 'nonzero');
  let l = Infinity, t = Infinity, r = -Infinity, b = -Infinity, area = 0;
  for (let i = 0; i + 1 < p.length; i += 2) {
    const x = X(p[i]), y = Y(p[i + 1]), k = (i + 2) % p.length;
    l = Math.min(l, x), r = Math.max(r, x), t = Math.min(t, y), b = Math.max(b, y);
    area += x * Y(p[k + 1]) - X(p[k]) * y;
  }
  return Math.abs(area) / 2 < LEGIBLE * LEGIBLE ? [0, 0, 0, 0] : [l, t, r, b];
};

// --- effects ---------------------------------------------------------------

// opacityOf is what is left of an element after opacity, filter and mask.
const opacityOf = cs => {
  let op = +cs.opacity;
  const filter = cs.filter;
  if (filter !== 'none') {
    for (const m of filter.matchAll(/opacity\(([\d.e-]+)(%?)\)/g)) op *= m[2] ? m[1] / 100 : +m[1];
    const blur = /blur\(([\d.]+)px\)/.exec(filter);
    if (blur && blur[1] >= parseFloat(cs.fontSize) / 3) op = 0;
  }
  if (cs.maskImage !== 'none') op *= maskOpacity(cs);
  return op;
};

const maskOpacity = cs => {
  const image = cs.maskImage;
  if (image === 'none') return 1;
  if (/^0px(?: 0px)?$|^0%/.test(cs.maskSize)) return 0;
  const c = stops(image);
  return c && c.length ? Math.max(...c.map(x => x[3])) : 1;
};

// turnedAway tells whether an element shows its back, and that is not drawn.
const turnedAway = p => {
  let m = new DOMMatrix();
  for (let q = p; q && (q === p || q.cs.transformStyle === 'preserve-3d'); q = q.up) {
    if (q.cs.transform !== 'none') m = new DOMMatrix(q.cs.transform).multiply(m);
  }
  return m.m33 < 0;
};

// --- verdicts on a rectangle -------------------------------------------------

// seen tells how much of a rectangle is painted where a person can get to it:
// 1 all, 0 nothing, in between some of it.
const seen = (l, t, r, b, clip) => {
  let part = 1;
  for (let c = clip; c; c = c.outer) {
    const k = c.reach || c;
    const nl = Math.max(l, k.l), nt = Math.max(t, k.t), nr = Math.min(r, k.r), nb = Math.min(b, k.b);
    if (nr <= nl || nb <= nt) return 0;
    if (nl !== l || nt !== t || nr !== r || nb !== b) part *= (nr - nl) * (nb - nt) / ((r - l) * (b - t));
    if (!c.reach) {
      l = nl, t = nt, r = nr, b = nb;
    } else if (c.r - c.l < LEGIBLE || c.b - c.t < LEGIBLE) {
      return 0;
    } else {
      l = c.l, t = c.t, r = c.r, b = c.b;
    }
  }
  return onPage(l, t, r, b) ? part : 0;
};

const rootStyle = styleOf(rootElement), rightToLeft = rootStyle.direction === 'rtl';
const sideways = !/hidden|clip/.test(rootStyle.overflowX !== 'visible' || !bodyElement ? rootStyle.overflowX : styleOf(bodyElement).overflowX);

// onPage tells whether a person can scroll a box into view. Below the page's
// end there is always more page; a page that stops people from scrolling down
// does so for the time of a dialog.
const onPage = (l, t, r, b) => {
  const x0 = l + pageX, x1 = r + pageX, reach = sideways ? FAR * viewWidth : viewWidth;
  if (b + pageY <= 0) return false;
  return rightToLeft ? x0 < viewWidth && x1 > viewWidth - reach : x1 > 0 && x0 < reach;
};
