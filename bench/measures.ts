// What a run of the benchmark found: printed as a table, and appended to a file that a person can plot.

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { findWrk } from './wrk.ts';

export type Measure = {
  readonly name: string;
  /** Null: not measured here; the note says why. */
  readonly value: number | null;
  readonly unit: string;
  readonly floor?: string;
  readonly goal?: string;
  readonly note?: string;
};

export type Measures = {
  add(measure: Measure): void;
  all(): readonly Measure[];
};

export type Machine = Record<string, string | number>;

export function createMeasures(): Measures {
  const list: Measure[] = [];
  return {
    add: (measure) => {
      list.push(measure);
      say(`  → ${measure.name}: ${shown(measure)}`);
    },
    all: () => list,
  };
}

export function say(sentence: string): void {
  process.stderr.write(`  ${sentence}\n`);
}

export function ratio(value: number, base: number | null | undefined): number | null {
  return base === undefined || base === null ? null : value / base;
}

const FSYNC_ROUNDS = 500;

export function describeMachine(): Machine {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-fsync-'));
  const file = openSync(join(folder, 'fsync'), 'w');
  const block = Buffer.alloc(8192);
  const started = performance.now();
  for (let round = 0; round < FSYNC_ROUNDS; round++) {
    writeSync(file, block, 0, block.length, 0);
    fdatasyncSync(file);
  }
  const microseconds = Math.round(((performance.now() - started) / FSYNC_ROUNDS) * 1000);
  closeSync(file);
  rmSync(folder, { recursive: true });
  return {
    cpu: cpus()[0]?.model.trim() || process.arch,
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    fdatasync_us: microseconds,
    generator: findWrk() === null ? 'our own (wrk is not installed)' : 'wrk for closed loops',
  };
}

export function printTable(machine: Machine, measures: readonly Measure[]): void {
  const lines = measures.map(
    (measure) =>
      `| ${measure.name} | ${shown(measure)} | ${measure.floor ?? ''} | ${measure.goal ?? ''} | ${measure.note ?? ''} |`,
  );
  process.stdout.write(
    `${Object.entries(machine)
      .map(([name, value]) => `${name}: ${value}`)
      .join(' · ')}\n\n| measure | value | floor | goal | |\n|---|---|---|---|---|\n${lines.join('\n')}\n`,
  );
}

/** The rounds of a measure, for its note. */
export function listed(values: readonly number[], decimals = 0): string {
  return values.map((value) => value.toFixed(decimals)).join(', ');
}

export function shown({ value, unit }: Measure): string {
  if (value === null) return 'not measured';
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(2)} ${unit}`.trim();
}

/** A run as it is kept: one line of JSON in the file. */
export type RunResult = { at: string; commit: string; machine: Machine; measures: readonly Measure[] };

export function appendResults(file: string, machine: Machine, measures: readonly Measure[]): void {
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
  const run: RunResult = { at: new Date().toISOString(), commit, machine, measures };
  appendFileSync(file, `${JSON.stringify(run)}\n`);
}

export function readResults(file: string): RunResult[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as RunResult);
}
