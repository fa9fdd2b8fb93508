// Where the time of a run goes: which process of the runner ran when, and the processor time of it with everything it started,
// such as a browser. Read from /proc, so only on Linux.

import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, relative } from 'node:path';

const SAMPLE_MS = 500;
/** Of the times in /proc, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

type Process = { parent: number; ticks: number };
type Measured = { name: string; from: number; to: number; ticks: number; lastSum: number };

export type Times = { stop(): string };

/** Watches the children of this process until `stop`, which returns a table. */
export function watchTimes(root: string): Times {
  if (process.platform !== 'linux') return { stop: () => 'Times are read from /proc, which only Linux has.' };
  const started = performance.now();
  const children = new Map<number, Measured>();
  const timer = setInterval(() => sample(children, root, performance.now() - started), SAMPLE_MS);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      sample(children, root, performance.now() - started);
      return describeTimes([...children.values()], performance.now() - started);
    },
  };
}

function sample(children: Map<number, Measured>, root: string, now: number): void {
  const processes = readProcesses();
  const sums = new Map<number, number>();
  for (const [pid, { ticks }] of processes) {
    const child = ancestorBelow(processes, pid);
    if (child !== null) sums.set(child, (sums.get(child) ?? 0) + ticks);
  }
  for (const [pid, sum] of sums) {
    const known = children.get(pid) ?? { name: nameOf(pid, root), from: now, to: now, ticks: 0, lastSum: 0 };
    // A process that ends without being waited for takes its ticks with it: the sum decreases, what was counted stays.
    known.ticks += Math.max(0, sum - known.lastSum);
    known.lastSum = sum;
    known.to = now;
    children.set(pid, known);
  }
}

/** The child of ours that started this process, directly or not. */
function ancestorBelow(processes: Map<number, Process>, pid: number): number | null {
  for (let current = pid; ; ) {
    const parent = processes.get(current)?.parent;
    if (parent === undefined || parent === 0) return null;
    if (parent === process.pid) return current;
    current = parent;
  }
}

function readProcesses(): Map<number, Process> {
  const found = new Map<number, Process>();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = readLine(`/proc/${pid}/stat`);
    if (stat === '') continue;
    // The name of the program, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Its own time and that of children that have ended, each of the user and of the system.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    found.set(Number(pid), { parent: Number(fields[1]), ticks });
  }
  return found;
}

/** Nothing when the process has ended meanwhile. */
function readLine(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The file of tests, the program of a group, or what else was started. */
function nameOf(pid: number, root: string): string {
  const command = readLine(`/proc/${pid}/cmdline`).split('\0');
  const file = command.find((part) => /\.(test\.ts|mjs)$/.test(part));
  if (file === undefined) return basename(command[0] ?? '').split(' ')[0] ?? '';
  return file.startsWith(root) ? relative(root, file) : basename(file);
}

function describeTimes(measured: Measured[], total: number): string {
  const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(1).padStart(8);
  const ofTicks = (ticks: number) => (ticks / TICKS_PER_SECOND) * 1000;
  const used = measured.reduce((sum, { ticks }) => sum + ofTicks(ticks), 0);
  const share = Math.round((used / total / availableParallelism()) * 100);
  const rows = measured
    .toSorted((one, other) => other.ticks - one.ticks)
    .map(({ name, from, to, ticks }) => `${seconds(from)} ${seconds(to - from)} ${seconds(ofTicks(ticks))}  ${name}`);
  return [
    ' started     took processor  seconds, of a process and what it started',
    ...rows,
    `${seconds(0)} ${seconds(total)} ${seconds(used)}  all: ${share} % of ${availableParallelism()} processors`,
  ].join('\n');
}
