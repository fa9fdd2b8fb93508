// The simulated operator and the built-in receiver in a process of their own. They stand for programs of other people, so they
// must not take processor time from the gateway that is tried. The process ends with this one, however that ends.

import { type ChildProcess, fork } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './platform/config.ts';
import { type ReceivedCallbacks, remoteReceivedCallbacks } from './sandbox/received-callbacks.ts';
import { createRemotePhone } from './sandbox/remote-phone.ts';
import type { RunningOperator } from './sandbox/simulated-operator.ts';

const START_MS = 60_000;
const STOP_MS = 2_000;
const RESTART_AFTER_MS = 1_000;
/** It keeps little in memory; without a limit V8 lets garbage grow, and collects it in four threads. */
const NODE_OPTIONS = ['--max-old-space-size=128', '--max-semi-space-size=4', '--v8-pool-size=1'];

/** From here to the process. */
export type SandboxOrder =
  | { open: { config: Config; databaseUrl: string; port: number } }
  /** Decides and reports from now on. */
  | { start: true };

/** From the process to here. */
export type SandboxNotice =
  | { port: number }
  | { failed: string }
  | { warned: { line: Record<string, unknown>; message: string } };

export type SandboxProcess = RunningOperator & {
  readonly port: number;
  readonly received: ReceivedCallbacks;
};

export type WaitingSandbox = {
  /** Call it once this process has opened the database: the first to do so makes the master key. */
  open(config: Config, databaseUrl: string, log: Logger): Promise<SandboxProcess>;
  end(): Promise<void>;
};

/** The process of the sandbox for a gateway that has not started it, and does not end it. */
export function joinSandbox(port: number): SandboxProcess {
  const url = `http://127.0.0.1:${port}`;
  const phone = createRemotePhone(url);
  const received = remoteReceivedCallbacks(url);
  return {
    port,
    phone,
    received,
    url: () => url,
    start: () => undefined,
    async close() {
      await Promise.all([phone.close(), received.close()]);
    },
  };
}

/** Starts the process, which loads its modules while this one still opens the database. */
export function prepareSandbox(): WaitingSandbox {
  let child = forkSandbox();
  let isEnding = false;
  const end = () => {
    isEnding = true;
    return endSandbox(child);
  };

  async function open(config: Config, databaseUrl: string, log: Logger): Promise<SandboxProcess> {
    const port = await openSandbox(child, config, databaseUrl, 0);
    const joined = joinSandbox(port);
    let isStarted = false;

    function watch(): void {
      child.on('message', (notice: SandboxNotice) => {
        if ('warned' in notice) log.warn(notice.warned.line, notice.warned.message);
      });
      child.once('exit', (code) => {
        if (isEnding) return;
        log.warn({ code }, 'the process of the simulated operator ended; it is started again');
        setTimeout(() => void startAgain(), RESTART_AFTER_MS).unref();
      });
    }

    /** On the same port: the gateway knows it by that. */
    async function startAgain(): Promise<void> {
      if (isEnding) return;
      child = forkSandbox();
      watch();
      try {
        await openSandbox(child, config, databaseUrl, port);
        if (isStarted) order(child, { start: true });
      } catch (error) {
        // Its end starts the next one.
        log.warn({ err: error }, 'the simulated operator did not start');
      }
    }

    watch();
    return {
      ...joined,
      url: () => (isEnding ? null : joined.url()),
      start() {
        isStarted = true;
        order(child, { start: true });
      },
      async close() {
        await Promise.all([joined.close(), end()]);
      },
    };
  }
  return { open, end };
}

function forkSandbox(): ChildProcess {
  const cache = getCompileCacheDir();
  return fork(new URL('./sandbox-child.ts', import.meta.url), cache ? [join(dirname(cache), 'sandbox')] : [], {
    execArgv: NODE_OPTIONS,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

function order(child: ChildProcess, message: SandboxOrder): void {
  if (child.connected) child.send(message);
}

/** The port it listens on. */
function openSandbox(child: ChildProcess, config: Config, databaseUrl: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let deadline: NodeJS.Timeout | undefined;
    const fail = (reason: string) => {
      clearTimeout(deadline);
      child.kill('SIGKILL');
      reject(new Error(`The simulated operator could not start: ${reason}`));
    };
    if (child.exitCode !== null) return fail(`its process ended with ${child.exitCode}.`);
    deadline = setTimeout(() => fail(`it took longer than ${START_MS / 1000} s.`), START_MS);
    child.once('exit', (code) => fail(`its process ended with ${code}.`));
    child.on('message', (notice: SandboxNotice) => {
      if ('failed' in notice) fail(notice.failed);
      if (!('port' in notice)) return;
      clearTimeout(deadline);
      resolve(notice.port);
    });
    order(child, { open: { config, databaseUrl, port } });
  });
}

/** Without its channel it closes its database and ends. */
function endSandbox(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    child.once('exit', () => {
      clearTimeout(deadline);
      resolve();
    });
    if (child.connected) child.disconnect();
  });
}
