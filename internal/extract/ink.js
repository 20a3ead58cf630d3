// Whether text shows against what lies behind it, and whether something lies
// on top of it.

const SVG = 'http://www.w3.org/2000/svg';
const FAINT = 24; // of 255: text whose every colour channel is this close to what lies behind it cannot be read

// --- colours -----------------------------------------------------------------

const colours = new Map();
let pixel = null;

// colour parses a computed colour into [r, g, b, a], a between 0 and 1.
const colour = text => {
  let c = colours.get(text);
  if (c !== undefined) return c;
  const m = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.e-]+))?\)$/.exec(text);
  c = m ? [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]] : convert(text);
  colours.set(text, c);
  return c;
};

// convert lets the browser turn other colour spaces into rgb.
const convert = text => {
  if (!/^(?!url)[a-z-]+\(/.test(text)) return null;
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = 'rgba(0, 0, 0, 0)';
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
  const scheme = rootStyle.colorScheme;
  const dark = /\bdark\b/.test(scheme) && (!/\blight\b/.test(scheme) || matchMedia('(prefers-color-scheme: dark)').matches);
  return dark ? [18, 18, 18] : [255, 255, 255];
};

// --- the colour of text ------------------------------------------------------

const CLEAR = 0, HIDDEN = 1, SUSPECT = 2;
let clearInk = '', clearOn = null, clearOp = 0; // the last combination found clear

// faint judges the colour of an element's text against what lies behind it.
// SUSPECT is text that its own ancestors would make invisible; contrasts
// then looks for what else may lie behind.
const faint = p => {
  const { cs, st } = p;
  if (st.op < .1 || cs.webkitTextSecurity !== 'none') return HIDDEN;
  const svg = namespace.call(p.el) === SVG, text = svg ? cs.fill : cs.webkitTextFillColor;
  if (text === clearInk && st.back === clearOn && st.op === clearOp && !svg) return CLEAR;
  const verdict = judge(p, svg, text);
  if (verdict === CLEAR && !svg) clearInk = text, clearOn = st.back, clearOp = st.op;
  return verdict;
};

const judge = (p, svg, text) => {
  const { cs, st } = p, ink = colour(text);
  if (!ink) return svg && cs.fill === 'none' && cs.stroke === 'none' ? HIDDEN : CLEAR;
  const alpha = ink[3] * st.op * (svg ? +cs.fillOpacity : 1);
  if (alpha >= .1 && !vanishes(ink, alpha, st.back)) return CLEAR;
  if (outlined(cs, st) || svg && cs.stroke !== 'none') return CLEAR;
  const clipped = textBackground(p);
  if (clipped) return clipped.every(c => c && vanishes(c, c[3] * st.op, st.back)) ? HIDDEN : CLEAR;
  return alpha < .1 ? HIDDEN : SUSPECT;
};

// vanishes tells whether a colour cannot be told from what is behind it.
const vanishes = (c, alpha, back) => back !== null && near(over(c, alpha, back), back);

// outlined tells whether a stroke or a shadow draws the letters instead.
const outlined = (cs, st) => {
  const drawn = c => !c || c[3] * st.op >= .1 && !vanishes(c, c[3] * st.op, st.back);
  if (parseFloat(cs.webkitTextStrokeWidth) > 0 && drawn(colour(cs.webkitTextStrokeColor))) return true;
  return cs.textShadow !== 'none' && (stops(cs.textShadow) || []).some(drawn);
};

// textBackground lists the colours of the nearest background that is clipped
// to the letters (null stands for an image), or returns null without one.
const textBackground = p => {
  for (let q = p, up = 0; q && up < 4; q = q.up, up++) {
    if (!q.cs.backgroundClip.includes('text')) continue;
    return q.cs.backgroundImage !== 'none' ? stops(q.cs.backgroundImage) || [null] : [colour(q.cs.backgroundColor)];
  }
  return null;
};

// contrasts looks for a backdrop that text of a suspect colour does show on:
// a gradient or image of an ancestor, or what a hit test finds beneath. Over
// an image nobody can tell, so the text counts as seen.
const contrasts = (p, b) => {
  const ink = colour(namespace.call(p.el) === SVG ? p.cs.fill : p.cs.webkitTextFillColor);
  const shows = cs => {
    const c = colour(cs.backgroundColor);
    if (!c || c[3] > .5 && !near(c, ink)) return true;
    if (cs.backgroundImage === 'none') return false;
    const s = stops(cs.backgroundImage);
    return !s || s.some(c => c[3] > .5 && !near(c, ink));
  };
  for (let q = p; q; q = q.up) {
    if (shows(q.cs)) return true;
    if (colour(q.cs.backgroundColor)[3] > .99) break;
  }
  return beneath(p.el, b, shows);
};

const REPLACED = new Set(['img', 'video', 'canvas', 'svg', 'iframe', 'object', 'embed']);

// beneath tells whether text shows on what is painted under the middle of b.
const beneath = (el, b, shows) => {
  const x = b.left + b.width / 2, y = b.top + b.height / 2;
  const inView = x >= 0 && y >= 0 && x < viewWidth && y < viewHeight;
  const stack = inView ? elementsFromPoint.call(document, x, y) : [], at = stack.indexOf(el);
  const below = at >= 0 ? stack.slice(at + 1) :
    layers().filter(k => k.l <= x && x <= k.r && k.t <= y && y <= k.b && compareDocumentPosition.call(k.el, el) & 4).map(k => k.el);
  for (const e of below) {
    if (contains.call(e, el)) continue;
    if (REPLACED.has(localName.call(e))) return true;
    const cs = styleOf(e);
    if (shows(cs)) return true;
    if (at >= 0 && colour(cs.backgroundColor)[3] > .99) return false;
  }
  return false;
};

let layerBoxes = null;

// layers lists the boxes outside the flow that could lie behind text.
const layers = () => {
  if (layerBoxes) return layerBoxes;
  layerBoxes = [];
  for (const el of querySelectorAll.call(document, 'body *')) {
    const cs = styleOf(el);
    if (!REPLACED.has(localName.call(el))) {
      if (cs.position === 'static' || cs.position === 'fixed') continue;
      if (cs.backgroundColor === 'rgba(0, 0, 0, 0)' && cs.backgroundImage === 'none') continue;
    }
    if (!checkVisibility.call(el, { opacityProperty: true, visibilityProperty: true })) continue;
    const b = boxOf.call(el);
    if (b.width > LEGIBLE && b.height > LEGIBLE) layerBoxes.push({ el, l: b.left, t: b.top, r: b.right, b: b.bottom });
  }
  return layerBoxes;
};

// --- what lies on top ----------------------------------------------------------

const COVERS = 500; // opaque layers looked at

const covers = [], runs = [];

// noteCover remembers a layer that may hide text under it. Layers fixed to
// the viewport do not count: people scroll, or close them.
const noteCover = p => {
  const { el, cs, position } = p;
  if (covers.length >= COVERS || position === 'fixed' || position === 'sticky' || p.st.op < .9) return;
  if (position === 'static' && cs.transform === 'none' && cs.translate === 'none') return;
  const b = boxOf.call(el);
  if (b.width > LEGIBLE && b.height > LEGIBLE) covers.push({ p, l: b.left - 1, t: b.top - 1, r: b.right + 1, b: b.bottom + 1 });
};

// layer is the outermost stacking level that p takes part in below top, as
// [z, in its own layer]; text in the flow is under all layers but negative ones.
const layer = (p, top) => {
  const chain = [];
  for (let q = p; q && q !== top; q = q.up) chain.push(q);
  let level = -.5;
  for (const q of chain.reverse()) {
    const z = parseInt(q.cs.zIndex), item = /flex|grid/.test(q.up?.cs.display);
    if (!Number.isNaN(z) && (q.position !== 'static' || item)) return z;
    if (stacks(q)) return 0;
    if (q.position !== 'static') level = 0;
  }
  return level;
};

const stacks = p => p.cs.opacity !== '1' || p.cs.transform !== 'none' || p.cs.filter !== 'none' || p.cs.isolation === 'isolate' ||
  p.position === 'fixed' || p.position === 'sticky';

// covered tells whether an opaque layer is painted over a run of text.
const covered = run => {
  for (const c of covers) {
    if (run.l < c.l || run.r > c.r || run.t < c.t || run.b > c.b) continue;
    const around = new Set();
    for (let q = run.p; q; q = q.up) around.add(q);
    if (around.has(c.p)) continue;
    let top = c.p;
    while (top && !around.has(top)) top = top.up;
    const zc = layer(c.p, top), zt = layer(run.p, top);
    if (zc < zt || zc === zt && !(compareDocumentPosition.call(run.p.el, c.p.el) & 4)) continue;
    if (boxed(c.p) && seen(run.l, run.t, run.r, run.b, c.p.up?.st.clip || null) === 1) return true;
  }
  return false;
};

// sunken tells whether a negative z-index puts p behind an opaque background
// of an element it is in.
const sunken = p => {
  for (let q = p.up; q && q.el !== bodyElement && q.el !== rootElement; q = q.up) {
    if (stacks(q) || q.cs.zIndex !== 'auto' && q.position !== 'static') return false;
    if (colour(q.cs.backgroundColor)?.[3] > .95) return true;
  }
  return false;
};
