// A gateway that a crash test kills. It loads everything, reads the failpoint to die at from stdin, and only then starts,
// so that the next one is loaded while the former still runs.

import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { readConfig } from '../src/platform/config.ts';
import { startServer } from '../src/server.ts';

const lines = createInterface({ input: process.stdin });
flushCompileCache();
process.stdout.write('loaded\n');
const [place] = (await once(lines, 'line')) as [string];
lines.close();
await startServer(readConfig({ ...process.env, FAILPOINT: place }));
process.stdout.write('ready\n');
