// The other end of requests.js, in our own world: what was asked for is kept
// until it is fetched. A locked pointer would take every click, and a full
// screen cover the page; whoever gets them past requests.js loses them here.
(() => {
	const asked = new Set(), call = Reflect.apply, D = Document.prototype;
	for (const what of [%[1]s]) addEventListener("%[2]s" + what, () => { asked.add(what); }, true);
	addEventListener("%[2]sobserver", () => { globalThis[Symbol.for('bellglass.observer')] = true; }, true);
	addEventListener('pointerlockchange', () => { call(D.exitPointerLock, document, []); }, true);
	addEventListener('fullscreenchange', () => { call(D.exitFullscreen, document, []).catch(() => {}); }, true);
	globalThis[Symbol.for('bellglass.asked')] = () => { const all = [...asked].join('\n'); asked.clear(); return all; };
})()
