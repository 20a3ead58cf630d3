// What a person could see. Every judgement here is about rendering: boxes,
// clips, opacity and colour. Names, roles and ARIA decide nothing.
//
// Nothing in the tree is read through a plain property: a form with a control
// named "nextSibling" shadows its own accessors, in isolated worlds too. The
// accessors below come from the prototypes, which a page cannot reach.
const getter = (proto, name) => Object.getOwnPropertyDescriptor(proto.prototype, name).get;
const nodeType = getter(Node, 'nodeType'), firstChild = getter(Node, 'firstChild'), nextSibling = getter(Node, 'nextSibling');
const parentNode = getter(Node, 'parentNode'), charData = getter(CharacterData, 'data');
const localName = getter(Element, 'localName'), namespace = getter(Element, 'namespaceURI'), shadowRoot = getter(Element, 'shadowRoot');
const attribute = Element.prototype.getAttribute, hasAttribute = Element.prototype.hasAttribute;
const checkVisibility = Element.prototype.checkVisibility, boxOf = Element.prototype.getBoundingClientRect;
const scrollWidth = getter(Element, 'scrollWidth'), scrollHeight = getter(Element, 'scrollHeight');
const scrollLeft = getter(Element, 'scrollLeft'), scrollTop = getter(Element, 'scrollTop');
const clientLeft = getter(Element, 'clientLeft'), clientTop = getter(Element, 'clientTop');
const clientWidth = getter(Element, 'clientWidth'), clientHeight = getter(Element, 'clientHeight');
const offsetParent = getter(HTMLElement, 'offsetParent');
const { querySelector, querySelectorAll, elementsFromPoint, createTreeWalker, getAnimations } = Document.prototype;
const { contains, compareDocumentPosition } = Node.prototype;
const rootElement = getter(Document, 'documentElement').call(document), bodyElement = getter(Document, 'body').call(document);
const title = getter(Document, 'title'), documentURL = getter(Document, 'URL');
const styleOf = getComputedStyle.bind(window);
const range = Document.prototype.createRange.call(document);

const SVG = 'http://www.w3.org/2000/svg';
const LEGIBLE = 4; // px: the least height of a line, and the least side of a box, that a person can read
const FAINT = 24; // of 255: text whose every colour channel is this close to what lies behind it cannot be read
const FAR = 4; // viewport widths: nobody scrolls further sideways to read

const pageX = scrollX, pageY = scrollY, viewWidth = innerWidth, viewHeight = innerHeight;

// --- colours -------------------------------------------------------------

const colours = new Map();
let pixel = null;

// colour parses a computed colour into [r, g, b, a], a between 0 and 1.
const colour = text => {
  let c = colours.get(text);
  if (c !== undefined) return c;
  const m = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.e-]+))?\)$/.exec(text);
  c = m ? [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]] : paint(text);
  colours.set(text, c);
  return c;
};

// paint lets the browser convert the colour spaces that do not read as rgb().
const paint = text => {
  if (!/^[a-z-]+\(/.test(text) || /^url/.test(text)) return null;
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = 'rgba(1, 2, 3, 0)';
  pixel.fillStyle = text;
  pixel.fillRect(0, 0, 1, 1);
  const d = pixel.getImageData(0, 0, 1, 1).data;
  return [d[0], d[1], d[2], d[3] / 255];
};

const over = (c, alpha, back) => [0, 1, 2].map(i => c[i] * alpha + back[i] * (1 - alpha));
const near = (a, b) => Math.abs(a[0] - b[0]) <= FAINT && Math.abs(a[1] - b[1]) <= FAINT && Math.abs(a[2] - b[2]) <= FAINT;

// stops lists the colours of a gradient, or null when an image takes part.
const stops = image => {
  if (/url\(|image\(|-set\(|element\(|paint\(/.test(image)) return null;
  return (image.match(/(?:rgba?|color|oklch|oklab|lch|lab|hwb|hsla?)\([^()]*\)/g) || []).map(colour).filter(c => c);
};

const canvasColour = () => {
  const scheme = styleOf(rootElement).colorScheme;
  const dark = /\bdark\b/.test(scheme) && (!/\blight\b/.test(scheme) || matchMedia('(prefers-color-scheme: dark)').matches);
  return dark ? [18, 18, 18] : [255, 255, 255];
};

// --- clips ---------------------------------------------------------------

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
  } else if (paints(cs)) {
    c = clipBox(el, false, outer);
  }
  if ((position === 'absolute' || position === 'fixed') && cs.clip !== 'auto') c = legacyClip(el, cs.clip, c);
  return c;
};

// paints tells whether an element contains the paint of what is in it.
const paints = cs => {
  const contain = cs.contain;
  return contain !== 'none' && /paint|strict|content/.test(contain) || cs.contentVisibility === 'auto';
};

const legacyClip = (el, clip, outer) => {
  const m = /^rect\((\S+?),? (\S+?),? (\S+?),? (\S+?)\)$/.exec(clip), b = boxOf.call(el);
  if (!m) return outer;
  const edge = (s, from, auto) => s === 'auto' ? auto : from + parseFloat(s);
  return { t: edge(m[1], b.top, -Infinity), r: edge(m[2], b.left, Infinity), b: edge(m[3], b.top, Infinity), l: edge(m[4], b.left, -Infinity), reach: null, outer };
};

// length resolves a computed length or percentage, or NaN.
const length = (s, size) => {
  const m = /^(?:calc\()?(-?[\d.e+-]+)(px|%)(?: ([+-]) ([\d.]+)(px|%)\))?$/.exec(s || '');
  if (!m) return s === '0' ? 0 : NaN;
  const part = (v, unit) => unit === '%' ? v * size / 100 : v;
  return part(+m[1], m[2]) + (m[3] ? (m[3] === '-' ? -1 : 1) * part(+m[4], m[5]) : 0);
};

// shapeClip turns a basic shape of clip-path into the box around it. A shape
// it cannot read clips nothing; one without area hides all.
const shapeClip = (el, path, outer) => {
  const m = /^(inset|rect|xywh|circle|ellipse|polygon|path|shape)\((.*)\)/.exec(path);
  if (!m) return outer;
  const b = boxOf.call(el), X = s => length(s, b.width), Y = s => length(s, b.height);
  const words = m[2].split(' round ')[0].match(/calc\([^()]*\)|[^\s,]+/g) || [];
  let box = null;
  if (m[1] === 'inset') {
    const [t, r = t, bt = t, l = r] = words;
    box = [X(l), Y(t), b.width - X(r), b.height - Y(bt)];
  } else if (m[1] === 'rect') {
    box = [X(words[3]), Y(words[0]), X(words[1]), Y(words[2])];
  } else if (m[1] === 'xywh') {
    box = [X(words[0]), Y(words[1]), X(words[0]) + X(words[2]), Y(words[1]) + Y(words[3])];
  } else if (m[1] === 'circle' || m[1] === 'ellipse') {
    box = roundBox(words, m[1], b);
  } else if (m[1] === 'polygon') {
    box = polygonBox(words, X, Y);
  } else if (m[1] === 'path') {
    const n = (m[2].match(/-?\d*\.?\d+/g) || []).map(Number);
    box = polygonBox(n.length > 5 ? null : ['0px', '0px'], X, Y);
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
  if (!words) return null;
  const p = words.filter(w => w !== 'evenodd' && w !== 'nonzero');
  let l = Infinity, t = Infinity, r = -Infinity, b = -Infinity, area = 0;
  for (let i = 0; i + 1 < p.length; i += 2) {
    const x = X(p[i]), y = Y(p[i + 1]), k = (i + 2) % p.length;
    l = Math.min(l, x), r = Math.max(r, x), t = Math.min(t, y), b = Math.max(b, y);
    area += x * Y(p[k + 1]) - X(p[k]) * y;
  }
  return Math.abs(area) / 2 < LEGIBLE * LEGIBLE ? [0, 0, 0, 0] : [l, t, r, b];
};

// --- effects -------------------------------------------------------------

// opacityOf is what is left of an element after opacity, filter and mask.
const opacityOf = cs => {
  let op = +cs.opacity;
  const filter = cs.filter, mask = cs.mask;
  if (filter !== 'none') {
    for (const m of filter.matchAll(/opacity\(([\d.e-]+)(%?)\)/g)) op *= m[2] ? m[1] / 100 : +m[1];
    const blur = /blur\(([\d.]+)px\)/.exec(filter);
    if (blur && blur[1] >= parseFloat(cs.fontSize) / 3) op = 0;
  }
  if (mask !== 'none') op *= maskOpacity(cs);
  return op;
};

const maskOpacity = cs => {
  const image = cs.maskImage;
  if (image === 'none') return 1;
  if (/^0px(?: 0px)?$|^0%/.test(cs.maskSize)) return 0;
  const c = stops(image);
  return c && c.length ? Math.max(...c.map(x => x[3])) : 1;
};

// --- verdicts on a rectangle -----------------------------------------------

// seen tells how much of a rectangle is painted where a person can get to it:
// 1 all, 0 nothing, in between some of it.
const seen = (l, t, r, b, clip) => {
  const area = Math.max(r - l, .01) * Math.max(b - t, .01);
  let part = 1;
  for (let c = clip; c; c = c.outer) {
    const k = c.reach || c;
    const nl = Math.max(l, k.l), nt = Math.max(t, k.t), nr = Math.min(r, k.r), nb = Math.min(b, k.b);
    if (nr <= nl || nb <= nt) return 0;
    part *= (nr - nl) * (nb - nt) / (Math.max(r - l, .01) * Math.max(b - t, .01));
    if (c.reach) {
      if (c.r - c.l < LEGIBLE || c.b - c.t < LEGIBLE) return 0;
      l = c.l, t = c.t, r = c.r, b = c.b;
    } else {
      l = nl, t = nt, r = nr, b = nb;
    }
  }
  if (!onPage(l, t, r, b) || area === 0) return 0;
  return part > .999 ? 1 : part;
};

const rootStyle = styleOf(rootElement), bodyStyle = bodyElement ? styleOf(bodyElement) : rootStyle;
const rightToLeft = rootStyle.direction === 'rtl';
const sideways = !/hidden|clip/.test(rootStyle.overflowX + (rootStyle.overflowX === 'visible' ? bodyStyle.overflowX : ''));

const onPage = (l, t, r, b) => {
  const x0 = l + pageX, x1 = r + pageX;
  if (b + pageY <= 0) return false;
  const reach = sideways ? FAR * viewWidth : viewWidth;
  return rightToLeft ? x0 < viewWidth && x1 > viewWidth - reach : x1 > 0 && x0 < reach;
};

// --- ink -----------------------------------------------------------------

const CLEAR = 0, HIDDEN = 1, SUSPECT = 2;

let clearInk = '', clearOn = null, clearOp = 0; // the last combination found clear

// faint judges the colour of an element's text against what lies behind it.
// SUSPECT is text that its own ancestors would make invisible; contrasts
// then looks for what else may lie behind.
const faint = (el, cs, st) => {
  if (st.op < .1) return HIDDEN;
  const svg = namespace.call(el) === SVG, text = svg ? cs.fill : cs.webkitTextFillColor;
  if (text === clearInk && st.back === clearOn && st.op === clearOp && !svg) return CLEAR;
  const verdict = judge(svg, text, cs, st);
  if (verdict === CLEAR && !svg) clearInk = text, clearOn = st.back, clearOp = st.op;
  return verdict;
};

const judge = (svg, text, cs, st) => {
  const ink = colour(text);
  if (!ink) return svg && cs.fill === 'none' && cs.stroke === 'none' ? HIDDEN : CLEAR;
  const alpha = ink[3] * st.op * (svg ? +cs.fillOpacity : 1);
  if (alpha >= .1 && (!st.back || !near(over(ink, alpha, st.back), st.back))) return CLEAR;
  if (outlined(cs, st) || svg && cs.stroke !== 'none') return CLEAR;
  const clipped = textBackground();
  if (clipped) return clipped.some(c => c === null || !st.back || !near(over(c, c[3] * st.op, st.back), st.back)) ? CLEAR : HIDDEN;
  return alpha < .1 ? HIDDEN : SUSPECT;
};

// outlined tells whether a stroke or a shadow draws the letters instead.
const outlined = (cs, st) => {
  const drawn = text => {
    const c = colour(text);
    return !c || c[3] * st.op >= .1 && !(st.back && near(over(c, c[3] * st.op, st.back), st.back));
  };
  if (parseFloat(cs.webkitTextStrokeWidth) > 0 && drawn(cs.webkitTextStrokeColor)) return true;
  if (cs.textShadow === 'none') return false;
  return (stops(cs.textShadow) || []).some(c => drawn(`rgba(${c[0]}, ${c[1]}, ${c[2]}, ${c[3]})`));
};

// textBackground lists the colours of the nearest background that is clipped
// to the letters (null stands for an image), or returns null without one.
const textBackground = () => {
  for (let i = path.length - 1; i >= 0; i--) {
    const cs = path[i].cs;
    if (cs.backgroundClip.includes('text')) return cs.backgroundImage !== 'none' ? stops(cs.backgroundImage) || [null] : [colour(cs.backgroundColor)];
    if (!cs.display.startsWith('inline') && i < path.length - 3) return null;
  }
  return null;
};

// contrasts looks for a backdrop that text of a suspect colour does show on:
// a gradient or image of an ancestor, or what a hit test finds beneath. Over
// an image nobody can tell, so the text counts as seen.
const contrasts = (el, cs, b) => {
  const ink = colour(namespace.call(el) === SVG ? cs.fill : cs.webkitTextFillColor);
  const shows = (image, bg) => {
    if (image !== 'none') {
      const s = stops(image);
      if (!s || s.some(c => c[3] > .5 && !near(c, ink))) return true;
    }
    const c = colour(bg);
    return !c || c[3] > .5 && !near(c, ink);
  };
  for (let i = path.length - 1; i >= 0; i--) {
    const s = path[i].cs;
    if (shows(s.backgroundImage, s.backgroundColor)) return true;
    if (colour(s.backgroundColor)?.[3] > .99) break;
  }
  return beneath(el, b, shows);
};

const REPLACED = new Set(['img', 'video', 'canvas', 'svg', 'iframe', 'object', 'embed', 'picture']);

// beneath finds the first painted thing under the middle of b.
const beneath = (el, b, shows) => {
  const x = b.left + b.width / 2, y = b.top + b.height / 2;
  const inView = x >= 0 && y >= 0 && x < viewWidth && y < viewHeight;
  const stack = inView ? elementsFromPoint.call(document, x, y) : [];
  const at = stack.indexOf(el);
  const below = at >= 0 ? stack.slice(at + 1) : painted().filter(p => p.l <= x && x <= p.r && p.t <= y && y <= p.b && precedes(p.el, el)).map(p => p.el);
  for (const e of below) {
    if (contains.call(e, el)) continue;
    if (REPLACED.has(localName.call(e))) return true;
    const cs = styleOf(e);
    if (shows(cs.backgroundImage, cs.backgroundColor)) return true;
    if (at >= 0 && colour(cs.backgroundColor)?.[3] > .99) return false;
  }
  return false;
};

const precedes = (a, b) => (compareDocumentPosition.call(a, b) & 4) !== 0;

let paintedBoxes = null;

// painted lists the boxes outside the flow that could lie behind text.
const painted = () => {
  if (paintedBoxes) return paintedBoxes;
  paintedBoxes = [];
  for (const e of querySelectorAll.call(document, 'body *')) {
    const cs = styleOf(e);
    if (!REPLACED.has(localName.call(e)) && (cs.position === 'static' || cs.position === 'fixed')) continue;
    if (cs.backgroundColor === 'rgba(0, 0, 0, 0)' && cs.backgroundImage === 'none' && !REPLACED.has(localName.call(e))) continue;
    if (!checkVisibility.call(e, { opacityProperty: true, visibilityProperty: true })) continue;
    const r = boxOf.call(e);
    if (r.width > LEGIBLE && r.height > LEGIBLE) paintedBoxes.push({ el: e, l: r.left, t: r.top, r: r.right, b: r.bottom });
  }
  return paintedBoxes;
};
