// Imports a statement: the original in parts, then its lines in batches. Every step can be repeated, so a reading that broke off,
// even with its process, is finished by importing the same file again, and the same file twice adds nothing.

import { open } from 'node:fs/promises';
import { type Actor, recordAudit } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { Problem } from '../platform/errors.ts';
import { defaultsOf } from './account-defaults.ts';
import type { LineFacts } from './line-keys.ts';
import {
  closeFile,
  countParts,
  type FileProgress,
  findFile,
  findFileOf,
  insertProblems,
  lockStatements,
  noteProgress,
  openFile,
  PART_BYTES,
  type StatementFile,
  type StatementProblem,
  type StatementSource,
  storePart,
} from './statement-files.ts';
import { countLinesOfFile, insertLines } from './statement-lines.ts';
import { openStatement, type ReadingChoices, type StatementReading } from './statement-reading.ts';
import { type FileFacts, inspectFile } from './statement-source.ts';

const MAX_NAME = 200;

export type StatementImport = ReadingChoices & {
  connection: string;
  /** Where the file is on this machine. It may be deleted afterwards: the database has it. */
  path: string;
  name: string;
  source: StatementSource;
};

export type ImportOptions = {
  progress?: ((lines: number, about: number | null) => void) | undefined;
  /** Called when the file has its id, and before its lines are read. */
  onOpened?: ((file: StatementFile) => void) | undefined;
};

/** `known`: these bytes were read to their end before, and nothing was to be done. */
export type ImportResult = { outcome: 'read' | 'known'; file: StatementFile };

export async function importStatement(
  ctx: PaymentsContext,
  actor: Actor,
  given: StatementImport,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const account = await defaultsOf(ctx, given.connection);
  const facts = await inspectFile(given.path);
  const known = await findFileOf(ctx.db, given.connection, facts.sha256);
  // With bad lines it is read once more: a newer version may read them, and lines that are there stay as they are.
  if (known?.status === 'read' && known.linesBad === 0) return { outcome: 'known', file: known };
  const reading = await openStatement(given.path, facts, account, given, ctx.clock.now());
  try {
    return await aloneWith(ctx, facts.sha256, async () => {
      const file = await openRow(ctx, actor, given, facts, reading);
      options.onOpened?.(file);
      await storeOriginal(ctx, file, given.path);
      await readInto(ctx, file, reading, (lines) => options.progress?.(lines, facts.lines));
      return { outcome: 'read', file: (await findFile(ctx.db, file.id)) ?? file };
    });
  } finally {
    await reading.close();
  }
}

/** Two processes with the same file would count each other's lines as known. The lock ends with the process. */
export async function aloneWith<T>(ctx: PaymentsContext, sha256: Buffer, work: () => Promise<T>): Promise<T> {
  return await ctx.db.withLock(sha256.readBigInt64BE(0), work, () => {
    throw new Problem('invalid_params', {
      status: 409,
      message: 'This file is being read now. Wait until it is done.',
    });
  });
}

function openRow(
  ctx: PaymentsContext,
  actor: Actor,
  given: StatementImport,
  facts: FileFacts,
  reading: StatementReading,
): Promise<StatementFile> {
  const at = ctx.clock.now();
  const { connection, source } = given;
  const name = given.name.replaceAll(/[\p{Cc}\p{Cf}]/gu, '').slice(0, MAX_NAME) || 'statement';
  const { format, zone, currency } = reading;
  return ctx.db.transaction(async (tx) => {
    await lockStatements(tx, connection, 'import');
    const said = { mapping: given.mapping ?? null, account: given.account ?? null, dateOrder: given.dateOrder ?? null };
    const row = { connection, name, source, format, zone, currency, ...said };
    const { sha256, bytes } = facts;
    const file = await openFile(tx, { ...row, sha256, bytes: BigInt(bytes), importedBy: actor.name }, at);
    const details = { connection, name, format, sha256: sha256.toString('hex') };
    await recordAudit(
      tx,
      { holderId: null, actor, action: 'statement.imported', subject: String(file.id), details },
      at,
    );
    return file;
  });
}

/** Parts that an earlier try has stored are not sent again. */
async function storeOriginal(ctx: PaymentsContext, file: StatementFile, path: string): Promise<void> {
  const stored = await countParts(ctx.db, file.id);
  const handle = await open(path);
  try {
    for (let number = stored; ; number++) {
      const part = Buffer.alloc(PART_BYTES);
      const { bytesRead } = await handle.read(part, 0, PART_BYTES, number * PART_BYTES);
      if (bytesRead === 0) return;
      await ctx.db.transaction((tx) => storePart(tx, file.id, number, part.subarray(0, bytesRead)));
    }
  } finally {
    await handle.close();
  }
}

async function readInto(
  ctx: PaymentsContext,
  file: StatementFile,
  reading: StatementReading,
  progress: (lines: number) => void,
): Promise<void> {
  const done: FileProgress = { lines: 0, linesNew: 0, linesKnown: 0, linesBad: 0 };
  try {
    for await (const { lines, problems } of reading.batches(ctx.clock.now())) {
      // In one order for every import, so that two of them never wait for each other's lines.
      const sorted = lines.toSorted((left, right) => Buffer.compare(left.lineKey, right.lineKey));
      await ctx.db
        .transaction(async (tx) => {
          const { added } = await insertLines(tx, file.connection, file.id, sorted);
          await insertProblems(tx, file.id, problems);
          const next = {
            lines: done.lines + lines.length + problems.length,
            linesNew: done.linesNew + added,
            linesKnown: done.linesKnown + lines.length - added,
            linesBad: done.linesBad + problems.length,
          };
          await noteProgress(tx, file.id, next);
          return next;
        })
        .then((next) => Object.assign(done, next));
      progress(done.lines);
    }
  } catch (error) {
    const problem = error instanceof Problem ? error.message : 'The reading broke off. Import the file again.';
    const ending = { ...done, status: 'broken_off' as const, problem, openingBalance: null, closingBalance: null };
    await ctx.db.transaction((tx) => closeFile(tx, file.id, ending, ctx.clock.now()));
    throw error;
  }
  await ctx.db.transaction(async (tx) => {
    // Lines of an earlier try of the same file are its own, not another file's.
    const linesNew = await countLinesOfFile(tx, file.id);
    const linesKnown = done.lines - done.linesBad - linesNew;
    const ending = { ...done, linesNew, linesKnown, status: 'read' as const, problem: null, ...reading.balances() };
    await closeFile(tx, file.id, ending, ctx.clock.now());
  });
}

export type StatementPreview = {
  format: string;
  zone: string;
  currency: string | null;
  bytes: number;
  lines: number;
  bad: number;
  firstLines: LineFacts[];
  firstProblems: StatementProblem[];
};

/** Reads a file and stores nothing, so that somebody can see how it is understood. */
export async function previewStatement(
  ctx: PaymentsContext,
  given: Omit<StatementImport, 'source' | 'name'>,
  shown: number,
): Promise<StatementPreview> {
  const account = await defaultsOf(ctx, given.connection);
  const facts = await inspectFile(given.path);
  const now = ctx.clock.now();
  const reading = await openStatement(given.path, facts, account, given, now);
  const { format, zone, currency } = reading;
  const preview = { format, zone, currency, bytes: facts.bytes, lines: 0, bad: 0 };
  const firstLines: LineFacts[] = [];
  const firstProblems: StatementProblem[] = [];
  try {
    for await (const { lines, problems } of reading.batches(now)) {
      preview.lines += lines.length + problems.length;
      preview.bad += problems.length;
      firstLines.push(...lines.slice(0, Math.max(0, shown - firstLines.length)));
      firstProblems.push(...problems.slice(0, Math.max(0, shown - firstProblems.length)));
    }
  } finally {
    await reading.close();
  }
  return { ...preview, firstLines, firstProblems };
}
