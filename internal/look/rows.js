// What stands around a control: the repeated row that it is in, and the group.

const ROW_ROLES = set('row listitem article option treeitem');
const ROW_TAGS = set('tr li article dd');
const NO_ROW = set('form main body html table tbody thead tfoot ul ol dl nav header footer dialog fieldset');

// rowOf is the nearest repeated box around a control, or null.
const ROW_DEPTH = 8;
const rowOf = p => {
  for (let q = p, i = 0; q && i < ROW_DEPTH; q = q.up, i++) {
    if (i === 0) continue;
    if (q.row === undefined) q.row = rowAt(q);
    if (q.row === true) return q.el;
    if (q.row === false) return null;
  }
  return null;
};

// rowAt tells whether q is a row; false if there is none around it either.
const rowAt = q => {
  const tag = localName.call(q.el);
  if (ROW_TAGS.has(tag) || ROW_ROLES.has(q.role)) return true;
  if (NO_ROW.has(tag)) return false;
  return repeated(q, tag) || null;
};

const NOT_REPEATED = set('label a button td th');
const repeated = (q, tag) => {
  if (q.cs.display === 'inline' || NOT_REPEATED.has(tag)) return false;
  const cls = attr(q.el, 'class');
  if (!cls && !tag.includes('-') && tag !== 'section') return false;
  for (const s of [nextElement.call(q.el), previousElement.call(q.el)]) if (s && localName.call(s) === tag && attr(s, 'class') === cls) return true;
  return false;
};

// --- items that a listener around them answers for -------------------------------

const ITEMS = set('li tr dt dd'), PARTS = set('tbody thead tfoot'), LISTS = set('ul ol menu dl table');
const MANY_ITEMS = 300;

const isItem = (q, tag, loose) => ITEMS.has(tag) || loose && (q.item ??= repeated(q, tag));

// itemIn is the innermost item around p in what listens, where the outermost
// one is a part of that itself.
const itemIn = (p, top) => {
  const loose = top.how === 'heard' && !top.p.pointer; // a pointing hand means the whole
  let inner = null, outer = null;
  for (let q = p; q && q !== top.p; q = q.up) if (isItem(q, localName.call(q.el), loose)) inner ??= q, outer = q;
  let up = outer && outer.up;
  while (up && up !== top.p && (PARTS.has(localName.call(up.el)) || loose && LISTS.has(localName.call(up.el)))) up = up.up;
  return up === top.p ? inner : null;
};

// items lists, in the place of e, the items in it: lists and tables have one
// listener for all. It tells whether there are several.
const items = e => {
  const groups = new Map();
  for (let i = e.run; i < runs.length && groups.size <= MANY_ITEMS; i++) {
    const q = itemIn(runs[i].p, e), g = q && groups.get(q);
    if (g) g.push(i);
    else if (q) groups.set(q, [i]);
  }
  const part = partly !== null && !wanted.has(e.el);
  if (groups.size < (part ? 1 : 2) || groups.size > MANY_ITEMS) return false;
  const target = part ? nodeOf(options.node) : null;
  const around = new Set(); // items with items in them
  for (const q of groups.keys()) for (let up = q.up; up && up !== e.p; up = up.up) if (groups.has(up)) around.add(up);
  for (const [q, list] of groups) {
    const own = runs[list[0]].p, p = (target ? own.el === target : around.has(q)) ? own : q;
    const x = note('item', localName.call(p.el), p);
    x.run = list[0], x.written = true;
    x.content = one((p === q ? list : list.filter(i => inside(runs[i].p.el, p.el))).map(i => runs[i].data).join(' '));
    x.box = present(x), x.gone = !x.box;
  }
  return true;
};

const ROW_RUNS = 40, ROW_CHARS = 160;
const rowRuns = new Map();

// runsIn lists the runs of text in a row, of which e is a control.
const runsIn = (row, e) => {
  let all = rowRuns.get(row);
  if (all) return all;
  const has = i => i >= 0 && i < runs.length && inside(runs[i].p.el, row);
  let i = e.run;
  if (!has(i) && has(i - 1)) i--;
  while (has(i - 1)) i--;
  all = [];
  for (; has(i) && all.length < ROW_RUNS; i++) all.push(runs[i]);
  rowRuns.set(row, all);
  return all;
};

// rowText is what a person reads in a row: not what its buttons say, nor what
// e does. What flows in one line is one part of it.
const rowText = (row, e) => {
  const parts = [];
  let n = 0, flow = null, last = null;
  for (const r of runsIn(row, e)) {
    if (r.p.editor || inside(r.p.el, e.el) || r.control && inButton(r.p, row) || !inSight(r)) {
      flow = null;
      continue;
    }
    const f = flowOf(r.p);
    if (f === flow && r.breaks === last.breaks) parts[parts.length - 1] += r.gap ? ' ' + r.data : r.data;
    else parts.push(r.data);
    flow = f, last = r;
    if ((n += r.data.length + 3) > ROW_CHARS) break;
  }
  return parts.map(one).filter((s, i, all) => s && s !== all[i - 1]).join(' · ').slice(0, ROW_CHARS);
};

// flowOf is the box in whose lines a text stands. Raised and lowered text stands
// for itself: the cents of a price are no digits of it.
const flowOf = p => {
  while (p.up && !/^su[bp]/.test(localName.call(p.el)) && !/^su/.test(p.cs.verticalAlign) && (p.cs.display === 'inline' || p.cs.display === 'contents')) p = p.up;
  return p;
};

const inButton = (p, row) => {
  for (let q = p; q && q.el !== row; q = q.up) if (q.role === 'button' || localName.call(q.el) === 'button') return true;
  return false;
};

const GROUPS = 'fieldset,form[aria-label],form[aria-labelledby],dialog[aria-label],dialog[aria-labelledby],[role=dialog],[role=region],[role=form],[role=group],[role=radiogroup],[role=listbox],[role=menu],[role=tablist],[role=toolbar]';
const groupOf = el => {
  const g = closest.call(el, GROUPS);
  if (!g || g === el) return '';
  const by = attr(g, 'aria-labelledby'), s = by && referenced(g, by, null) || one(attr(g, 'aria-label'));
  if (s || !(g instanceof HTMLFieldSetElement)) return s;
  for (let n = firstChild.call(g); n; n = nextSibling.call(n)) if (n instanceof HTMLLegendElement) return one(nameText(n, el, false, 0));
  return '';
};
