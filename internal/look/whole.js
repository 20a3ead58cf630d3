// The whole frame, as JSON.
const listed = entries.concat(extra).filter(e => !e.gone).sort((a, b) => a.at - b.at);
for (const pl of places) {
  let n = 0;
  while (n < listed.length && listed[n].at < pl.e) n++;
  pl.e = n;
}
memory.suspected = suspected;
return JSON.stringify({ look: 1, doc: memory.token, url: documentURL.call(document), origin: self.origin, title: one(title.call(document)),
  e: listed.map(describe), l: lines, c: chars, p: places, hc: hiddenChars, hb: hiddenBlocks, w: viewWidth, h: viewHeight,
  up: Math.round(pageY), dn: Math.round(Math.max(0, scrollHeight.call(rootElement) - viewHeight - pageY)), cut, s: suspected.length });
