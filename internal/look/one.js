// One node again: the whole walk, because its name, its row and what covers
// it depend on what is around it.
noticed();
const target = nodeOf(options.node);
const found = target && entries.concat(extra).find(e => e.el === target && !e.gone);
return JSON.stringify({ look: 1, doc: memory.token, e: found ? [describe(found)] : [] });
