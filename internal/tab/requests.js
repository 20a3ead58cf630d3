// What a page asks a person for: prompts that are answered at once, and that
// nobody would otherwise learn of. This runs in the page's own world, before its
// scripts, and wraps the functions that ask. Where the browser would make the
// page wait for an answer, or grant what gets in the way of acting, it is the
// refusal that the page would get from a person. All that a page could do with
// it is to claim that it has asked for one of these things.
(prefix => {
	const { apply, getOwnPropertyDescriptor } = Reflect, Fault = DOMException, Told = Event, { defineProperty } = Object;
	const send = EventTarget.prototype.dispatchEvent, reject = Promise.reject.bind(Promise), here = globalThis;
	let left = 50; // of one document
	let observes = false;
	const say = what => {
		if (what === 'observer' ? observes : left-- <= 0) return;
		observes ||= what === 'observer';
		apply(send, here, [new Told(prefix + what)]);
	};
	const wrap = (holder, key, what, instead) => {
		const d = holder && getOwnPropertyDescriptor(holder, key);
		if (!d || typeof d.value !== 'function' || !d.configurable) return;
		d.value = new Proxy(d.value, { apply(f, self, args) { say(what); return (instead || apply)(f, self, args); } });
		defineProperty(holder, key, d);
	};
	const refuse = name => () => reject(new Fault('The request was denied.', name));
	const denied = refuse('NotAllowedError'), cancelled = refuse('AbortError'), ignored = () => {};
	const of = type => here[type] && here[type].prototype;
	for (const [type, keys, what, instead] of [
		['Geolocation', 'getCurrentPosition watchPosition', 'geolocation'],
		['MediaDevices', 'getUserMedia', 'camera or microphone', denied],
		['MediaDevices', 'getDisplayMedia', 'screen sharing', denied],
		['Navigator', 'getUserMedia webkitGetUserMedia', 'camera or microphone',
			(f, self, args) => { if (typeof args[2] === 'function') args[2](new Fault('The request was denied.', 'NotAllowedError')); }],
		['Navigator', 'requestMIDIAccess', 'midi', denied],
		['Clipboard', 'read readText', 'clipboard reading'],
		['Clipboard', 'write writeText', 'clipboard writing'],
		['Document', 'requestStorageAccess', 'storage access'],
		['Element', 'requestPointerLock', 'pointer lock', denied],
		['Element', 'requestFullscreen', 'fullscreen', denied],
		['Element', 'webkitRequestFullscreen webkitRequestFullScreen', 'fullscreen', ignored],
		['PaymentRequest', 'show', 'payment', cancelled],
		['Bluetooth', 'requestDevice', 'device', cancelled], ['USB', 'requestDevice', 'device', cancelled],
		['HID', 'requestDevice', 'device', cancelled], ['Serial', 'requestPort', 'device', cancelled],
	]) for (const key of keys.split(' ')) wrap(of(type), key, what, instead);
	wrap(of('IntersectionObserver'), 'observe', 'observer'); // asks nobody, but see Live.Observed
	wrap(here.Notification, 'requestPermission', 'notifications');
	wrap(here.IdleDetector, 'requestPermission', 'idle detection');
	wrap(here, 'queryLocalFonts', 'fonts');
	wrap(here, 'getScreenDetails', 'window management');
	for (const key of ['showOpenFilePicker', 'showSaveFilePicker', 'showDirectoryPicker']) wrap(here, key, 'file', cancelled);
	wrap(here, 'print', 'print', ignored);
})("%s")
