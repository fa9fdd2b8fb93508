// Ports for servers that must know theirs before they listen. A port from here is below the range from which the
// system gives ports to others, and a file keeps it from other test processes: nobody takes it in between.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../src/embedded-postgres/processes.ts';

const FIRST_PORT = 20_000;
const PORTS = 10_000;
const MAX_TRIES = 200;
/** One file for each reserved port. */
export const RESERVATIONS = join(tmpdir(), `simbi-test-ports-${userInfo().uid}`);

/** A free port on 127.0.0.1 that stays reserved until this process ends. */
export async function reservePort(): Promise<number> {
  mkdirSync(RESERVATIONS, { recursive: true });
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (claim(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1}`);
}

function claim(port: number): boolean {
  const file = join(RESERVATIONS, String(port));
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    process.once('exit', () => rmSync(file, { force: true }));
    return true;
  } catch {
    removeStale(file);
    return false;
  }
}

/** Removes the reservation of a process that was killed; the port may be claimed by a later try. */
function removeStale(file: string): void {
  try {
    const owner = Number(readFileSync(file, 'utf8'));
    if (owner > 0 && !isAlive(owner)) rmSync(file, { force: true });
  } catch {
    // Its owner has just removed it.
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
