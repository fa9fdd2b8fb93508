// Facts about other processes of this machine: is it running, since when, in which folder. A process id alone identifies no
// process, because the system reuses ids.

import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/** False also for a zombie: it has ended, and its parent has not read its exit code yet. */
export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  return processStat(pid)?.state !== 'Z';
}

/** Differs between two processes that had the same id; null where the system does not provide it. */
export function processStartMark(pid: number): string | null {
  return processStat(pid)?.startTicks ?? null;
}

/** The working folder of a process, or null if it has ended or may not be read. */
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
    // The second field is the program's name in brackets and may itself contain spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' };
  } catch {
    return null;
  }
}
