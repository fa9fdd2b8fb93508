// Sandbox or live, for ever: a database is marked at its first start, and the other mode is refused. Otherwise a top-up of
// the sandbox would be a balance that can be paid out. A database from before the mark is sandbox if it has rows of the sandbox.

import { DEMO_EMAIL } from './demo.ts';
import { findMemberByEmail } from './holders/members.ts';
import { hasSandboxMoney } from './ledger/reports.ts';
import { hasTransactionsOfRail } from './payments/transactions.ts';
import { connectDatabase, type Reader } from './platform/db.ts';
import { type Mode, markMode, readMode } from './platform/gateway-mode.ts';
import { SANDBOX_RAIL } from './rails/sandbox.ts';
import { hasRecords } from './sandbox/book.ts';

/** The database belongs to the other mode. The message says what to do. */
export class ModeError extends Error {
  override readonly name = 'ModeError';
}

/** Marks a new database with the mode, and refuses one of the other mode. */
export async function requireMode(reader: Reader, mode: Mode, at: Date): Promise<void> {
  const known = (await readMode(reader)) ?? (await markMode(reader, await modeOfRows(reader, mode), at));
  refuseOtherMode(known, mode);
}

export function refuseOtherMode(known: Mode, wanted: Mode): void {
  if (known === wanted) return;
  throw new ModeError(
    known === 'sandbox'
      ? 'This is the database of a sandbox: its money is not real, so it can never be used with MODE=live. ' +
          'Give live mode a database of its own (another DATABASE_URL or DATA_DIR), or set MODE=sandbox.'
      : 'This is the database of a live gateway: its money is real, so it can never be used with MODE=sandbox. ' +
          'Set MODE=live, or give the sandbox a database of its own (another DATABASE_URL or DATA_DIR).',
  );
}

/** The mark of a database that may be older than the mark; `otherwise` where nothing says it. Writes nothing. */
export async function modeOfDatabase(ownerUrl: string, otherwise: Mode): Promise<Mode> {
  const db = connectDatabase({ url: ownerUrl, as: 'owner', poolSize: 2 });
  try {
    return (await readMode(db)) ?? otherwise;
  } finally {
    await db.close();
  }
}

/** What a database without the mark will be marked as: sandbox if it has rows of one, else `otherwise`. */
export async function modeOfRows(reader: Reader, otherwise: Mode): Promise<Mode> {
  const isSandbox =
    (await findMemberByEmail(reader, DEMO_EMAIL)) !== null ||
    (await hasSandboxMoney(reader, SANDBOX_RAIL)) ||
    (await hasRecords(reader)) ||
    (await hasTransactionsOfRail(reader, SANDBOX_RAIL));
  return isSandbox ? 'sandbox' : otherwise;
}
