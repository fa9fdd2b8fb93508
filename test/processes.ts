// Real processes for tests: the command line with its output, its exit code and its end.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
/** A start that is measured elsewhere: here a busy machine may take its time. */
const PATIENCE_MS = 300_000;

export type RunningProcess = {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; out: string; stderr: string }>;
  /** Resolves with the first match in the output of either stream; rejects if the process ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
};

export type Settings = Record<string, string | undefined>;

/** Runs a script through the launcher; by default on the Node that runs the tests. */
export function start(script: string, args: string[], settings: Settings, node = process.execPath): RunningProcess {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NO_COLOR: '1', ...settings } as NodeJS.ProcessEnv;
  const child = spawn(node, [join(ROOT, 'bin/run.mjs'), script, ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let stderr = '';
  let check = () => {};
  child.stdout?.on('data', (chunk) => {
    out += String(chunk);
    check();
  });
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
    check();
  });
  const ended = new Promise<{ code: number | null; out: string; stderr: string }>((done) => {
    child.on('close', (code) => done({ code, out, stderr }));
  });
  return {
    child,
    ended,
    printed: (pattern) =>
      new Promise((found, fail) => {
        const timer = setTimeout(() => fail(new Error(`not printed: ${pattern}\n${out}\n${stderr}`)), PATIENCE_MS);
        const settle = (match: RegExpExecArray | null) => {
          clearTimeout(timer);
          if (match) found(match);
          else fail(new Error(`ended without printing ${pattern}\n${out}\n${stderr}`));
        };
        check = () => {
          const match = pattern.exec(out) ?? pattern.exec(stderr);
          if (match) settle(match);
        };
        void ended.then(() => settle(pattern.exec(out) ?? pattern.exec(stderr)));
        check();
      }),
  };
}

export function simbi(args: string[], settings: Settings, node?: string): RunningProcess {
  return start('src/cli.ts', args, settings, node);
}

/** The machine's own Node, which may be older than the pinned one: npm starts the launcher with it. */
export function machineNode(): string {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders.map((folder) => join(folder, 'node')).find((file) => existsSync(file)) ?? process.execPath;
}

/** Asks again while the gateway says to try again: on a machine that stands still for seconds a request finds no connection. */
export async function patiently(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    await answer.arrayBuffer();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
