// Processes of a run: each with its log in a file, ended by its id. They are leaders of sessions of their own, so that Ctrl-C reaches
// the run alone, which then ends them in order.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const LOOK_AGAIN_MS = 50;

export type Launched = { readonly pid: number; readonly ended: Promise<void>; hasEnded(): boolean };

type Launch = { command: string[]; log: string; env: Record<string, string>; cwd: string };

/** `ip netns exec` and `setpriv` become the program that they start, so its id is the one that is returned. */
export function launch({ command, log, env, cwd }: Launch): Launched {
  const file = openSync(log, 'a');
  const [program = '', ...args] = command;
  const child: ChildProcess = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', file, file] });
  closeSync(file);
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} cannot be started`);
  let over = false;
  const ended = new Promise<void>((done) => {
    child.once('exit', () => {
      over = true;
      done();
    });
  });
  // The end of the run does not wait for what it did not end.
  child.unref();
  return { pid, ended, hasEnded: () => over };
}

/** False: there is no such process. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** A process and all that it started, the first one first. */
export function treeOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return [pid, ...children.split(' ').filter(Boolean).map(Number).flatMap(treeOf)];
  } catch {
    return [];
  }
}

/** Asks it to end, and ends it after a while. */
export async function end(process: Launched, patienceMs: number): Promise<void> {
  if (process.hasEnded()) return;
  signal(process.pid, 'SIGCONT');
  signal(process.pid, 'SIGTERM');
  // Node would end before this: nothing else may keep it waiting.
  const patience = new AbortController();
  await Promise.race([process.ended, wait(patienceMs, undefined, { signal: patience.signal }).catch(() => undefined)]);
  patience.abort();
  if (!process.hasEnded()) for (const pid of treeOf(process.pid)) signal(pid, 'SIGKILL');
}

/** Waits until the condition holds. */
export async function until(
  what: string,
  patienceMs: number,
  condition: () => Promise<boolean> | boolean,
): Promise<void> {
  const ends = performance.now() + patienceMs;
  while (!(await condition())) {
    if (performance.now() > ends) throw new Error(`${what}: still not after ${Math.round(patienceMs / 1000)} s`);
    await wait(LOOK_AGAIN_MS);
  }
}
