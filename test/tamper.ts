// What nobody but the owner of the tables can do: change rows that are final or only ever added, with the triggers off.

import type { Database } from '../src/platform/db.ts';

const GUARDED = ['transactions', 'cases', 'decisions', 'evidence', 'events', 'callback_attempts', 'audit_log'].concat(
  'ledger_transfers',
  'ledger_accounts',
  'ledger_blocks',
  'ledger_partition_blocks',
  'ledger_heads',
);

/** Runs one statement as the owner of the tables. */
export async function tamper(ownerDb: Database, statement: string, values: unknown[] = []): Promise<void> {
  await ownerDb.transaction(async (tx) => {
    for (const table of GUARDED) await tx.query(`alter table ${table} disable trigger user`);
    await tx.query(statement, values);
    for (const table of GUARDED) await tx.query(`alter table ${table} enable trigger user`);
  });
}
