// Each of these is called with the element, in our isolated world.
// Accessors come from the prototypes: a form shadows its own.
const own = (proto, name) => Object.getOwnPropertyDescriptor(proto.prototype, name);
const get = (proto, name) => own(proto, name).get, put = (proto, name) => own(proto, name).set;
const localName = get(Element, 'localName'), rootNode = Node.prototype.getRootNode, dispatch = EventTarget.prototype.dispatchEvent;
const activeInDoc = get(Document, 'activeElement'), activeInShadow = get(ShadowRoot, 'activeElement'), contains = Node.prototype.contains;
const focusIt = HTMLElement.prototype.focus, attribute = Element.prototype.getAttribute;
const inputType = get(HTMLInputElement, 'type'), inputValue = get(HTMLInputElement, 'value'), areaValue = get(HTMLTextAreaElement, 'value');
const innerText = get(HTMLElement, 'innerText'), editable = get(HTMLElement, 'isContentEditable');

const activeIn = root => root instanceof ShadowRoot ? activeInShadow.call(root) : activeInDoc.call(root);

// focused tells whether what is typed now goes into el: it has the focus, or
// something in it has, as in editors that keep a text field of their own.
const focused = el => {
  const a = activeIn(rootNode.call(el));
  return !!a && (a === el || contains.call(el, a));
};

const valueOf = el => {
  switch (localName.call(el)) {
    case 'input': return inputValue.call(el);
    case 'textarea': return areaValue.call(el);
  }
  return editable.call(el) ? innerText.call(el).replace(/\n$/, '') : '';
};

const events = el => {
  dispatch.call(el, new Event('input', { bubbles: true, composed: true }));
  dispatch.call(el, new Event('change', { bubbles: true }));
};

// guard keeps what is about to be typed from going anywhere else: until el has
// got it, whatever takes the focus loses it to el at once; if that goes on,
// nothing has it. typed tells whether it came to that. Only changes of the focus
// are listened for: a listener of ours for input would have the page's promises
// and observers run before its own listener, which some editors do not survive.
const guarding = Symbol.for('bellglass.typing');
const guard = el => {
  typed();
  const before = valueOf(el), state = { stolen: false, off: null }, target = get(Event, 'target'), blur = HTMLElement.prototype.blur;
  let tries = 0;
  const back = () => {
    if (valueOf(el) !== before) return state.off(); // el has got it
    if (++tries < 4) return focusIt.call(el, { preventScroll: true });
    state.stolen = true;
    const a = activeIn(document);
    if (a instanceof HTMLElement) blur.call(a);
    getSelection().removeAllRanges();
  };
  const elsewhere = e => {
    const at = target.call(e);
    if (at === window || !(at instanceof Node) || at === el || contains.call(el, at) || focused(el)) return;
    back();
  };
  const left = e => { if (target.call(e) === window) back(); };
  const listen = (on, type, f) => EventTarget.prototype[on + 'EventListener'].call(window, type, f, true);
  const all = [['focus', elsewhere], ['focusin', elsewhere], ['blur', left]];
  state.off = () => { for (const [type, f] of all) listen('remove', type, f); };
  for (const [type, f] of all) listen('add', type, f);
  globalThis[guarding] = state;
};
const typed = () => {
  const state = globalThis[guarding];
  globalThis[guarding] = null;
  state?.off();
  return state?.stolen ? 'stolen' : 'typed';
};

const api = {
  // typed ends what select began.
  typed,

  // focus gives el the focus if a click has not, and tells whether it has it.
  focus(el) {
    if (!focused(el)) focusIt.call(el, { preventScroll: true });
    return focused(el) ? 'yes' : 'no';
  },

  // select selects everything that is in el, so that typing replaces it. It
  // tells whether there is something, and whether el has the focus.
  select(el) {
    if (!focused(el)) return 'lost';
    const name = localName.call(el);
    guard(el);
    if (name === 'input') {
      HTMLInputElement.prototype.select.call(el);
      return inputValue.call(el) === '' ? 'empty' : 'some';
    }
    if (name === 'textarea') {
      HTMLTextAreaElement.prototype.select.call(el);
      return areaValue.call(el) === '' ? 'empty' : 'some';
    }
    const s = getSelection();
    s.selectAllChildren(el);
    return innerText.call(el).trim() === '' ? 'empty' : 'some';
  },

  value: valueOf,

  // number is where a slider of the page's own making stands, or "".
  number(el) {
    const v = attribute.call(el, 'aria-valuenow');
    return v === null || v.trim() === '' || !Number.isFinite(+v) ? '' : String(+v);
  },

  // pointer tells whether el takes pointer events at all.
  pointer: el => getComputedStyle(el).pointerEvents,

  // set gives an input of a type that nothing can be typed into its value.
  set(el, text) {
    const before = inputValue.call(el);
    put(HTMLInputElement, 'value').call(el, text);
    const after = inputValue.call(el);
    if (after === '' && text !== '') {
      put(HTMLInputElement, 'value').call(el, before);
      return 'refused';
    }
    if (after !== before) events(el);
    return 'set';
  },

  // choose picks options of a select by their numbers, and drops the others.
  choose(el, numbers) {
    const list = get(HTMLSelectElement, 'options').call(el), n = get(HTMLOptionsCollection, 'length').call(list), at = HTMLOptionsCollection.prototype.item;
    const selected = own(HTMLOptionElement, 'selected'), wanted = new Set(JSON.parse(numbers));
    let changed = false;
    const multiple = get(HTMLSelectElement, 'multiple').call(el);
    for (let i = 0; i < n; i++) {
      const o = at.call(list, i), want = wanted.has(i);
      if (selected.get.call(o) === want || !multiple && !want) continue;
      selected.set.call(o, want);
      changed = true;
    }
    if (changed) events(el);
    return changed ? 'changed' : 'same';
  },

  // chosen lists the numbers of the options that are selected.
  chosen(el) {
    const list = get(HTMLSelectElement, 'options').call(el), n = get(HTMLOptionsCollection, 'length').call(list), at = HTMLOptionsCollection.prototype.item, out = [];
    for (let i = 0; i < n; i++) if (get(HTMLOptionElement, 'selected').call(at.call(list, i))) out.push(i);
    return JSON.stringify(out);
  },

  // options lists what a select offers: text, value, group, disabled, selected.
  options(el) {
    const list = get(HTMLSelectElement, 'options').call(el), n = Math.min(get(HTMLOptionsCollection, 'length').call(list), 20000), at = HTMLOptionsCollection.prototype.item, out = [];
    const text = get(HTMLOptionElement, 'text'), value = get(HTMLOptionElement, 'value'), disabled = get(HTMLOptionElement, 'disabled'), selected = get(HTMLOptionElement, 'selected');
    for (let i = 0; i < n; i++) {
      const o = at.call(list, i), p = get(Node, 'parentElement').call(o), group = p && localName.call(p) === 'optgroup';
      out.push([text.call(o), value.call(o), group ? attribute.call(p, 'label') || '' : '', disabled.call(o) || group && Element.prototype.hasAttribute.call(p, 'disabled'), selected.call(o)]);
    }
    return JSON.stringify(out);
  },

  // submit submits the form that el belongs to, if it is in one.
  submit(el) {
    const name = localName.call(el), proto = { input: HTMLInputElement, textarea: HTMLTextAreaElement, select: HTMLSelectElement }[name];
    const form = proto ? get(proto, 'form').call(el) : Element.prototype.closest.call(el, 'form');
    if (!form) return 'none';
    HTMLFormElement.prototype.requestSubmit.call(form);
    return 'sent';
  },

  // invalid is what the browser holds against the form of el, or "".
  invalid(el) {
    const name = localName.call(el), proto = { input: HTMLInputElement, textarea: HTMLTextAreaElement, select: HTMLSelectElement }[name];
    if (!proto) return '';
    return get(proto, 'validationMessage').call(el);
  },

  // mask paints el black, and all that is in it, with an animation that never
  // ends, which leaves the tree as it is. It tells whether that took effect: rules that a page calls
  // important go before it.
  mask(el) {
    const black = { backgroundColor: '#000', backgroundImage: 'none', color: '#000', webkitTextFillColor: '#000', textShadow: 'none', opacity: 1, filter: 'brightness(0)', clipPath: 'inset(0)' };
    const a = Element.prototype.animate.call(el, [black, black], { duration: 1e12, id: 'bellglass-mask' });
    const cs = getComputedStyle(el), is = cs.backgroundColor === 'rgb(0, 0, 0)' && cs.color === 'rgb(0, 0, 0)' && cs.webkitTextFillColor === 'rgb(0, 0, 0)' && cs.backgroundImage === 'none' && cs.filter === 'brightness(0)' && cs.clipPath.startsWith('inset(0');
    if (!is) a.cancel();
    return is ? 'yes' : 'no';
  },

  unmask(el) {
    for (const a of Element.prototype.getAnimations.call(el)) if (a.id === 'bellglass-mask') a.cancel();
    return '';
  },

  form(el) {
    const name = localName.call(el), proto = { input: HTMLInputElement, textarea: HTMLTextAreaElement, select: HTMLSelectElement }[name];
    const form = proto ? get(proto, 'form').call(el) : Element.prototype.closest.call(el, 'form');
    if (!form) return '';
    return JSON.stringify([get(HTMLFormElement, 'action').call(form), get(HTMLFormElement, 'method').call(form)]);
  },
};
