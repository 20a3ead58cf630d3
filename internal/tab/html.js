selector => {
  'use strict';
  const get = (proto, name) => Object.getOwnPropertyDescriptor(proto.prototype, name).get;
  const type = get(Node, 'nodeType'), first = get(Node, 'firstChild'), next = get(Node, 'nextSibling'), data = get(CharacterData, 'data');
  const localName = get(Element, 'localName'), shadow = get(Element, 'shadowRoot'), attribute = Element.prototype.getAttribute, visible = Element.prototype.checkVisibility;
  const contains = Node.prototype.contains, href = get(HTMLAnchorElement, 'href');
  const DROP = new Set('script style template noscript link meta base head iframe frame object embed applet param source track svg math canvas audio video'.split(' '));
  const VOID = new Set('br hr img input col wbr area'.split(' '));
  const KEEP = new Set('alt title colspan rowspan headers scope start reversed datetime cite lang dir role type name for label span open disabled readonly required checked selected multiple placeholder'.split(' '));
  const LIMIT = 2000000;
  const text = s => s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const quoted = s => '"' + text(s).replace(/"/g, '&quot;') + '"';
  const seen = el => {
    if (!visible.call(el, { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) return getComputedStyle(el).display === 'contents';
    return true;
  };
  let out = '';
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
  const walk = el => {
    if (out.length > LIMIT) return;
    const tag = localName.call(el);
    if (DROP.has(tag) || !/^[a-z][a-z0-9-]*$/.test(tag) || !seen(el)) return;
    out += '<' + tag + attrs(el, tag) + '>';
    if (VOID.has(tag)) return;
    if (tag !== 'textarea') {
      const root = shadow.call(el) || el;
      for (let n = first.call(root); n; n = next.call(n)) node(n);
    }
    out += '</' + tag + '>';
  };
  const node = n => {
    if (type.call(n) === 1) walk(n);
    else if (type.call(n) === 3) out += text(data.call(n));
  };
  let last = null;
  for (const el of Document.prototype.querySelectorAll.call(document, selector)) {
    if (last && contains.call(last, el)) continue;
    walk(last = el);
    out += '\n';
  }
  return out;
}
