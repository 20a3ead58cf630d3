// What is remembered between looks, in this world only, where no page can
// reach it: the symbol names no element, so that none can shadow it.
const memory = (() => {
  const key = Symbol.for('bellglass.look'), all = globalThis[key] ??= new WeakMap();
  let m = all.get(document);
  if (!m) {
    const token = Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, '0')).join('');
    m = {
      token, // names this document; a window may outlive its first one
      next: 1, numbers: new WeakMap(), nodes: new Map(), // node to number, number to WeakRef
      secret: new WeakSet(), secretKeys: new Set(), // fields that were of type password, and what they were called
      closed: new WeakMap(), asked: new WeakMap(), slots: new WeakMap(), // closed shadow roots by host; hosts asked about; slots by what they show
      heard: new WeakSet(), // elements that listen for clicks
      watched: new WeakSet(), observer: null, suspected: [], roots: [], // roots of the shadow trees that the last look came by
      // What changes when an element may have got a shadow root since it was asked about.
      signature: el => {
        const b = Element.prototype.getBoundingClientRect.call(el);
        return Element.prototype.matches.call(el, ':defined') + ' ' + b.width + ' ' + b.height;
      },
    };
    all.set(document, m);
  }
  return m;
})();
const attributeOf = Element.prototype.getAttribute;

// ever remembers a field that is, or was, of type password: it stays one,
// whatever its type says later, and so does a field that takes its place
// under the same id or name.
const ever = el => {
  memory.secret.add(el);
  for (const a of ['id', 'name']) {
    const v = attributeOf.call(el, a);
    if (v) memory.secretKeys.add(a + ' ' + v);
  }
};

// watch notices changes of type in a document or shadow tree from now on.
const watch = root => {
  if (memory.watched.has(root)) return;
  memory.watched.add(root);
  memory.observer ??= new MutationObserver(notice);
  memory.observer.observe(root, { subtree: true, attributes: true, attributeFilter: ['type'], attributeOldValue: true });
};
const notice = records => {
  for (const r of records) {
    if (!(r.target instanceof HTMLInputElement)) continue;
    if (/^password$/i.test(r.oldValue || '') || /^password$/i.test(attributeOf.call(r.target, 'type') || '')) ever(r.target);
  }
};
const noticed = () => { if (memory.observer) notice(memory.observer.takeRecords()); };
watch(document);
