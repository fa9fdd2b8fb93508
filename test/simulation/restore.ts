// Backups and restores in the middle of a seed: an exact copy of every table and sequence that a real backup holds, kept in a
// schema of the same database, and read back with triggers off. Then the restored rows are finished by the function that the
// restore command calls. The operator's book goes on meanwhile.

import { listTables } from '../../src/backup/backup.ts';
import { finishRestore } from '../../src/commands/finish-restore.ts';
import { refOf } from '../../src/payments/transactions.ts';
import type { Tx } from '../../src/platform/db.ts';
import type { TestContext } from '../harness.ts';
import { orderBeforeEnd } from './clients.ts';
import { noteEvents } from './invariants.ts';
import { anyProcess, attempt, type Simulation, start } from './shared.ts';

const SCHEMA = 'kept';

type Table = { name: string; columns: string[] };
type Listing = Parameters<typeof listTables>[0];

/** The tables of a backup; what the client answers with is all that the function needs of it. */
function tablesOf(tx: Tx): Promise<Table[]> {
  const client = { query: async (text: string) => ({ rows: await tx.query(text) }) };
  return listTables(client as unknown as Listing);
}

async function sequencesOf(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select sequencename as name from pg_sequences where schemaname = 'public' order by 1`,
  );
  return rows.map(({ name }) => name);
}

export async function takeBackup(simulation: Simulation): Promise<void> {
  // An operator whose callbacks prove nothing could not tell what a restore has lost.
  if (simulation.model.operator.temper.hints || !simulation.restores) return;
  const unsent = simulation.random.chance(0.5);
  if (unsent) await orderBeforeEnd(simulation);
  await simulation.exclusive(() => simulation.base.ownerDb.transaction((tx) => keepTables(tx)));
  simulation.backupAt = simulation.base.clock.millis();
  simulation.note('a backup is taken');
  // What nobody had sent is sent after the backup, and must not be sent again after a restore.
  if (unsent) await attempt(simulation, 'a pass', () => anyProcess(simulation).pass());
}

async function keepTables(tx: Tx): Promise<void> {
  await tx.query(`drop schema if exists ${SCHEMA} cascade`);
  await tx.query(`create schema ${SCHEMA}`);
  const tables = await tablesOf(tx);
  const copies = tables.map(({ name }) => `create table ${SCHEMA}.${name} as select * from public.${name}`);
  const counters = (await sequencesOf(tx)).map(
    (name) => `create table ${SCHEMA}.at_${name} as select last_value, is_called from public.${name}`,
  );
  await tx.query([...copies, ...counters].join(';\n'));
}

/** Every process ends, the newest backup is read back, and new processes start. */
export async function restoreBackup(simulation: Simulation): Promise<void> {
  const { base, model, backupAt } = simulation;
  if (backupAt === null) return;
  for (const process of simulation.processes) {
    process.kill();
    await attempt(simulation, 'ending', () => process.engine.idle());
    await attempt(simulation, 'ending', () => process.intake.idle());
  }
  await simulation.exclusive(async () => {
    await noteEvents(base, model);
    const before = await knownRefs(base, model.holderId);
    await base.ownerDb.transaction((tx) => loadTables(tx, base.clock.now(), new Date(backupAt)));
    await compare(simulation, before);
  });
  simulation.note(`the backup is restored; ${model.lost.size} transactions are lost`);
  model.operator.tellSince(backupAt);
  simulation.processes = simulation.processes.map((_, index) => start(simulation, index));
}

async function loadTables(tx: Tx, at: Date, takenAt: Date): Promise<void> {
  const tables = await tablesOf(tx);
  const triggers = (what: string) => tables.map(({ name }) => `alter table ${name} ${what} trigger user`).join(';\n');
  await tx.query(triggers('disable'));
  await tx.query(`truncate ${tables.map(({ name }) => name).join(', ')}`);
  const loads = tables.map(({ name, columns }) => {
    const list = columns.map((column) => `"${column}"`).join(', ');
    return `insert into public.${name} (${list}) overriding system value select ${list} from ${SCHEMA}.${name}`;
  });
  const counters = (await sequencesOf(tx)).map(
    (name) => `select setval('public.${name}', last_value, is_called) from ${SCHEMA}.at_${name}`,
  );
  await tx.query([...loads, ...counters].join(';\n'));
  await tx.query(triggers('enable'));
  await finishRestore(tx, at, takenAt);
}

async function knownRefs({ db }: TestContext, holderId: bigint): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>('select id from transactions where holder_id = $1', [holderId]);
  return new Set(rows.map(refOf));
}

/** What the restore took away: the model knows it exactly, and the operator will be asked to tell of it. */
async function compare(simulation: Simulation, before: Set<string>): Promise<void> {
  const { base, model } = simulation;
  const after = await knownRefs(base, model.holderId);
  const rows = await base.db.query<{ reference_1: string | null }>(
    `select reference_1 from transactions where holder_id = $1 and direction = 'collection'`,
    [model.holderId],
  );
  const wanted = new Set(rows.map((row) => row.reference_1));
  for (const ref of before) {
    if (after.has(ref)) continue;
    model.lost.add(ref);
    model.operator.tellAbout(ref);
  }
  for (const collection of model.collections)
    if ((collection.ref !== null || collection.taken) && !wanted.has(collection.msisdn)) collection.lost = true;
  // What the backup had not sent is sent after the operator has said that it does not know it.
  for (const ref of after) {
    model.operator.tellAbout(ref);
    model.sentAgain.set(ref, (model.sentAgain.get(ref) ?? 0) + 1);
  }
  const held = await base.db.query<{ mobile: string }>(
    `select msisdn as mobile from transactions where holder_id = $1 and direction = 'payout'`,
    [model.holderId],
  );
  const paid = new Set(held.map(({ mobile }) => mobile));
  for (const file of model.files) if (!paid.has(file.mobiles[0] ?? '')) file.ordered = false;
  model.restores++;
  const [suspended] = await base.db.query<{ status: string }>('select status from holders where id = $1', [
    model.holderId,
  ]);
  model.suspended = suspended?.status === 'suspended';
}
