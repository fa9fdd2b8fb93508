// Questions about other processes of this machine: does it live, since when, in which folder. A process id
// alone proves nothing, because the system uses the numbers again.

import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/** False also for a zombie: it has ended, and only waits for its parent to notice. */
export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  return processStat(pid)?.state !== 'Z';
}

/** A mark that differs between two processes that had the same id; null where the system does not tell. */
export function processStartMark(pid: number): string | null {
  return processStat(pid)?.startTicks ?? null;
}

/** The working folder of a process, or null when it is gone or not ours to see. */
export function workingFolder(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

/** The command line of a process, for systems without /proc. */
export function commandLine(pid: number): string {
  return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
}

function processStat(pid: number): { state: string; startTicks: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets and may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' };
  } catch {
    return null;
  }
}
