// Takes back a statement that was imported to the wrong connection, currency or time zone. Its lines go as if it had never been imported,
// in one transaction with the record of who withdrew it and why; then its days are compared again. What people have decided is never
// undone: a signed day, money that a line moved, and a proposal that waits stand in the way. The database holds all three.

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Actor, recordAudit } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { endBreaksOfLines } from './breaks.ts';
import { IN_FORCE, lockDays } from './closed-days.ts';
import { requireFormatName } from './formats.ts';
import { aloneWith, importStatement } from './import-statement.ts';
import { compareAfterWithdrawal } from './matching.ts';
import { requireMapping } from './readers/mapped.ts';
import { findFile, lockStatements, type StatementFile } from './statement-files.ts';
import { originalOf } from './statement-original.ts';

/** As the table limits it. */
export const MAX_WITHDRAWAL_REASON = 500;
const MIN_REASON = 3;
const MAX_WITHDRAWALS = 20;
/** Of one statement. */
const LINES_AT_ONCE = 5_000;
const LINES_WENT = 'A statement with some of the same lines was withdrawn. Import this file again.';

/** Something that keeps a statement from being withdrawn. The console has a sentence for each in every language. */
export type WithdrawalObstacle =
  | { code: 'signed_day'; currency: string; day: string }
  | { code: 'applied'; lines: number }
  | { code: 'proposed'; breaks: number }
  | { code: 'being_read'; name: string };

/** In English, for terminals and programs. */
export function obstacleSentence(obstacle: WithdrawalObstacle): string {
  switch (obstacle.code) {
    case 'signed_day':
      return `Its lines count on ${obstacle.day}, which is signed in ${obstacle.currency}. Reopen that day first.`;
    case 'applied':
      return (
        `Lines of it that were applied: ${obstacle.lines}. They settled payments, went to suspense or booked fees. ` +
        'Money that moved keeps its line.'
      );
    case 'proposed':
      return `Breaks of its lines that wait in a proposal: ${obstacle.breaks}. Approve or reject it first.`;
    case 'being_read':
      return `"${obstacle.name}" of the same connection is being read. Wait until it is done; if it broke off, import it again.`;
  }
}

/** The first of each kind; none: the statement can be withdrawn. */
export async function findObstacles(reader: Reader, file: StatementFile): Promise<WithdrawalObstacle[]> {
  const { id, connection } = file;
  // From the lines of the file to the signed days, of which there are more every day.
  const [signed] = await reader.query<{ currency: string; day: string }>(
    `with counted as materialized (
       select distinct m.currency, m.day from statement_lines l
       join statement_matches m on m.connection = l.connection and m.line_key = l.line_key where l.file_id = $2)
     select c.currency, min(c.day)::text as day from counted
     join closes c on c.connection = $1 and c.currency = counted.currency and c.day = counted.day and ${IN_FORCE}
     group by c.currency order by c.currency limit 1`,
    [connection, id],
  );
  const [counted] = await reader.query<{ lines: number; breaks: number }>(
    `select (select count(distinct e.line_key)::int from statement_lines l
         join statement_effects e on e.connection = l.connection and e.line_key = l.line_key where l.file_id = $1) as lines,
       (select count(*)::int from statement_lines l join breaks b on b.connection = l.connection and b.line_key = l.line_key
         join break_proposal_items i on i.break_id = b.id and i.result is null where l.file_id = $1) as breaks`,
    [id],
  );
  const [reading] = await reader.query<{ name: string }>(
    `select name from statement_files where connection = $1 and status = 'reading' order by id = $2 desc, id limit 1`,
    [connection, id],
  );
  const { lines, breaks } = counted ?? { lines: 0, breaks: 0 };
  return [
    ...(signed ? [{ code: 'signed_day' as const, ...signed }] : []),
    ...(lines > 0 ? [{ code: 'applied' as const, lines }] : []),
    ...(breaks > 0 ? [{ code: 'proposed' as const, breaks }] : []),
    ...(reading ? [{ code: 'being_read' as const, name: reading.name }] : []),
  ];
}

export type StatementWithdrawal = {
  id: bigint;
  /** How many lines went with it. */
  lines: number;
  zone: string;
  currency: string | null;
  importedBy: string;
  importedAt: Date;
  reason: string;
  withdrawnBy: string;
  withdrawnAt: Date;
};

const WITHDRAWAL_COLUMNS = `id, lines, zone, currency, imported_by as "importedBy", imported_at as "importedAt", reason,
  withdrawn_by as "withdrawnBy", withdrawn_at as "withdrawnAt"`;

/** Newest first: the same bytes can be imported and withdrawn again. */
export function listWithdrawals(reader: Reader, fileId: bigint): Promise<StatementWithdrawal[]> {
  return reader.query<StatementWithdrawal>(
    `select ${WITHDRAWAL_COLUMNS} from statement_withdrawals where file_id = $1 order by id desc limit ${MAX_WITHDRAWALS}`,
    [fileId],
  );
}

const refuse = (message: string) => new Problem('invalid_params', { status: 409, message });

/**
 * Withdraws a statement and compares its days again. Asked for once more, as after a stop in between, it only compares, and the first
 * reason stays.
 */
export async function withdrawStatement(
  ctx: PaymentsContext,
  actor: Actor,
  fileId: bigint,
  reason: string,
): Promise<{ outcome: 'withdrawn' | 'known'; withdrawal: StatementWithdrawal }> {
  const why = reason.trim();
  if (why.length < MIN_REASON || why.length > MAX_WITHDRAWAL_REASON)
    throw new Problem('invalid_params', { message: 'Say in a few words why the statement is withdrawn.' });
  const file = await findFile(ctx.db, fileId);
  if (!file) throw new Problem('not_found', { message: `There is no statement ${fileId}.` });
  const again = await aloneWith(ctx, file.sha256, () =>
    ctx.db.transaction((tx) => takeBack(tx, actor, file, why, ctx.clock.now())).catch(explained),
  );
  for (const other of again ?? []) await readAgain(ctx, actor, other);
  const [withdrawal] = await listWithdrawals(ctx.db, fileId);
  if (!withdrawal) throw new Error('The record of a withdrawal was not written.');
  await compareAfterWithdrawal(ctx, file.connection, withdrawal.id);
  return { outcome: again === null ? 'known' : 'withdrawn', withdrawal };
}

/** Something came in between the question and the deletion. */
function explained(error: unknown): never {
  const constraint = violatedConstraint(error);
  if (constraint === 'statement_effect_match_exists' || constraint?.startsWith('withdrawal_not_of_'))
    throw refuse('Somebody has decided about its lines in this moment. Look at the statement again.');
  throw error;
}

/** Returns the files that must be read again, because they have counted its lines as known; null: it was withdrawn before. */
async function takeBack(tx: Tx, actor: Actor, file: StatementFile, reason: string, at: Date) {
  const { id, connection } = file;
  await lockStatements(tx, connection, 'withdrawal');
  await lockDays(tx, connection, 'signing');
  const now = await findFile(tx, id);
  if (!now || now.status === 'withdrawn') return null;
  const obstacles = await findObstacles(tx, now);
  if (obstacles.length > 0)
    throw refuse(`The statement cannot be withdrawn. ${obstacles.map(obstacleSentence).join(' ')}`);
  const [row] = await tx.query<StatementWithdrawal>(
    `insert into statement_withdrawals (file_id, connection, name, format, zone, currency, lines, imported_by, imported_at, reason,
       withdrawn_by, withdrawn_at)
     select id, connection, name, format, zone, currency, (select count(*) from statement_lines l where l.file_id = f.id), imported_by,
       imported_at, $2, $3, $4
     from statement_files f where id = $1 returning ${WITHDRAWAL_COLUMNS}`,
    [id, reason, actor.name, at],
  );
  await deleteLines(tx, now, row?.id ?? 0n, at);
  await tx.query(
    `update statement_files set status = 'withdrawn', problem = null, opening_balance = null, closing_balance = null where id = $1`,
    [id],
  );
  const details = { connection, name: file.name, lines: row?.lines ?? 0, reason };
  await recordAudit(tx, { holderId: null, actor, action: 'statement.withdrawn', subject: String(id), details }, at);
  // Until it was read again, also where this process ends before, lines of it are missing: it says so itself.
  return await tx.query<{ id: bigint }>(
    `update statement_files set status = 'broken_off', problem = $4 where connection = $1 and id <> $2 and status = 'read'
       and lines_known > 0 and coalesce(finished_at, imported_at) >= $3 returning id`,
    [connection, id, now.importedAt, LINES_WENT],
  );
}

/** Page by page: a file may have a million lines, and no statement may take longer than a request. */
async function deleteLines(tx: Tx, { id, connection }: StatementFile, withdrawalId: bigint, at: Date): Promise<void> {
  for (let after = 0; ; ) {
    const [page] = await tx.query<{ last: number | null }>(
      `select max(line_number) as last from (
         select line_number from statement_lines where file_id = $1 and line_number > $2
         order by line_number limit ${LINES_AT_ONCE}) as page`,
      [id, after],
    );
    const last = page?.last ?? null;
    if (last === null) break;
    await deletePage(tx, { id, connection, after, last }, withdrawalId, at);
    after = last;
  }
  await tx.query('delete from statement_problems where file_id = $1', [id]);
}

type LinePage = Pick<StatementFile, 'id' | 'connection'> & { after: number; last: number };

async function deletePage(tx: Tx, page: LinePage, withdrawalId: bigint, at: Date): Promise<void> {
  const { id, connection, after, last } = page;
  const isOnPage = 'l.file_id = $1 and l.line_number > $2 and l.line_number <= $3';
  await tx.query(
    `insert into withdrawn_matches (withdrawal_id, connection, line_key, day, currency, moved, fee, line_seal, seen_at, transaction_id,
       case_id, matched_at, match_seal)
     select $4, m.connection, m.line_key, m.day, m.currency, m.moved, m.fee, m.line_seal, m.seen_at, m.transaction_id, m.case_id,
       m.matched_at, m.match_seal
     from statement_lines l join statement_matches m on m.connection = l.connection and m.line_key = l.line_key where ${isOnPage}`,
    [id, after, last, withdrawalId],
  );
  await endBreaksOfLines(tx, { connection, fileId: id, after, last }, at);
  await tx.query(
    `delete from statement_matches m using statement_lines l
     where ${isOnPage} and m.connection = l.connection and m.line_key = l.line_key`,
    [id, after, last],
  );
  await tx.query(`delete from statement_lines l where ${isOnPage}`, [id, after, last]);
}

/** A file that could not be read again stays broken off, and is finished by importing it again. */
async function readAgain(ctx: PaymentsContext, actor: Actor, { id }: { id: bigint }): Promise<void> {
  const file = await findFile(ctx.db, id);
  if (!file) return;
  const folder = await mkdtemp(join(tmpdir(), 'simbi-statement-'));
  try {
    const path = join(folder, 'statement');
    await pipeline(Readable.from(originalOf(ctx.db, file)), createWriteStream(path, { mode: 0o600 }));
    const { connection, name, source, zone } = file;
    await importStatement(ctx, actor, {
      connection,
      path,
      name,
      source,
      zone,
      format: requireFormatName(file.format),
      mapping: file.mapping === null ? undefined : requireMapping(file.mapping),
      currency: file.currency ?? undefined,
      account: file.account ?? undefined,
      dateOrder: file.dateOrder ?? undefined,
    });
  } catch (error) {
    ctx.log.warn({ err: error, statement: String(id) }, 'a statement was not read again after another was withdrawn');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
