// Tries every way out of vectors.js against each target, and writes into the
// page what it could learn. What really arrived, only the target knows.
//
// targets: URLs, http or https. stun: "host:port" of a UDP server. only: the
// names of the vectors to try; all when empty.

const late = () => new Promise(done => setTimeout(() => done('no answer'), patience));

async function attempt(name, run, target) {
  const item = report.appendChild(document.createElement('li'));
  let verdict = 'failed';
  try { verdict = await Promise.race([run(target), late()]) } catch { }
  item.textContent = name + ' ' + target + ': ' + verdict;
  return verdict === 'answered';
}

(async () => {
  const wanted = name => !only.length || only.includes(name);
  const runs = [];
  for (const [table, at] of [[vectors, targets], [udpVectors, stun]])
    for (const target of at)
      for (const [name, run] of Object.entries(table))
        if (wanted(name)) runs.push(attempt(name, run, target));
  const answered = (await Promise.all(runs)).filter(Boolean).length;
  out.textContent = 'probing finished: ' + runs.length + ' attempts, ' + answered + ' answered';
  if (only.includes('location') && targets.length) location.href = targets[0];
})();
