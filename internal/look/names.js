// Accessible names, after "Accessible Name and Description Computation 1.2"
// and HTML-AAM, and what comes closest to one where there is none.

const NAME_CHARS = 300;
const one = s => squeeze(s).trim().slice(0, NAME_CHARS);

const FROM_CONTENT = set('button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab tooltip treeitem');
const BLOCKY = /^(?:block|flex|grid|table|list-item|flow-root|inline-block|inline-flex|inline-grid|inline-table|table-row|table-cell|table-caption)/;

// nameText is what a label or a referenced element says. Hidden parts are left
// out, unless the whole that was referred to is hidden.
const nameText = (el, not, hiddenToo, depth) => {
  if (depth > 30 || el === not) return '';
  const tag = localName.call(el), cs = styleOf(el);
  if (!hiddenToo && (cs.display === 'none' || attr(el, 'aria-hidden') === 'true')) return '';
  if (depth > 0 && (tag === 'input' || tag === 'select' || tag === 'textarea')) return embedded(tag, el);
  const label = one(attr(el, 'aria-label'));
  if (label && depth > 0) return label;
  if (tag === 'img') return one(attr(el, 'alt'));
  if (tag === 'svg') return svgTitle(el);
  if (tag === 'script' || tag === 'style' || tag === 'noscript' || tag === 'template') return '';
  let s = '';
  for (let n = firstChild.call(rootOf(el) || el); n && s.length < NAME_CHARS; n = nextSibling.call(n)) {
    const type = nodeType.call(n);
    if (type === 3) {
      if (hiddenToo || cs.visibility === 'visible') s += charData.call(n);
    } else if (type === 1) {
      const t = nameText(n, not, hiddenToo, depth + 1);
      s += BLOCKY.test(styleOf(n).display) || localName.call(n) === 'br' ? ' ' + t + ' ' : t;
    }
  }
  if (tag === 'slot' && el instanceof HTMLSlotElement) for (const n of HTMLSlotElement.prototype.assignedNodes.call(el)) s += nodeType.call(n) === 3 ? charData.call(n) : nodeType.call(n) === 1 ? nameText(n, not, hiddenToo, depth + 1) : '';
  return s;
};

// embedded is what a control says inside another one's label: its value, if
// it is none that must stay where it is.
const embedded = (tag, el) => {
  if (tag === 'select') return protectedField(tag, el, []) ? '' : selectedText(el);
  if (tag === 'textarea' || PLAIN_TYPES.has(inputType(el)) && inputType(el) !== 'range') return '';
  return protectedField(tag, el, []) ? '' : ' ' + inputValue(el) + ' ';
};

const selectedText = el => {
  const all = selectOptions.call(el), n = optionCount.call(all), s = [];
  for (let i = 0; i < n && s.length < 20; i++) {
    const o = optionAt.call(all, i);
    if (optionSelected.call(o)) s.push(one(optionText.call(o)));
  }
  return s.join(', ');
};

const svgTitle = el => {
  for (let n = firstChild.call(el); n; n = nextSibling.call(n)) if (nodeType.call(n) === 1 && localName.call(n) === 'title') return one(textContent.call(n) || '');
  return '';
};

const referenced = (el, ids, not) => {
  const parts = [];
  for (const id of ids.split(/[ \t\n\r\f]+/).slice(0, 20)) {
    const r = id && byId(el, id);
    if (!r) continue;
    const hidden = !checkVisibility.call(r, BY_STYLE);
    const s = one(attr(r, 'aria-label')) || (r === el ? '' : one(nameText(r, not, hidden, 0)));
    if (s) parts.push(s);
  }
  return parts.join(' ');
};

// nameOf names a control. content is what the walk found in it.
const nameOf = (tag, el, role, content, aria) => {
  let s = '';
  if (aria) {
    const by = attr(el, 'aria-labelledby');
    if ((s = by && one(referenced(el, by, el)) || one(attr(el, 'aria-label')))) return s;
  }
  if ((s = ownName(tag, el))) return s;
  if (content && (FROM_CONTENT.has(role) || tag === 'summary' || !NAMED_BY_AUTHOR.has(role))) return content;
  return !aria ? '' : one(attr(el, 'title')) || one(attr(el, 'placeholder')) || one(attr(el, 'aria-placeholder'));
};
const NAMED_BY_AUTHOR = set('textbox searchbox combobox spinbutton slider listbox');

// ownName is the name that the element's own markup gives.
const ownName = (tag, el) => {
  if (tag in formClasses) {
    if (tag === 'input') {
      const type = inputType(el);
      if (type === 'submit' || type === 'reset' || type === 'button') {
        const v = one(labelText(tag, el)) || one(inputValue(el));
        return v || (type === 'submit' ? 'Submit' : type === 'reset' ? 'Reset' : '');
      }
      if (type === 'image') return one(labelText(tag, el)) || one(attr(el, 'alt')) || one(attr(el, 'value')) || one(attr(el, 'title')) || fileName(attr(el, 'src')) || 'Submit';
    }
    return one(labelText(tag, el));
  }
  if (tag === 'img' || tag === 'area') return one(attr(el, 'alt'));
  return namespace.call(el) === SVG ? svgTitle(el) : '';
};

const labelText = (tag, el) => labelsOf(tag, el).map(l => one(attr(l, 'aria-label')) || nameText(l, el, !checkVisibility.call(l, BY_STYLE), 0)).join(' ');

const fileName = src => {
  if (!src || /^data:|^blob:/i.test(src)) return '';
  const m = /([^/?#]+)\/?(?:[?#].*)?$/.exec(src);
  if (!m) return '';
  try { return decodeURIComponent(m[1]).slice(0, 60); } catch { return m[1].slice(0, 60); }
};

// humanise makes words of an identifier: "user[first_name]" is "first name".
const humanise = s => s.replace(/\[\d*\]/g, '').replace(/^.*[.[](?=(?!text\b|value\b|input\b)[^.[]*$)/, '').replace(/[[\]]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[_\-:.]+/g, ' ').trim();

// fallback names what has no accessible name: by what a person reads beside
// it, or by what its author calls it.
const fallbackName = (tag, el, e) => {
  if (tag in formClasses && tag !== 'button') {
    const s = symbolName(tag, el);
    if (s) return s;
  }
  let s = one(attr(el, 'data-original-title') || attr(el, 'data-title') || attr(el, 'data-tooltip') || attr(el, 'data-label') || attr(el, 'data-placeholder'));
  if (s) return s;
  if (isTick(e) && (s = columnName(el))) return s;
  if (tag in formClasses && tag !== 'button' || e.editable) s = beside(e) || (e.unsaid = true, humanise(attr(el, 'name') || attr(el, 'id')) + (isTick(e) && attr(el, 'value') ? ' ' + attr(el, 'value') : ''));
  if (!s && e.image) s = e.image;
  if (!s && e.href) s = hrefName(e.href);
  if (!s && (tag === 'img' || tag === 'audio' || tag === 'video')) s = fileName(attr(el, 'src'));
  if (!s) s = humanise(attr(el, 'name') || attr(el, 'id') || attr(el, 'data-action')) || iconName(el);
  if (!s && namespace.call(el) === SVG) s = shapeName(tag, el);
  if (!s && !(tag in formClasses) && !e.href) s = authorsName(el);
  return one(s) || (tag in formClasses ? e.type || tag : e.role || tag);
};

// columnName is the heading of the column that a box to tick stands in, as in a
// table of questions.
const columnName = el => {
  const cell = closest.call(el, 'td'), table = cell && closest.call(cell, 'table'), row = table && selectOne.call(table, 'tr');
  if (!row || row === parentNode.call(cell)) return '';
  let n = 0, h = firstChild.call(row);
  for (let c = previousElement.call(cell); c; c = previousElement.call(c)) n++;
  for (; h && (nodeType.call(h) !== 1 || n-- > 0); h = nextSibling.call(h));
  return h && localName.call(h) === 'th' ? one(nameText(h, null, false, 0)) : '';
};

// symbolName names a field whose label is a sign, such as a star of five.
const symbolName = (tag, el) => {
  for (const l of labelsOf(tag, el)) {
    const s = one(attr(l, 'title'));
    if (s) return s;
  }
  return one(attr(el, 'title'));
};

// shapeName is what a part of a drawing looks like, in its author's words:
// "red circle".
const shapeName = (tag, el) => {
  const fill = attr(el, 'fill') || attr(el, 'stroke');
  return (/^[a-z]+$/i.test(fill) && fill !== 'none' ? fill + ' ' : '') + tag;
};

// authorsName is what an author calls a thing that says nothing to people: the
// value of one of its data attributes, or the last word of its class.
const authorsName = el => {
  for (const a of ['title', 'name', 'label', 'color', 'colour', 'value', 'type', 'key', 'item', 'command', 'day', 'date', 'index']) {
    const v = one(attr(el, 'data-' + a));
    if (v && v.length <= 40) return v;
  }
  const words = attr(el, 'class').split(/[ \t\n\r\f]+/).filter(w => /^[a-z][a-z_-]{2,30}$/i.test(w));
  return words.length > 0 && words.length < 4 ? humanise(words[words.length - 1]) : '';
};

const hrefName = href => {
  if (/^(?:https?|file):/.test(href)) {
    const m = /^[a-z]+:\/\/([^/?#]*)([^?#]*)(?:\?[^#]*)?(#.+)?/.exec(href);
    return m ? fileName(m[2]) || m[3] || m[1] : '';
  }
  return href.slice(0, 60);
};

// iconName finds what an icon's class or symbol calls it.
const iconName = el => {
  const list = selectAll.call(el, 'use,[class]');
  for (let i = -1, n = Math.min(nodeListLength.call(list), 5); i < n; i++) {
    const x = i < 0 ? el : nodeListAt.call(list, i);
    const m = /#([\w-]+)$/.exec(attr(x, 'href') || attr(x, 'xlink:href')) || /(?:^|\s)(?:fa|icon|glyphicon|bi|mdi|material-icons?|ti|ri|la)-([a-z][a-z0-9-]+)/.exec(attr(x, 'class'));
    if (m) return humanise(m[1].replace(/^icon-/, ''));
  }
  return '';
};

const NEAR = 60; // px between a field and the text that names it

// beside is the text before a field in its line or above it; after it for
// boxes to tick; on it for what lies invisibly over what it looks like. Text
// that belongs to another field does not count.
const beside = e => {
  short = true;
  const b = e.box, tick = isTick(e);
  if (tick || e.p.st.op < .1) {
    const r = runs[e.run];
    if (usable(r) && SAYS.test(r.data) && sameLine(r, b) && r.l >= b.left && r.l - b.right < NEAR) return one(r.data);
  }
  const before = entries[e.at - 1], i = e.run - 1, r = runs[i];
  const taken = before && isTick(before) && before.run === i && before.box && r && sameLine(inSight(r) && r, before.box);
  if (r && !taken && usable(r)) {
    const left = sameLine(r, b) && r.r <= b.left + 4 && b.left - r.r < 4 * NEAR;
    const above = r.b <= b.top + 4 && b.top - r.b < NEAR / 2 && r.l < b.right && r.r > b.left - NEAR;
    const on = r.l >= b.left && r.r <= b.right && r.t >= b.top && r.b <= b.bottom;
    if ((left || above || on) && SAYS.test(r.data)) return one(r.data).replace(/\s*[:*]+\s*$/, '');
  }
  const next = runs[e.run];
  if (!tick && usable(next) && SAYS.test(next.data) && sameLine(next, b) && next.l >= b.right - 4 && next.l - b.right < NEAR / 2) return one(next.data);
  return '';
};
const SAYS = /[\p{L}\p{N}]/u; // a name says something
const usable = r => r && !r.control && inSight(r);
const sameLine = (r, b) => r && r.b > b.top && r.t < b.bottom;
const isTick = e => e.tag === 'input' && /^(?:checkbox|radio)$/.test(inputType(e.el));
