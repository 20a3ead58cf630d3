oninstall = () => skipWaiting();
onactivate = e => e.waitUntil(clients.claim());
onfetch = e => {
  if (new URL(e.request.url).pathname === '/made-up-by-the-worker') e.respondWith(new Response('an answer made up by a service worker'));
};
