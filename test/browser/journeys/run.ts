// npm run journeys: each of the journeys on a phone and on a desktop, light and dark. With a name: only that one.

import { createTestGateway } from '../../gateway.ts';
import { browserMissing, startBrowser } from '../browser.ts';
import { JOURNEYS } from './all.ts';
import { LOOKS } from './traveller.ts';

const missing = browserMissing();
if (missing !== null) {
  console.error(`No journeys: ${missing}.`);
  process.exit(1);
}
const only = process.argv[2] ?? '';
const gateway = await createTestGateway();
const browser = await startBrowser();
let failed = 0;
try {
  for (const [name, journey] of Object.entries(JOURNEYS).filter(([each]) => each.includes(only)))
    for (const look of Object.values(LOOKS)) {
      const started = performance.now();
      const result = await journey({ gateway, browser, look }).then(
        (crossed) => `${crossed.length} pages, no findings`,
        (error: unknown) => {
          failed++;
          return `FAILED: ${error instanceof Error ? error.message : String(error)}`;
        },
      );
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`${name.padEnd(16)} ${look.name.padEnd(15)} ${seconds.padStart(6)} s   ${result}`);
    }
} finally {
  await browser.close();
  await gateway.close();
}
process.exitCode = failed === 0 ? 0 : 1;
