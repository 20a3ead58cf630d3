// operatedAt tells whether a click on at operates el: at is in it, or in one of
// its labels, and in no control within these.
const operatedAt = (el, label, at) => {
  if (!at) return false;
  const tag = localName.call(el);
  // nested is the control inside el, or inside its label, that a click on at
  // would operate instead; null if there is none.
  const nested = stop => {
    for (let e = at; e && e !== stop; e = upOf(e)) {
      if (e === el) return null;
      const t = localName.call(e);
      if (ITEMS.has(t) && ITEMS.has(tag)) return e;
      if (t === 'a' && hasAttribute.call(e, 'href') || t === 'button' || t === 'input' || t === 'select' || t === 'textarea' || t === 'summary' || ACTS.test(attr(e, 'role'))) return e;
    }
    return null;
  };
  if (inside(at, el)) return nested(el) === null;
  for (const l of label) if (inside(at, l)) return nested(l) === null;
  return tag === 'area' && at === imageOf(el);
};

// called names an obstacle: tag, id, and the first of its label or text.
const called = at => {
  if (!at) return 'nothing: it is outside the viewport';
  let e = at;
  for (let p = at; p && p !== bodyElement && p !== rootElement; p = upOf(p)) {
    const cs = styleOf(p);
    if (cs.position === 'fixed' || cs.position === 'absolute' || cs.position === 'sticky') e = p;
  }
  const s = squeeze(attr(e, 'aria-label') || (e instanceof HTMLElement ? innerText.call(e) : '') || '').trim().slice(0, 60);
  const id = attr(e, 'id');
  return localName.call(e) + (id ? '#' + id.slice(0, 40) : '') + (s ? ' ' + JSON.stringify(s) : '');
};

// Where to click a node: scrolls it into view and tries points on its line
// boxes until one is found where the node itself, or its label, is on top. With
// it comes what the node is in that very moment.
const point = () => {
  const el = nodeOf(options.node);
  const answer = o => JSON.stringify({ point: 1, ...o });
  let stayed = options.calm; // where it was when the page was looked at
  if (!el || !isConnected.call(el)) return answer({ gone: true });
  const tag = localName.call(el), label = tag in formClasses ? labelsOf(tag, el) : [];

  const operates = at => operatedAt(el, label, at);

  // rects lists the boxes that el is painted as: its own, or when it has none
  // those of what is in it, or of its labels.
  const boxesOf = el => [...rectsOf.call(el)].filter(b => b.width >= 1 && b.height >= 1);
  const inner = el => {
    const all = [];
    for (let n = firstChild.call(rootOf(el) || el); n && all.length < 50; n = nextSibling.call(n)) {
      if (nodeType.call(n) === 1) {
        const own = boxesOf(n);
        all.push(...own.length ? own : inner(n));
      } else if (nodeType.call(n) === 3) {
        range.selectNodeContents(n);
        all.push(...[...range.getClientRects()].filter(b => b.width >= 1 && b.height >= 1));
      }
    }
    return all;
  };
  const areaBoxes = () => {
    const b = areaBox(el);
    return b ? [b] : [];
  };
  const own = () => {
    if (tag === 'area') return areaBoxes();
    const b = boxesOf(el);
    if (ITEMS.has(tag)) return [...inner(el), ...b]; // what listens around it may ask for its text
    return b.length ? b : inner(el);
  };
  const around = list => {
    const k = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (const b of list) k.left = Math.min(k.left, b.left), k.top = Math.min(k.top, b.top), k.right = Math.max(k.right, b.right), k.bottom = Math.max(k.bottom, b.bottom);
    return k;
  };

  const scrollTo = Element.prototype.scrollIntoView;
  const scrolled = tag === 'area' ? imageOf(el) : own().length ? el : label[0] || el;
  if (scrolled) {
    const b = around(own()), fits = b.top >= 0 && b.left >= 0 && b.bottom <= viewHeight && b.right <= viewWidth;
    if (!fits || !own().some(b => free(b))) stayed = false, scrollTo.call(scrolled, { block: 'center', inline: 'center', behavior: 'instant' });
  }

  function free(b) {
    for (const [fx, fy] of POINTS) {
      const x = b.left + (b.right - b.left) * fx, y = b.top + (b.bottom - b.top) * fy;
      if (x >= 0 && y >= 0 && x < viewWidth && y < viewHeight && operates(atPoint(x, y))) return { x, y };
    }
    return null;
  }

  const boxes = own();
  let hit = null;
  for (const b of boxes) if ((hit = free(b))) break;
  if (!hit) for (const l of label) { for (const b of boxesOf(l)) if ((hit = free(b))) break; if (hit) break; }
  if (!boxes.length && !hit) return answer({ gone: true });

  const k = around(tag === 'area' || !boxesOf(el).length ? boxes.length ? boxes : boxesOf(label[0] || el) : boxesOf(el)), at = [k.left, k.top, k.right, k.bottom].join();
  const last = memory.looked?.get(el);
  stayed &&= last && [k.left, k.top, k.right, k.bottom].every((v, i) => Math.abs(v - last[i]) < .5);
  const moved = !stayed && memory.where?.get(el) !== at;
  (memory.where ??= new WeakMap()).set(el, at);
  if (hit) return answer({ x: hit.x, y: hit.y, moved, now: moved ? '' : looker({ ...options, mode: 'again' }) });
  const x = Math.min(Math.max((k.left + k.right) / 2, 0), viewWidth - 1), y = Math.min(Math.max((k.top + k.bottom) / 2, 0), viewHeight - 1);
  return answer({ x, y, moved, covered: called(atPoint(x, y)) });
};
