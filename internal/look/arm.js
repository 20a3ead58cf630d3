// A click that is about to come is let through to one element only. What a page
// does when the pointer comes near, hovering rules included, happens after the
// point was tested; so it is tested once more when the button goes down, before
// any of the page's scripts hear of it, and a press on anything else is taken
// away from the page.

const PRESSES = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'dblclick'];
const isTrusted = e => e.isTrusted; // an event's own, and not to be redefined
const clientX = getter(MouseEvent, 'clientX'), clientY = getter(MouseEvent, 'clientY');
const { preventDefault, stopImmediatePropagation } = Event.prototype;

// arm expects a press on a node, or, with through, on a frame that it is, of
// which this document then hears nothing.
const arm = () => {
  const el = nodeOf(options.node), tag = el && localName.call(el);
  memory.armed = { el, labels: el && tag in formClasses ? labelsOf(tag, el) : [], through: options.through, state: 'waits', by: '', pressed };
  if (!memory.guarded) {
    memory.guarded = true;
    const m = memory;
    for (const type of PRESSES) addEventListener(type, e => m.armed?.pressed(e), { capture: true, passive: false });
  }
  return '';
};

const pressed = e => {
  const a = memory.armed;
  if (!isTrusted(e)) return;
  if (a.state === 'waits') {
    const at = atPoint(clientX.call(e), clientY.call(e));
    const ok = a.el && !a.through && isConnected.call(a.el) && operatedAt(a.el, a.labels, at);
    a.state = ok ? 'hit' : 'missed';
    if (!ok) a.by = called(at);
  }
  if (a.state === 'missed') preventDefault.call(e), stopImmediatePropagation.call(e);
};

// disarm tells what became of the press.
const disarm = () => {
  const a = memory.armed;
  memory.armed = null;
  return JSON.stringify({ armed: 1, state: a ? a.state : '', by: a ? a.by : '' });
};
