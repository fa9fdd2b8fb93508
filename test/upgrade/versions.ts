// This version and the one before it, as programs: their commands, and gateways that are started and stopped.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const ROOT = resolve(import.meta.dirname, '../..');
const POLL_MS = 100;
/** A start on a machine that is busy with other things. */
const PATIENCE_MS = 300_000;

export type Version = { name: string; folder: string };
export type Settings = Record<string, string>;
export type Gateway = {
  readonly version: Version;
  readonly url: string;
  /** Requests that were sent to it and are not answered yet. */
  inFlight: number;
  /** Asks it to end, and gives its exit code. */
  stop(): Promise<number | null>;
};

export const THIS_VERSION: Version = { name: 'this version', folder: ROOT };

/** The files of a commit, with the packages of this checkout if they are the same. */
export function checkOut(commit: string): Version & { remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-before-'));
  const files = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1024 ** 3 });
  execFileSync('tar', ['-x', '-C', folder], { input: files });
  const lockfile = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lockfile(folder) === lockfile(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  else execFileSync(process.execPath, ['bin/run.mjs', '--dev', '--install-only'], { cwd: folder, stdio: 'inherit' });
  return { name: 'the version before', folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Runs a program of a version on this Node; its output goes to ours, or is returned. */
export async function run(
  { folder }: Version,
  args: string[],
  settings: Settings,
  output: 'show' | 'return' = 'return',
): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...environment(), ...settings },
    stdio: ['ignore', output === 'show' ? 'inherit' : 'pipe', output === 'show' ? 'inherit' : 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

export async function startGateway(version: Version, settings: Settings & { PORT: string }): Promise<Gateway> {
  const child = spawn(process.execPath, ['src/cli.ts', 'serve'], {
    cwd: version.folder,
    env: { ...environment(), ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => (said += String(chunk)));
  const ended = once(child, 'close') as Promise<[number | null]>;
  const url = `http://127.0.0.1:${settings.PORT}`;
  for (let waited = 0; !(await answers(url)); waited += POLL_MS) {
    if (child.exitCode !== null) throw new Error(`${version.name} ended with ${child.exitCode}: ${said}`);
    if (waited > PATIENCE_MS) throw new Error(`${version.name} does not answer: ${said}`);
    await pause(POLL_MS);
  }
  return {
    version,
    url,
    inFlight: 0,
    async stop() {
      child.kill('SIGTERM');
      return (await ended)[0];
    },
  };
}

/** Not /readyz: the first version said there that it cannot run on a newer database. */
async function answers(url: string): Promise<boolean> {
  return await fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

function environment(): Settings {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, NO_COLOR: '1' };
}
