// One control, described.

const VALUE_CHARS = 300, URL_CHARS = 2049;

const tri = (el, name) => { const v = attr(el, name); return v === 'true' || v === 'mixed' ? v : v === 'false' ? 'false' : ''; };

const inView = b => b.right > 0 && b.bottom > 0 && b.left < viewWidth && b.top < viewHeight;

const describe = e => {
  const { el, tag, p, box } = e, d = { n: number(el) }, aria = spoken.has(el);
  const inputs = tag === 'input' ? inputType(el) : '';
  e.type = inputs || (tag === 'button' ? ofForm(tag, el, 'type') : '');
  if (e.type && !(tag === 'button' && e.type === 'submit')) d.y = e.type;
  if (tag !== 'a') d.t = tag;
  if (tag === 'a' && el instanceof HTMLAnchorElement) e.href = anchorHref.call(el);
  else if (tag === 'area') e.href = areaHref.call(el);
  else if (tag === 'a') e.href = resolved(attr(el, 'href') || attr(el, 'xlink:href'));
  if (e.href) d.h = e.href.slice(0, URL_CHARS);
  e.editable = tag === 'textarea' || tag === 'input' && TYPED.has(inputs) || isEditor(el);
  if (!e.role) e.role = e.how === 'media' ? tag : LOOKS.has(e.how) ? (tag === 'img' || tag === 'svg' ? 'img' : 'clickable') : '';
  if (e.role !== (tag === 'a' ? 'link' : tag)) d.r = e.role || '-';
  const name = nameOf(tag, el, e.role, e.content, aria);
  d.m = name && (!TAKES_VALUE.has(tag) || SAYS.test(name)) ? name : fallbackName(tag, el, e);
  const secret = protectedField(tag, el, e.unsaid ? [] : [d.m]);
  if (secret) d.p = 1;
  if (e.editable) d.ed = 1;
  if (tag in formClasses) form(tag, el, d);
  value(tag, el, d, e, inputs, secret);
  states(tag, el, d, e, inputs, aria);
  if (inView(box)) d.v = 1;
  if (!e.full) return d;
  if (partly === null) (memory.looked ??= new WeakMap()).set(el, [box.left, box.top, box.right, box.bottom]);
  d.b = [Math.round(box.left), Math.round(box.top), Math.round(box.right - box.left), Math.round(box.bottom - box.top)];
  const row = rowOf(p);
  if (row) d.w = rowText(row, e);
  const group = tag in formClasses || e.role === 'radio' || e.role === 'checkbox' || e.role === 'button' ? groupOf(el) : '';
  if (group && group !== d.m) d.g = group;
  if (d.v && buried(e)) d.c = 1;
  return d;
};

const LOOKS = set('hint heard cursor item'); // what is a control for how it acts or looks

// resolved is the address that a link in a drawing leads to.
const resolved = href => {
  try { return new URL(href, baseURI.call(document)).href; } catch { return href; }
};

const form = (tag, el, d) => {
  const f = ofForm(tag, el, 'form');
  if (!f) return;
  const own = (tag === 'button' || tag === 'input') && hasAttribute.call(el, 'formaction') ? ofForm(tag, el, 'formAction') : '';
  d.a = (own || formAction.call(f)).slice(0, URL_CHARS);
  d.am = (own || hasAttribute.call(el, 'formmethod')) && (tag === 'button' || tag === 'input') ? ofForm(tag, el, 'formMethod') || formMethod.call(f) : formMethod.call(f);
};

const value = (tag, el, d, e, type, secret) => {
  let v = '';
  if (tag === 'select') {
    if (!secret) v = selectedText(el), choices(el, d);
  } else if (secret || type === 'password') {
    return;
  } else if (tag === 'textarea') {
    v = areaValue.call(el);
  } else if (tag === 'input') {
    if (TYPED.has(type) || type === 'range' || type === 'color') v = inputValue(el);
    else if (type === 'file') v = fileName(inputValue(el).replace(/\\/g, '/'));
    if (type === 'range' || type === 'number' || /^(?:date|time|month|week|datetime-local)$/.test(type)) limits(d, inputMin(el), inputMax(el), inputStep(el));
  } else if (e.how === 'media') {
    v = mediaPaused.call(el) ? 'paused' : 'playing';
  } else if (isEditor(el)) {
    v = innerText.call(el);
  } else if (e.role === 'slider' || e.role === 'spinbutton') {
    v = attr(el, 'aria-valuetext') || attr(el, 'aria-valuenow');
    limits(d, attr(el, 'aria-valuemin'), attr(el, 'aria-valuemax'), '');
  } else if (NAMED_BY_AUTHOR.has(e.role) && e.content !== d.m) {
    v = e.content;
  }
  v = one(v.slice(0, 4 * VALUE_CHARS));
  if (v) d.l = v;
};

const limits = (d, min, max, step) => {
  if (min) d.lo = min.slice(0, 40);
  if (max) d.hi = max.slice(0, 40);
  if (step) d.st = step.slice(0, 40);
};

const choices = (el, d) => {
  const all = selectOptions.call(el), n = optionCount.call(all);
  d.k = 0, d.o = [];
  for (let i = 0; i < n; i++) {
    const o = optionAt.call(all, i);
    if (hasAttribute.call(o, 'hidden')) continue;
    d.k++;
    if (d.o.length >= options.choices) continue;
    const g = parentNode.call(o), c = { t: one(optionText.call(o)), v: optionValue.call(o).slice(0, VALUE_CHARS) };
    if (g instanceof HTMLOptGroupElement) c.g = one(attr(g, 'label'));
    if (optionSelected.call(o)) c.s = 1;
    if (matches.call(o, ':disabled')) c.d = 1;
    d.o.push(c);
  }
};

// spoken are the elements about which an author tells assistive technology
// something, found at once.
let spoken = new Set();
const SPOKEN = ['checked', 'pressed', 'expanded', 'selected', 'current', 'disabled', 'readonly', 'required', 'invalid', 'multiselectable', 'valuenow', 'valuetext', 'label', 'labelledby', 'placeholder'].map(a => '[aria-' + a + ']').join() + ',[title],[placeholder]';

const states = (tag, el, d, e, type, aria) => {
  const ask = name => aria ? tri(el, 'aria-' + name) : '', is = name => ask(name) === 'true';
  if (type === 'checkbox' || type === 'radio') d.ck = type === 'checkbox' && inputMixed(el) ? 'mixed' : String(inputChecked(el));
  else if (CHECKABLE.has(e.role)) d.ck = ask('checked') || 'false';
  else if (ask('checked')) d.ck = ask('checked');
  if (ask('pressed')) d.pr = ask('pressed');
  if (tag === 'summary' && e.how === 'native') d.ex = String(detailsOpen.call(parentNode.call(el)));
  else if (ask('expanded')) d.ex = ask('expanded');
  if (ask('selected')) d.se = ask('selected');
  if (aria) {
    const current = attr(el, 'aria-current'), invalid = attr(el, 'aria-invalid');
    if (current && current !== 'false') d.cu = 1;
    if (invalid && invalid !== 'false') d.iv = 1;
  }
  const native = tag in formClasses;
  if (e.p.disabled || native && matches.call(el, ':disabled')) d.d = 1;
  if (tag === 'textarea' ? areaReadOnly.call(el) : tag === 'input' && TYPED.has(type) && inputReadOnly(el) || is('readonly')) d.ro = 1;
  if (tag === 'textarea' ? areaRequired.call(el) : tag === 'select' ? selectRequired.call(el) : tag === 'input' && inputRequired(el) || is('required')) d.rq = 1;
  if (native && tag !== 'button' && matches.call(el, ':user-invalid')) d.iv = 1;
  if (tag === 'select' ? selectMultiple.call(el) : tag === 'input' && inputMultiple(el) || is('multiselectable')) d.mu = 1;
  if (el === (focused ??= focusedNow() || 0)) d.f = 1;
};
const CHECKABLE = set('checkbox radio switch menuitemcheckbox menuitemradio');

let focused = null;
const focusedNow = () => {
  let a = activeElement.call(document);
  for (let i = 0; a && i < 50; i++) {
    const r = rootOf(a), n = r && shadowActive.call(r);
    if (!n) break;
    a = n;
  }
  return a === bodyElement ? null : a;
};

// hits tells whether a click on x, y would operate the element.
const hits = (e, x, y) => {
  const at = atPoint(x, y);
  if (!at) return false;
  if (at === e.el || inside(at, e.el)) return true;
  const l = e.via?.el;
  if (l && inside(at, l)) return true;
  if (e.tag in formClasses) for (const l of labelsOf(e.tag, e.el)) if (inside(at, l)) return true;
  return e.tag === 'area' && localName.call(at) === 'img';
};

let probes = 3000;

// buried tells whether something is on top of every point of e that was tried.
const buried = e => {
  let boxes = e.via || e.tag === 'area' ? [] : [...rectsOf.call(e.el)].filter(big).slice(0, 3);
  if (!boxes.length) boxes = [e.box];
  for (const [fx, fy] of POINTS) {
    for (const b of boxes) {
      const l = Math.max(b.left, 0), t = Math.max(b.top, 0), r = Math.min(b.right, viewWidth), m = Math.min(b.bottom, viewHeight);
      if (r <= l || m <= t) continue;
      if (--probes < 0) return false;
      if (hits(e, Math.min(l + (r - l) * fx, viewWidth - 1), Math.min(t + (m - t) * fy, viewHeight - 1))) return false;
    }
  }
  return true;
};
