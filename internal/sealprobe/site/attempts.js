// Makes every attempt that the page was told to make. Nothing is reported: what
// arrived, only the sentinels know.
//
// attempts: { how, to }, how being a name of vectors.js or of the table below.

const again = (times, every, run) => { for (let i = 0; i < times; i++) setTimeout(run, i * every) };

const others = {
  'redirect': vectors['fetch'],
  'rebind': vectors['fetch'],
  // A name that changes its mind is asked for until it has.
  'rebind-both': url => again(3, 1000, () => fetch(url + '?' + Math.random(), { mode: 'no-cors' }).catch(() => 0)),
  'rebind-later': url => again(6, 600, () => fetch(url + '?' + Math.random(), { mode: 'no-cors' }).catch(() => 0)),
  'aia': vectors['fetch'],
  // The header is obeyed by connections made after it.
  'alt-svc': () => again(8, 400, () => fetch('/' + phase + '/again?' + Math.random(), { cache: 'no-store' }).catch(() => 0)),
  'file': url => { vectors['iframe'](url); vectors['fetch'](url).catch(() => 0) },
};

// One after the other in steps, lest the first ones' connections keep the last
// ones waiting.
attempts.forEach(({ how, to }, i) => setTimeout(async () => {
  try { await (others[how] || vectors[how] || udpVectors[how])(to) } catch { }
}, 15 * i));
setTimeout(() => fetch('/' + phase + '/made?page=' + page), 15 * attempts.length);
