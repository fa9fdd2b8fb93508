// Gives logos and drawings to the process that works on them (logo-process.ts), one at a time. It starts with the first picture
// and ends when none came for a while.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { DrawingOrder, EncodedLogo, LogoOrder } from './logo-process.ts';

const PROGRAM = fileURLToPath(new URL('./logo-process.ts', import.meta.url));
/** The decoder's own time-out does not cut every picture. */
const MAX_MS = 30_000;
const IDLE_MS = 60_000;

export interface LogoEncoder {
  encode(order: LogoOrder | DrawingOrder): Promise<EncodedLogo>;
}

export function createLogoEncoder(): LogoEncoder {
  let child: ChildProcess | null = null;
  let idle: NodeJS.Timeout | undefined;

  function start(): ChildProcess {
    // Without the environment of the gateway, which names its keys and its database.
    const started = fork(PROGRAM, { env: {}, execArgv: [], serialization: 'advanced', stdio: 'ignore' });
    started.once('exit', () => {
      if (child === started) child = null;
    });
    return started;
  }

  return {
    async encode(order) {
      clearTimeout(idle);
      child ??= start();
      const used = child;
      hold(used);
      try {
        return await answerOf(used, order);
      } finally {
        // The gateway does not wait for this process when it stops: it ends with the channel.
        release(used);
        idle = setTimeout(() => used.kill(), IDLE_MS).unref();
      }
    },
  };
}

/** The answer of the process. A picture that ends it or keeps it busy cannot be read. */
function answerOf(child: ChildProcess, order: LogoOrder | DrawingOrder): Promise<EncodedLogo> {
  return new Promise((resolve) => {
    const late = setTimeout(() => child.kill('SIGKILL'), MAX_MS);
    const end = (answer: EncodedLogo) => {
      clearTimeout(late);
      child.off('message', end);
      child.off('exit', crashed);
      child.off('error', crashed);
      resolve(answer);
    };
    const crashed = () => end(null);
    child.once('message', end);
    child.once('exit', crashed);
    child.once('error', crashed);
    child.send(order, (error) => error && crashed());
  });
}

function hold(child: ChildProcess): void {
  child.ref();
  child.channel?.ref();
}

function release(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}
