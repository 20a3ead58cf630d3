// The service worker of the hostile page: fetches, then imports, its target.
const to = new URL(location).searchParams.get('to');
oninstall = e => { skipWaiting(); e.waitUntil(fetch(to, { mode: 'no-cors' }).catch(() => 0)) };
try { importScripts(to) } catch { }
