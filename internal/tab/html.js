// Writes what a person can see of the elements that a selector means as HTML
// that does nothing and holds no value. It is the body of a function of the
// selector, after what decides about sight (package extract).
const DROP = set('script style template noscript link meta base head iframe frame object embed applet param source track svg math canvas audio video');
const VOID = set('br hr img input col wbr area'), BOXLESS = set('br wbr col colgroup hr');
const KEEP = set('alt title colspan rowspan headers scope start reversed datetime cite lang dir role type name for label span open disabled readonly required checked selected multiple placeholder');
const LIMIT = 2000000, NODES = 300000, DEPTH = 1000;
const href = getter(HTMLAnchorElement, 'href');
const plain = s => s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const quoted = s => '"' + plain(s).replace(/"/g, '&quot;') + '"';

const attrs = (el, tag) => {
  let s = '';
  for (const name of KEEP) {
    if ((name === 'name' || name === 'type') && !/^(?:input|button|select|textarea|form)$/.test(tag)) continue;
    const v = attribute.call(el, name);
    if (v !== null) s += ' ' + name + (v === '' ? '' : '=' + quoted(v.slice(0, 500)));
  }
  for (const name of Element.prototype.getAttributeNames.call(el)) if (/^aria-[a-z]+$/.test(name)) s += ' ' + name + '=' + quoted(attribute.call(el, name).slice(0, 500));
  if (tag === 'a' && el instanceof HTMLAnchorElement) {
    const u = href.call(el);
    if (/^(?:https?|mailto|tel):/i.test(u)) s += ' href=' + quoted(u.replace(/\/\/[^/?#@]*@/, '//').slice(0, 2048));
  }
  return s;
};

// out holds strings, and runs of text until it is known what covers them.
const out = [], only = new Set(querySelectorAll.call(document, selector));
let size = 0, nodes = 0, inside = 0, depth = 0;
const put = (x, n) => { out.push(x), size += n; };

// text reports whether a person can see a run of text, and keeps it if so.
const text = (n, p) => {
  const data = charData.call(n);
  if (!/[^ \t\n\r\f]/.test(data)) return put(data, data.length), false;
  if (!boxed(p)) return false;
  if (p.faint < 0) p.faint = faint(p);
  if (p.faint === HIDDEN) return false;
  range.selectNodeContents(n);
  const b = range.getBoundingClientRect();
  if (!legible(b, data) || p.faint === SUSPECT && !contrasts(p, b) || partSeen(b, p.st.clip) <= .3) return false;
  put({ data, p, l: b.left, t: b.top, r: b.right, b: b.bottom }, data.length);
  return true;
};

// walk reports whether there is anything to see of an element. One of which
// there is not is left out with its attributes, which are words, too.
const walk = (el, up, st) => {
  const tag = localName.call(el);
  if (++nodes > NODES || depth > DEPTH || size > LIMIT || DROP.has(tag) || !/^[a-z][a-z0-9-]*$/.test(tag)) return false;
  const cs = styleOf(el), display = cs.display;
  if (display === 'none') return false;
  const inline = display === 'inline' || display === 'contents';
  if (!inline && cs.contentVisibility === 'hidden') return false;
  const p = { el, cs, up, box: display === 'contents' && up ? up.box : el, position: cs.position, st, boxed: undefined, faint: -1, white: undefined };
  p.st = inherit(p, inline, st);
  if (p.st.back && up && el !== bodyElement && (p.st.back !== st.back || p.position !== 'static' && colour(cs.backgroundColor)?.[3] > .95)) noteCover(p);
  const scope = only.has(el) ? 1 : 0, at = out.length;
  inside += scope;
  if (inside) {
    const open = '<' + tag + attrs(el, tag) + '>';
    put(open, open.length);
  }
  let any = BOXLESS.has(tag);
  if (!VOID.has(tag) && tag !== 'textarea') any = children(tag, p) || any;
  if (inside && (any || shown(p))) {
    any = !BOXLESS.has(tag);
    if (!VOID.has(tag)) put('</' + tag + '>', tag.length + 3);
  } else if (inside) {
    out.length = at;
  }
  inside -= scope;
  if (scope && !inside) put('\n', 1);
  return any;
};

const children = (tag, p) => {
  let any = false;
  depth++;
  const list = tag === 'slot' && p.el instanceof HTMLSlotElement ? HTMLSlotElement.prototype.assignedNodes.call(p.el) : [];
  for (let i = 0; i < list.length; i++) any = node(list[i], p) || any;
  if (!list.length) for (let n = firstChild.call(shadowRoot.call(p.el) || p.el); n; n = nextSibling.call(n)) any = node(n, p) || any;
  depth--;
  return any;
};

const node = (n, p) => {
  const type = nodeType.call(n);
  return type === 1 ? walk(n, p, p.st) : type === 3 && inside > 0 && text(n, p);
};

walk(rootElement, null, { op: 1, clip: null, back: canvasColour() });
return out.map(x => typeof x === 'string' ? x : covers.length && covered(x) ? '' : plain(x.data)).join('');
