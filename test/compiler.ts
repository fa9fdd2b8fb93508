// The TypeScript compiler as tests use it: on programs they wrote, in a folder of their own.

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const COMPILER = resolve(import.meta.dirname, '../node_modules/typescript/bin/tsc');
const TIMEOUT_MS = 300_000;

/** Rejects with the compiler's output. */
export async function compile(args: string[], folder: string): Promise<void> {
  try {
    const all = [COMPILER, '--pretty', 'false', ...args];
    await promisify(execFile)(process.execPath, all, { cwd: folder, timeout: TIMEOUT_MS });
  } catch (error) {
    const { stdout = '', message = '' } = error as { stdout?: string; message?: string };
    throw new Error(`tsc ${args.join(' ')}\n${stdout || message}`, { cause: error });
  }
}
