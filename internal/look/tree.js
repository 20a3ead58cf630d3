// The tree as it is laid out, and the accessors that controls need. See
// visibility.js for why none of them is a plain property.
const matches = Element.prototype.matches, closest = Element.prototype.closest;
const getRootNode = Node.prototype.getRootNode, textContent = getter(Node, 'textContent');
const hostOf = getter(ShadowRoot, 'host'), assignedSlot = getter(Element, 'assignedSlot');
const docById = Document.prototype.getElementById, fragmentById = DocumentFragment.prototype.getElementById;
const docAtPoint = Document.prototype.elementFromPoint, rootAtPoint = ShadowRoot.prototype.elementFromPoint;
const nextElement = getter(Element, 'nextElementSibling'), previousElement = getter(Element, 'previousElementSibling');
const activeElement = getter(Document, 'activeElement'), shadowActive = getter(ShadowRoot, 'activeElement');
const editable = getter(HTMLElement, 'isContentEditable'), innerText = getter(HTMLElement, 'innerText');
const { getClientRects: rectsOf } = Element.prototype;

const rootOf = el => shadowRoot.call(el) || memory.closed.get(el) || null;
const isShadow = n => n instanceof ShadowRoot;

// closedSlot is the slot of a closed shadow tree that shows el, as the walk
// found it.
const closedSlot = el => {
  const slot = memory.slots.get(el), root = slot && getRootNode.call(slot);
  return root && isShadow(root) && hostOf.call(root) === parentNode.call(el) ? slot : null;
};

// upOf is the element around el in the flattened tree, or null.
const upOf = el => {
  const slot = assignedSlot.call(el) || closedSlot(el);
  if (slot) return slot;
  const p = parentNode.call(el);
  if (!p) return null;
  if (nodeType.call(p) === 1) return p;
  return isShadow(p) ? hostOf.call(p) : null;
};

// inside tells whether el is outer or in it, in the flattened tree.
const inside = (el, outer) => {
  for (let e = el; e; e = upOf(e)) if (e === outer) return true;
  return false;
};

// atPoint is the innermost element at a point of the viewport, shadow trees
// included.
const atPoint = (x, y) => {
  let el = docAtPoint.call(document, x, y);
  for (let i = 0; el && i < 50; i++) {
    const root = rootOf(el), inner = root && rootAtPoint.call(root, x, y);
    if (!inner || inner === el) break;
    el = inner;
  }
  return el;
};

const byId = (el, id) => {
  const root = getRootNode.call(el);
  return isShadow(root) ? fragmentById.call(root, id) : docById.call(document, id);
};

const input = name => { const g = getter(HTMLInputElement, name); return el => g.call(el); };
const inputType = input('type'), inputValue = input('value'), inputChecked = input('checked'), inputMixed = input('indeterminate'), inputReadOnly = input('readOnly');
const inputRequired = input('required'), inputFiles = input('files'), inputMin = input('min'), inputMax = input('max'), inputStep = input('step'), inputMultiple = input('multiple');
const areaValue = getter(HTMLTextAreaElement, 'value'), areaReadOnly = getter(HTMLTextAreaElement, 'readOnly'), areaRequired = getter(HTMLTextAreaElement, 'required');
const selectOptions = getter(HTMLSelectElement, 'options'), selectMultiple = getter(HTMLSelectElement, 'multiple'), selectRequired = getter(HTMLSelectElement, 'required');
const optionText = getter(HTMLOptionElement, 'text'), optionValue = getter(HTMLOptionElement, 'value'), optionSelected = getter(HTMLOptionElement, 'selected');
const optionCount = getter(HTMLOptionsCollection, 'length'), optionAt = HTMLOptionsCollection.prototype.item;
const buttonType = getter(HTMLButtonElement, 'type'), anchorHref = getter(HTMLAnchorElement, 'href'), areaHref = getter(HTMLAreaElement, 'href');
const labelControl = getter(HTMLLabelElement, 'control'), detailsOpen = getter(HTMLDetailsElement, 'open');
const formAction = getter(HTMLFormElement, 'action'), formMethod = getter(HTMLFormElement, 'method');
const selectOne = Element.prototype.querySelector;
const isConnected = getter(Node, 'isConnected');
const mediaPaused = getter(HTMLMediaElement, 'paused');
const nodeListLength = getter(NodeList, 'length'), nodeListAt = NodeList.prototype.item;

// ofForm reads what inputs, buttons, selects and textareas have in common.
const formClasses = { input: HTMLInputElement, button: HTMLButtonElement, select: HTMLSelectElement, textarea: HTMLTextAreaElement };
const formGetters = {};
const ofForm = (tag, el, name) => {
  const c = formClasses[tag];
  if (!c || !(el instanceof c)) return null;
  return (formGetters[tag + name] ??= getter(c, name)).call(el);
};

// labelsOf lists the labels of a form control. The browser's own list goes
// through the whole document for each control, so a walk makes one for all.
let labelled = null;
const labelsOf = (tag, el) => {
  if (labelled) return labelled.get(el) || [];
  const list = ofForm(tag, el, 'labels'), all = [];
  if (list) for (let i = 0, n = nodeListLength.call(list); i < n; i++) all.push(nodeListAt.call(list, i));
  return all;
};
const readLabels = elements => {
  labelled = new Map();
  for (const l of elements) {
    const c = l instanceof HTMLLabelElement && labelControl.call(l), all = c && labelled.get(c);
    if (all) all.push(l);
    else if (c) labelled.set(c, [l]);
  }
};

const number = el => {
  let n = memory.numbers.get(el);
  if (!n) memory.numbers.set(el, n = memory.next++), memory.nodes.set(n, new WeakRef(el));
  return n;
};
const nodeOf = n => memory.nodes.get(n)?.deref() || null;

// Points to try in a box, as parts of its sides.
const POINTS = [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.1, .5], [.9, .5], [.1, .15], [.9, .15], [.1, .85], [.9, .85]];
const ACTS = /^(?:button|link|checkbox|menuitem|menuitemcheckbox|menuitemradio|option|radio|switch|tab|textbox|searchbox|combobox|slider|spinbutton|treeitem)$/;

// imageOf is the image that an area of a map belongs to.
const imageOf = area => {
  const map = parentNode.call(area), name = map instanceof HTMLMapElement ? attr(map, 'name') || attr(map, 'id') : '';
  if (!name) return null;
  for (const img of querySelectorAll.call(document, 'img[usemap]')) if (attr(img, 'usemap').replace(/^#/, '') === name) return img;
  return null;
};

// areaBox is the box around an area, on the image that it belongs to.
const areaBox = area => {
  const img = imageOf(area);
  if (!img) return null;
  const b = boxOf.call(img), shape = (attr(area, 'shape') || 'rect').toLowerCase(), k = attr(area, 'coords').split(/[\s,]+/).map(Number).filter(Number.isFinite);
  let c = [0, 0, b.width, b.height];
  if (shape.startsWith('circ') && k.length >= 3) c = [k[0] - k[2], k[1] - k[2], k[0] + k[2], k[1] + k[2]];
  else if (shape.startsWith('poly') && k.length >= 6) c = [Math.min(...k.filter((_, i) => i % 2 === 0)), Math.min(...k.filter((_, i) => i % 2)), Math.max(...k.filter((_, i) => i % 2 === 0)), Math.max(...k.filter((_, i) => i % 2))];
  else if (k.length >= 4) c = [Math.min(k[0], k[2]), Math.min(k[1], k[3]), Math.max(k[0], k[2]), Math.max(k[1], k[3])];
  const left = b.left + c[0], top = b.top + c[1], right = b.left + c[2], bottom = b.top + c[3];
  return { left, top, right, bottom, width: right - left, height: bottom - top };
};
