// Reads a statement in a thread whose heap is small: the thread ends where the reader holds more than a few rows of a large file.

import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { readInBatches } from './statements.ts';

/** The program itself takes about half of it. */
const HEAP_MB = 48;
const MAX_REASONS = 3;

/** `reasons`: of the first bad lines. `refused`: why the file was refused. */
export type SmallHeapResult = { lines: number; bad: number; reasons: string[]; refused: string | null };

/** Throws ERR_WORKER_OUT_OF_MEMORY where the heap is not enough. */
export async function readInSmallHeap(path: string): Promise<SmallHeapResult> {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: path,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 8 },
  });
  const [result] = (await once(worker, 'message')) as [SmallHeapResult];
  return result;
}

async function read(path: string): Promise<SmallHeapResult> {
  const result: SmallHeapResult = { lines: 0, bad: 0, reasons: [], refused: null };
  try {
    await readInBatches(path, {}, {}, ({ lines, problems }) => {
      result.lines += lines.length;
      result.bad += problems.length;
      for (const { reason } of problems) if (result.reasons.length < MAX_REASONS) result.reasons.push(reason);
    });
  } catch (error) {
    result.refused = error instanceof Error ? error.message : String(error);
  }
  return result;
}

if (!isMainThread) parentPort?.postMessage(await read(String(workerData)));
