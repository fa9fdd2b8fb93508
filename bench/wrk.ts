// wrk as the generator of closed loops and of overload, where it is installed: a request costs it a tenth of what it costs a program
// in Node, which on a small machine is taken from what is measured.

import { execFile } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { LoadPlan, LoadResult } from './load.ts';

const SCRIPT = join(import.meta.dirname, 'wrk.lua');
/** Between requests: none of them contains it. */
const SEPARATOR = Buffer.from([0]);
/** An answer that takes longer would count as an error. */
const TIMEOUT_S = 60;

/** The program, or null if it is not installed. */
export function findWrk(): string | null {
  const files = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'wrk'));
  return files.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Latencies are a thousand points of their distribution: that is what wrk keeps. */
export async function runWrk(wrk: string, plan: LoadPlan): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-wrk-'));
  try {
    const file = join(folder, 'requests');
    writeFileSync(file, Buffer.concat(plan.requests.flatMap((request) => [request, SEPARATOR])));
    const { stdout } = await promisify(execFile)(wrk, [
      '--threads=1',
      `--connections=${plan.connections}`,
      `--duration=${plan.maxSeconds}s`,
      `--timeout=${TIMEOUT_S}s`,
      `--script=${SCRIPT}`,
      `http://${plan.host}:${plan.port}${plan.path}`,
      file,
      String(plan.connections),
      String(plan.rate ?? 0),
    ]);
    return readResult(stdout, plan.requests.length);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Printed = { answered: number; refused: number; failed: number; seconds: number; latencies: number[] };

function readResult(stdout: string, sent: number): LoadResult {
  const { answered, refused, failed, seconds, latencies } = JSON.parse(
    stdout.trim().split('\n').at(-1) ?? '',
  ) as Printed;
  return { sent, accepted: answered - refused, refused, failed, seconds, latencies, refusalLatencies: [] };
}
