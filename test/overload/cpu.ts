// Which program used the processors, from /proc: strangers and merchant run on the same machine as the gateway, and what they use
// themselves is no weakness of the gateway. Elsewhere than on Linux nothing is known.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** The processes of a run. The database is every process that works in the data folder. */
export type Watched = { gateway: number | undefined; strangers: number | undefined; dataFolder: string };

/** Seconds of processor time so far. */
export type CpuTimes = Record<'gateway' | 'database' | 'strangers' | 'merchant', number>;

export function readCpuTimes({ gateway, strangers, dataFolder }: Watched): CpuTimes {
  const database = readFolder('/proc')
    .filter((name) => /^\d+$/.test(name) && folderOf(name).startsWith(dataFolder))
    .reduce((sum, name) => sum + secondsOf(name), 0);
  const { user, system } = process.cpuUsage();
  return {
    gateway: secondsOf(gateway),
    database,
    strangers: secondsOf(strangers),
    merchant: (user + system) / 1_000_000,
  };
}

/** How many processors each used on average, as text. */
export function describeCpu(before: CpuTimes, after: CpuTimes, seconds: number): string {
  const names = ['gateway', 'database', 'strangers', 'merchant'] as const;
  return names.map((name) => ((after[name] - before[name]) / seconds).toFixed(2).padStart(10)).join('');
}

function secondsOf(pid: number | string | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in brackets and may contain spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

function folderOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
