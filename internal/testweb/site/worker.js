// Serves as a dedicated, a nested and a shared worker: five ticks, then a word.
function tick(say) {
  let n = 0;
  const timer = setInterval(() => { if (++n === 5) { clearInterval(timer); say('done') } }, 20);
}
if (location.search === '?nested') new Worker('/worker.js').onmessage = e => postMessage(e.data);
else if ('onconnect' in self) onconnect = e => tick(m => e.ports[0].postMessage(m));
else tick(m => postMessage(m));
