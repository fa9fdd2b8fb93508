// Runs one simulator as a program: node simulators/run.ts <name> [--port <number>] [--manual]. `npx simbi simulate` starts it.
// It prints one line of JSON when it listens, or when it cannot start.

import { parseArgs } from 'node:util';
import { startSimulator } from './frame.ts';
import { credentialsOf, SIMULATORS } from './index.ts';

/** Somebody who watches the payment page sees the prompt before it is approved. */
const AUTOMATIC_AFTER_MS = 2_000;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string' }, manual: { type: 'boolean', default: false } },
});
const name = positionals[0] ?? '';
const entry = SIMULATORS[name];

const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

if (entry === undefined) {
  print({ error: 'unknown', name, names: Object.keys(SIMULATORS) });
  process.exitCode = 1;
} else {
  const port = values.port === undefined ? entry.port : Number(values.port);
  try {
    const running = await startSimulator(entry.create, {
      port,
      settings: { ...entry.settings },
      payers: values.manual ? 'manual' : 'automatic',
      automaticAfterMs: AUTOMATIC_AFTER_MS,
    });
    print({ name, url: running.url, manual: values.manual, credentials: credentialsOf(entry) });
    const stop = () => {
      process.stdin.destroy();
      void running.close();
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    // The command that started it is gone.
    process.stdin.once('end', stop).resume();
  } catch (error) {
    print({ error: error instanceof Error && 'code' in error ? String(error.code) : String(error), name, port });
    process.exitCode = 1;
  }
}
