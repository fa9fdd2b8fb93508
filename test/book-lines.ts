// Statements of an operator without a file: lines as a reader would hand them over.

import { createHash } from 'node:crypto';
import { insertLines, type NewLine } from '../src/books/statement-lines.ts';
import type { TestContext } from './harness.ts';
import { CURRENCY } from './payments.ts';

export const CONNECTION = 'quiet';

export type TestLine = Partial<Omit<NewLine, 'lineKey' | 'lineNumber'>> & { gross: bigint };

/** Adds lines as one file. What a test does not say is a payment that came in now and succeeded. */
export async function addStatement(
  ctx: TestContext,
  name: string,
  lines: readonly TestLine[],
  connection = CONNECTION,
): Promise<NewLine[]> {
  const at = ctx.clock.now();
  const [file] = await ctx.db.query<{ id: bigint }>(
    `insert into statement_files (connection, name, source, format, zone, sha256, bytes, status, imported_by, imported_at)
     values ($1, $2, 'command', 'mapped', 'UTC', sha256(convert_to($2, 'UTF8')), 1, 'read', 'test', $3) returning id`,
    [connection, name, at],
  );
  const rows = lines.map((line, index): NewLine => {
    const lineKey = createHash('md5').update(`${name} ${index}`).digest();
    return { ...USUAL, occurredAt: at, readAt: at, raw: `${name},${index}`, ...line, lineKey, lineNumber: index + 1 };
  });
  await ctx.db.transaction((tx) => insertLines(tx, connection, file?.id ?? 0n, rows));
  return rows;
}

const USUAL = {
  kind: 'payment',
  direction: 'in',
  state: 'succeeded',
  fee: null,
  currency: CURRENCY,
  receipt: null,
  reference: null,
  msisdn: null,
  balance: null,
  description: '',
} as const;
