// Reads pages as many programs do that use Playwright: a fresh context each
// time, images, media and fonts aborted, goto, innerText, close. Each line on
// stdin is {url, callers, reads}; the answer is one line, times in ms.
// Usage: node loop.mjs FOLDER-OF-NODE_MODULES BROWSER [SWITCH...]
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import path from 'node:path';

const [lab, executablePath, ...args] = process.argv.slice(2);
const { chromium } = createRequire(path.join(lab, 'package.json'))('playwright-core');
const browser = await chromium.launch({ executablePath, args, headless: true });
const dropped = new Set(['image', 'media', 'font']);

async function read(url) {
  const context = await browser.newContext({ acceptDownloads: false, serviceWorkers: 'block' });
  try {
    await context.route('**/*', r => dropped.has(r.request().resourceType()) ? r.abort() : r.continue());
    const page = await context.newPage();
    await page.goto(url, { timeout: 15000 });
    return await page.innerText('body');
  } finally {
    await context.close();
  }
}

async function many({ url, callers, reads }) {
  const each = [];
  let text = '', left = reads;
  const begun = performance.now();
  await Promise.all(Array.from({ length: callers }, async () => {
    while (left-- > 0) {
      const start = performance.now();
      text = await read(url);
      each.push(performance.now() - start);
    }
  }));
  return { each, all: performance.now() - begun, text };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await many(JSON.parse(line));
  } catch (e) {
    answer = { error: String(e) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
await browser.close();
