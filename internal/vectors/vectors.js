// The ways out that the web platform offers to a page, by name: vectors take a
// URL, http or https, udpVectors "host:port" of a UDP server. Each returns, or
// promises, "answered" (by whomever: a proxy that refuses plain http answers
// too) or "sent" when the platform does not tell; whatever else happens is
// thrown. What really arrived, only the target knows.
//
// The page has an element with id "place" that is laid out, to which elements
// are added, and one with id "out" whose style is changed.

const sent = () => 'sent';
const host = url => new URL(url).host;
const insecure = url => url.replace(/^http/, 'ws');
const put = (tag, props) => {
  const e = Object.assign(document.createElement(tag), props);
  place.append(e);
  return e;
};
const link = (rel, extra) => url => new Promise((yes, no) => {
  const e = document.createElement('link');
  e.onload = () => yes('answered');
  e.onerror = no;
  Object.assign(e, { rel, href: url }, extra);
  document.head.append(e);
});
const loaded = (tag, prop, extra) => url => new Promise((yes, no) => {
  const e = document.createElement(tag);
  e.onload = e.onloadeddata = () => yes('answered');
  e.onerror = no;
  Object.assign(e, extra, { [prop]: url });
  place.append(e);
});
const framed = html => put('iframe', { srcdoc: html });
const quote = url => url.replace(/&/g, '&amp;').replace(/"/g, '&quot;');
const blob = (text, type) => URL.createObjectURL(new Blob([text], { type }));
const style = css => { document.head.append(Object.assign(document.createElement('style'), { textContent: css })); return sent() };
const drawing = inner => { put('div', { innerHTML: '<svg width="9" height="9">' + inner + '</svg>' }); return sent() };
const fromWorker = (make, code) => url => new Promise((yes, no) => {
  const w = make(blob(code.replace('URL', JSON.stringify(url)), 'text/javascript'));
  (w.port || w).onmessage = e => e.data === 'answered' ? yes('answered') : no();
  w.onerror = no;
});
const rules = kind => url => {
  document.head.append(Object.assign(document.createElement('script'), {
    type: 'speculationrules',
    textContent: JSON.stringify({ [kind]: [{ source: 'list', urls: [url], eagerness: 'immediate' }] }),
  }));
  return sent();
};

// The connection attempts of WebRTC: to a STUN or TURN server, or, through a
// made-up answer, to an address of the page's choosing (ICE checks).
const peer = (iceServers, realm = window) => {
  const p = new realm.RTCPeerConnection({ iceServers });
  p.createDataChannel('x');
  return new Promise((yes, no) => {
    p.onicecandidate = e => {
      if (!e.candidate) no();
      else if (/ typ (srflx|relay) /.test(e.candidate.candidate)) yes('answered');
    };
    p.createOffer().then(o => p.setLocalDescription(o)).catch(no);
  });
};
const turn = (scheme, query) => url => peer([{ urls: scheme + ':' + host(url) + query, username: 'u', credential: 'p' }]);
const check = async at => {
  const a = new RTCPeerConnection(), b = new RTCPeerConnection();
  a.createDataChannel('x');
  await a.setLocalDescription(await a.createOffer());
  await b.setRemoteDescription(a.localDescription);
  await b.setLocalDescription(await b.createAnswer());
  await a.setRemoteDescription(b.localDescription);
  const [, ip, port] = at.match(/^\[?(.*?)\]?:(\d+)$/);
  await a.addIceCandidate({ candidate: 'candidate:1 1 udp 2122260223 ' + ip + ' ' + port + ' typ host', sdpMid: '0', sdpMLineIndex: 0 });
  return sent();
};

const vectors = {
  'fetch': url => fetch(url, { mode: 'no-cors' }).then(() => 'answered'),
  'fetch-post': url => fetch(url, { method: 'POST', mode: 'no-cors', body: 'secret' }).then(() => 'answered'),
  'fetch-keepalive': url => fetch(url, { mode: 'no-cors', keepalive: true }).then(() => 'answered'),
  'fetch-later': url => { fetchLater(url, { activateAfter: 0 }); return sent() },
  'xhr': url => new Promise((yes, no) => { const x = new XMLHttpRequest(); x.onload = () => yes('answered'); x.onerror = no; x.open('GET', url); x.send() }),
  'beacon': url => { navigator.sendBeacon(url, 'secret'); return sent() },
  'ping': url => { put('a', { href: '#', ping: url }).click(); return sent() },
  'img': loaded('img', 'src'),
  'img-srcset': loaded('img', 'srcset'),
  'video': loaded('video', 'src', { preload: 'auto' }),
  'audio': loaded('audio', 'src', { preload: 'auto' }),
  'video-poster': url => { put('video', { poster: url }); return sent() },
  'track': url => { put('video', {}).append(Object.assign(document.createElement('track'), { src: url, default: true })); return sent() },
  'object': url => { put('object', { data: url }); return sent() },
  'embed': url => { put('embed', { src: url }); return sent() },
  'script': loaded('script', 'src'),
  'module': url => import(url).then(() => 'answered'),
  'stylesheet': link('stylesheet'),
  'css-url': url => style('#out { background: url("' + url + '") }'),
  'css-import': url => style('@import "' + url + '";'),
  'css-font': url => style('@font-face { font-family: out; src: url("' + url + '") } #out { font-family: out }'),
  'css-cursor': url => style('#out { cursor: url("' + url + '"), auto }'),
  'svg-image': url => drawing('<image href="' + quote(url) + '" width="9" height="9"/>'),
  'svg-use': url => drawing('<use href="' + quote(url) + '#x"/>'),
  'iframe': url => { put('iframe', { src: url }); return sent() },
  'frame-refresh': url => { framed('<meta http-equiv="refresh" content="0; url=' + quote(url) + '">'); return sent() },
  'frame-base': url => { framed('<base href="' + quote(url) + '"><img src="base.png">'); return sent() },
  'form': url => { put('iframe', { name: 'sink' }); const f = put('form', { action: url, method: 'post', target: 'sink' }); f.append(Object.assign(document.createElement('input'), { name: 'secret', value: 'secret' })); f.submit(); return sent() },
  'event-source': url => new Promise((yes, no) => { const e = new EventSource(url); e.onopen = () => yes('answered'); e.onerror = no }),
  'websocket': url => new Promise((yes, no) => { const s = new WebSocket(insecure(url)); s.onopen = () => yes('answered'); s.onerror = no }),
  'webtransport': url => { const t = new WebTransport(url.replace(/^http:/, 'https:')); return t.ready.then(() => 'answered') },
  'prefetch': link('prefetch'),
  'preload': link('preload', { as: 'image' }),
  'modulepreload': link('modulepreload'),
  'preconnect': url => { link('preconnect')(url).catch(() => 0); return sent() },
  'dns-prefetch': url => { link('dns-prefetch')(url).catch(() => 0); return sent() },
  'prerender': url => { link('prerender')(url).catch(() => 0); return sent() },
  'icon': url => { link('icon')(url).catch(() => 0); return sent() },
  'manifest': url => { link('manifest')(url).catch(() => 0); return sent() },
  'dictionary': url => { link('compression-dictionary')(url).catch(() => 0); return sent() },
  'speculate-prefetch': rules('prefetch'),
  'speculate-prerender': rules('prerender'),
  'worker-fetch': fromWorker(u => new Worker(u), 'fetch(URL, { mode: "no-cors" }).then(() => postMessage("answered"), () => postMessage("failed"))'),
  'worker-import': fromWorker(u => new Worker(u), 'try { importScripts(URL); postMessage("answered") } catch { postMessage("failed") }'),
  'worker-nested': fromWorker(u => new Worker(u), 'const w = new Worker("data:text/javascript," + encodeURIComponent("fetch(" + JSON.stringify(URL) + ", { mode: \'no-cors\' }).then(() => postMessage(\'answered\'), () => postMessage(\'failed\'))")); w.onmessage = e => postMessage(e.data); w.onerror = () => postMessage("failed")'),
  'worker-shared': fromWorker(u => new SharedWorker(u), 'onconnect = e => fetch(URL, { mode: "no-cors" }).then(() => e.ports[0].postMessage("answered"), () => e.ports[0].postMessage("failed"))'),
  'worker-socket': fromWorker(u => new Worker(u), 'const s = new WebSocket(URL.replace(/^http/, "ws")); s.onopen = () => postMessage("answered"); s.onerror = () => postMessage("failed")'),
  'worklet': url => CSS.paintWorklet.addModule(url).then(() => 'answered'),
  'audio-worklet': url => new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule(url).then(() => 'answered'),
  'service-worker-fetch': async url => {
    const reg = await navigator.serviceWorker.register('/hostile-worker.js?to=' + encodeURIComponent(url), { scope: '/hostile-scope/' + encodeURIComponent(host(url)) });
    return reg ? sent() : 'failed';
  },
  'csp-report': url => { framed('<meta http-equiv="Content-Security-Policy" content="img-src \'none\'; report-uri ' + quote(url) + '"><img src="/pixel.png">'); return sent() },
  'attribution': url => { put('img', { alt: '' }).setAttribute('attributionsrc', url); return sent() },
  'fedcm': url => navigator.credentials.get({ identity: { providers: [{ configURL: url, clientId: 'x' }] } }).then(() => 'answered'),
  // Each of these two looks up a document of the host's before it asks the user.
  'payment': url => new PaymentRequest([{ supportedMethods: url }], { total: { label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment().then(() => 'answered'),
  'webauthn': url => navigator.credentials.get({ publicKey: { challenge: new Uint8Array(16), rpId: new URL(url).hostname } }).then(() => 'answered'),
  'turn-udp': turn('turn', '?transport=udp'),
  'turn-tcp': turn('turn', '?transport=tcp'),
  'turns': turn('turns', '?transport=tcp'),
  'open': url => window.open(url, '_blank') ? sent() : 'failed',
  'open-noopener': url => { put('a', { href: url, target: '_blank', rel: 'noopener' }).click(); return sent() },
  // Of another origin, the attribute is ignored: it becomes a navigation.
  'download': url => { put('iframe', { name: 'loot' }); put('a', { href: url, download: 'x', target: 'loot' }).click(); return sent() },
};

// Vectors that take "host:port" of a UDP server.
const udpVectors = {
  'stun': at => peer([{ urls: 'stun:' + at }]),
  // A fresh realm, in case the page's own was stripped of RTCPeerConnection.
  'stun-blank-frame': at => peer([{ urls: 'stun:' + at }], put('iframe', {}).contentWindow),
  'ice-check': check,
};
