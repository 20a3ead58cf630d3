// What was asked for.

const DETAIL = 250; // controls of a frame that are described with row and cover

// whole is the frame. The controls that are listed first, those in view and
// then the others, are described in full.
const whole = () => {
  const listed = look();
  if (missed()) return looker({ ...options, modal: true });
  for (const pl of places) {
    let n = 0;
    while (n < listed.length && listed[n].at < pl.e) n++;
    pl.e = n;
  }
  let left = Math.max(options.detail, DETAIL);
  for (const seen of [true, false]) for (const e of listed) if (inView(e.box) === seen && left > 0) e.full = true, left--;
  const e = listed.map(describe);
  return JSON.stringify({ look: 1, doc: memory.token, url: documentURL.call(document), origin: self.origin, title: one(title.call(document)),
    e, l: linesOut(), c: chars, th: hash >>> 0, p: places, hc: hiddenChars, hb: hiddenBlocks, w: viewWidth, h: viewHeight,
    up: Math.round(pageY), dn: Math.round(Math.max(0, scrollHeight.call(rootElement) - viewHeight - pageY)), cut, s: suspected.length + (memory.revealed === nodes ? 0 : 1) });
};

// again is one node: what its name and its row depend on is walked, or all
// where that does not do.
const again = () => {
  const el = nodeOf(options.node), e = el && (options.all ? look().find(e => e.el === el) : alone(el));
  if (missed()) return looker({ ...options, modal: true });
  if (e) e.full = true;
  const d = e ? [describe(e)] : [];
  if (short && !options.all) return looker({ ...options, all: true });
  return JSON.stringify({ look: 1, doc: memory.token, e: d });
};

switch (options.mode) {
  case 'again': return again();
  case 'point': return point();
  case 'arm': return arm();
  case 'disarm': return disarm();
  default: return whole();
}
