// What is known of an element on the way down to it: how much of it is left by
// opacity, what clips it, what is behind it; and whether it and its text have
// a box in sight. Whoever walks a document uses this.

const set = words => new Set(words.split(' '));
const squeeze = s => /[\t\n\r\f]|  /.test(s) ? s.replace(/[ \t\n\r\f]+/g, ' ') : s;
const attr = (el, name) => attribute.call(el, name) || '';

// legible rejects text too small or too crowded to read, as letters set on
// top of each other are: under 10 square pixels for each of them.
const legible = (b, data) => b.height >= LEGIBLE && b.width > .5 &&
  (data.length < 9 || b.width * b.height >= 10 * (b.width * b.height > 400 * data.length ? 1 : squeeze(data).trim().length));

// partSeen allows for letters that stick out of a tight box.
const partSeen = (b, clip) => {
  const y = Math.min(b.height * .2, 8), x = Math.min(b.width * .2, 2);
  return seen(b.left + x, b.top + y, b.right - x, b.bottom - y, clip);
};

const BY_STYLE = { visibilityProperty: true, opacityProperty: true }, BY_BOX = { opacityProperty: true };

// boxed tells whether text inside p's element has a box at all. An element
// with display: contents has none, so its nearest box is asked instead.
// Opacity is asked about for the sake of closed shadow trees around it.
const boxed = p => p.boxed ??= checkVisibility.call(p.box, p.box === p.el ? BY_STYLE : BY_BOX) &&
  (p.box === p.el || p.cs.visibility === 'visible') &&
  (localName.call(p.el) !== 'details' || styleOf(p.el, '::details-content').contentVisibility !== 'hidden');

// drawing tells whether p is a picture in SVG, which clips what sticks out of it
// although it stands in a line.
const drawing = p => localName.call(p.el) === 'svg' && !(p.up && namespace.call(p.up.el) === SVG);

// inherit is the state of what is in p, given the state st around it.
const inherit = (p, inline, st) => {
  const { el, cs, position } = p;
  let { op, clip, back } = st;
  if (cs.opacity !== '1' || cs.filter !== 'none' || cs.maskImage !== 'none') op *= opacityOf(cs);
  if (position !== 'static') {
    if (clip && (position === 'absolute' || position === 'fixed') || position === 'fixed') clip = clipFrom(el, position === 'fixed', clip, p.up);
    if (cs.zIndex[0] === '-' && sunken(p)) op = 0;
  }
  if (cs.clipPath !== 'none') clip = shapeClip(el, cs.clipPath, clip);
  if (!inline || drawing(p)) {
    clip = clipOf(el, cs, position, clip);
    if (cs.backfaceVisibility === 'hidden' && turnedAway(p)) op = 0;
  }
  const bg = cs.backgroundColor;
  if (bg !== 'rgba(0, 0, 0, 0)') {
    const c = colour(bg);
    back = !c ? null : c[3] > .99 ? c : back && over(c, c[3], back);
  }
  return op === st.op && clip === st.clip && back === st.back ? st : { op, clip, back };
};

// shown returns the box of an element with content of its own, if in sight.
const shown = p => {
  if (!boxed(p) || p.st.op < .1) return null;
  const b = boxOf.call(p.el);
  return b.width >= LEGIBLE && b.height >= LEGIBLE && seen(b.left, b.top, b.right, b.bottom, p.st.clip) > 0 ? b : null;
};

// frameIndex is the number of the child frame that el holds: -1 if it is not
// to be found, null if el holds none.
const frameIndex = el => {
  const proto = [HTMLIFrameElement, HTMLFrameElement, HTMLObjectElement].find(c => el instanceof c);
  const inner = proto ? getter(proto, 'contentWindow').call(el) : null;
  if (!inner) return null;
  for (let i = 0; i < window.length; i++) if (window[i] === inner) return i;
  return -1;
};
