// A gateway that a crash test kills. It loads everything, reads the failpoint to die at from stdin, and only then starts,
// so that the next one is loaded while the former still runs.

import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { readConfig } from '../src/platform/config.ts';
import { startServer } from '../src/server.ts';

const TRIES = 5;

const lines = createInterface({ input: process.stdin });
flushCompileCache();
process.stdout.write('loaded\n');
const [place] = (await once(lines, 'line')) as [string];
lines.close();
await start(TRIES);
process.stdout.write('ready\n');

/** A machine that is busy with other things may take longer than a start waits for a connection. Not to start is no crash. */
async function start(triesLeft: number): Promise<void> {
  try {
    await startServer(readConfig({ ...process.env, FAILPOINT: place }));
  } catch (error) {
    if (triesLeft === 0) throw error;
    await start(triesLeft - 1);
  }
}
