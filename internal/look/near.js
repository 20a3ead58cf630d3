// One node looked at again, by a walk of what its description depends on: the
// elements around it, what is in it, in its row and in its labels. It may walk
// more than that, never less: whoever finds that more is needed says so, and
// the whole is walked.

// partly is the set of nodes on the way to what is walked, null for all;
// wanted are those of which everything is walked. short: more was needed.
let partly = null, wanted = null, short = false;

const way = el => {
  for (let e = el; e && !partly.has(e); e = upOf(e)) partly.add(e);
};

// rowNear is the row that rowOf would find, from a node that was not walked.
// own: the node itself may be one.
const rowNear = (el, own) => {
  let p = null, q = null;
  for (let e = el, i = 0; e && i < ROW_DEPTH; e = upOf(e), i++) {
    const up = { el: e, up: null, role: hasAttribute.call(e, 'role') ? roleOf(e) : '', cs: styleOf(e), row: undefined };
    q = q ? q.up = up : p = up;
  }
  return own && rowAt(p) === true ? el : rowOf(p);
};

const alone = el => {
  partly = new Set(), wanted = new Set([el]);
  const labelling = localName.call(el) in formClasses ? labelsOf(localName.call(el), el) : [];
  for (const x of [el, ...labelling]) {
    wanted.add(x);
    const row = rowNear(x, x !== el);
    if (row) wanted.add(row);
  }
  for (const x of wanted) way(x);
  begin({ has: e => matches.call(e, HINTS), add() {} }, { has: e => matches.call(e, SPOKEN), add() {} });
  visit(rootElement, null, { op: 1, clip: null, back: canvasColour() });
  noticed();
  if (labels.length) for (const e of entries) if (e.tag === 'input') noted.set(e.el, e);
  labels.forEach(behind);
  const e = entries.concat(extra).find(e => e.el === el && !e.gone);
  if (!e) return null;
  const row = rowOf(e.p);
  if (row && !wanted.has(row)) short = true;
  return e;
};
