// A day of payments over a simulated operator, with faults, to its close: what the operator prints is imported, compared and applied,
// a person decides about what is left, the day is signed, and an edit of anything in it is named.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listBreaks, resolveBreak } from '../../src/books/breaks.ts';
import { listCloseItems, listCloses, signClose } from '../../src/books/closes.ts';
import { applyEffects } from '../../src/books/effects.ts';
import { importStatement } from '../../src/books/import-statement.ts';
import { reconcile } from '../../src/books/matching.ts';
import { applyOutcomes } from '../../src/payments/outcomes.ts';
import type { Transaction } from '../../src/payments/transactions.ts';
import { DAY_MS } from '../../src/platform/clock.ts';
import { differencesOf } from '../books.ts';
import { createStatementFolder, type StatementFolder } from '../statements.ts';
import { tamper } from '../tamper.ts';
import { type OperatorGateway, openOperatorGateway } from './operator-gateway.ts';
import { OPERATORS } from './operators.ts';

const DARAJA = OPERATORS.find(({ name }) => name === 'daraja') ?? assert.fail();
const AMINA = { memberId: null, name: 'amina@example.org' };
const CONNECTION = 'daraja';
const CURRENCY = 'KES';
const DAY = '2026-03-02';
const SPAN = { connection: CONNECTION, from: new Date(`${DAY}T00:00:00Z`), to: new Date('2026-03-03T00:00:00Z') };
const PAYER = '254712345678';

let opened: OperatorGateway;
let folder: StatementFolder;
before(async () => {
  opened = await openOperatorGateway({
    ...DARAJA,
    simulatorSettings: { ...DARAJA.simulatorSettings, validation: 'false' },
  });
  folder = await createStatementFolder();
});
after(async () => {
  await folder.close();
  await opened.close();
});

/** What the portal of the operator gives for download. */
async function downloadStatement(): Promise<string> {
  const answer = await fetch(`${opened.simulator.url}/_simulator/statement`, { method: 'POST', body: '{}' });
  return folder.write('organisation.csv', await answer.text());
}

async function collected(amount: bigint): Promise<Transaction> {
  const collection = await opened.untilEnded(await opened.collect(amount));
  assert.equal(collection.status, 'success');
  return collection;
}

/** A collection that the operator took, and of which it can tell nobody. */
async function collectedInSilence(amount: bigint): Promise<Transaction> {
  opened.simulator.faults.add({ fault: 'callback_lost', times: 100 });
  opened.simulator.faults.add({ fault: 'error_before_processing', operation: 'query', times: 100_000 });
  const collection = await opened.collect(amount);
  await opened.settle();
  await opened.simulator.idle();
  await opened.settle();
  return opened.read(collection);
}

const kindsOf = async () =>
  (await listBreaks(opened.gateway.ctx.db, { connection: CONNECTION, status: 'open' }, 100))
    .map(({ kind }) => kind)
    .sort();

const statusOf = async (transaction: Transaction) => (await opened.read(transaction)).status;

async function clearing(): Promise<bigint> {
  const [row] = await opened.gateway.ctx.ownerDb.query<{ balance: bigint }>(
    `select -sum(balance)::bigint as balance from ledger_accounts where kind = 'operator_clearing' and rail = $1`,
    [CONNECTION],
  );
  return row?.balance ?? 0n;
}

const found = async () => [...new Set((await differencesOf(opened.gateway.ctx)).map(({ what }) => what))].sort();

test('from payments and faults to a signed day, and an edit of it is named', async () => {
  const { ctx } = opened.gateway;
  // 1. The day. Everything happens before midnight.
  const usual = [await collected(1_000_00n), await collected(2_500_00n)];
  opened.simulator.faults.add({ fault: 'callback_doubled' });
  const reversed = await collected(700_00n);
  const payout = await opened.untilEnded(await opened.payOut(300_00n));
  assert.equal(payout.status, 'success');
  assert.equal((await opened.simulator.act('reverse', { id: await receiptOf(reversed) })).status, 200);
  const silent = await collectedInSilence(900_00n);
  assert.equal(silent.status, 'processing');
  const stranger = { msisdn: PAYER, amount: '650', reference: 'NOBODY' };
  assert.deepEqual((await opened.simulator.act('pay_bill', stranger)).status, 200);
  // A proof that was none: the operator does not know this payment.
  const forged = await opened.collect(80_00n, '254712345001');
  await opened.settle();
  await ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [
      {
        transactionId: forged.id,
        source: 'callback',
        rail: CONNECTION,
        observation: { state: 'succeeded', receipt: 'SKE9FORGED' },
        raw: '',
      },
    ]),
  );
  assert.ok(ctx.clock.now() < SPAN.to);

  // 2. The statement, and what it finds.
  const path = await downloadStatement();
  const file = { connection: CONNECTION, path, name: 'organisation.csv', source: 'command' } as const;
  const imported = await importStatement(ctx, AMINA, file);
  assert.deepEqual([imported.outcome, imported.file.linesBad], ['read', 0]);
  assert.equal((await importStatement(ctx, AMINA, file)).outcome, 'known');
  await reconcile(ctx, { ...SPAN, isWhole: true });
  assert.deepEqual(await kindsOf(), ['missing_with_them', 'missing_with_us', 'state', 'state']);

  // 3. What only the statement knows is applied, once.
  const applied = await applyEffects(ctx, AMINA, SPAN);
  assert.deepEqual([applied.settled, applied.reversed, applied.toSuspense], [1, 1, 1]);
  assert.deepEqual([await statusOf(silent), await statusOf(reversed)], ['success', 'reversed']);
  opened.simulator.faults.clear();
  const again = await applyEffects(ctx, AMINA, SPAN);
  assert.deepEqual([again.settled, again.reversed, again.toSuspense], [0, 0, 0]);
  await reconcile(ctx, { ...SPAN, isWhole: true });
  assert.deepEqual(await kindsOf(), ['missing_with_them']);

  // 4. A person decides about the rest, and signs. Our clearing account is what the operator owes, and the forged payment.
  const [left] = await listBreaks(ctx.db, { connection: CONNECTION, status: 'open' }, 1);
  assert.equal(left?.transaction_id, forged.id);
  await ctx.db.transaction((tx) => resolveBreak(ctx, tx, left?.id ?? '', AMINA.name, 'a forged message'));
  ctx.clock.set(new Date(SPAN.to.getTime() + DAY_MS / 24));
  const day = await signClose(ctx, AMINA, { connection: CONNECTION, currency: CURRENCY, day: DAY });
  assert.equal(day.unexplained, 0n);
  const [close] = await listCloses(ctx.db, CONNECTION, 10);
  assert.ok(close?.in_force);
  assert.deepEqual(
    (await listCloseItems(ctx.db, close)).map(({ kind, difference }) => [kind, difference]),
    [['missing_with_them', -80_00n]],
  );
  assert.equal(await clearing(), opened.simulator.book.net(CURRENCY) + 80_00n);
  assert.deepEqual(await Promise.all(usual.map(statusOf)), ['success', 'success']);
  assert.deepEqual(await found(), []);

  // 5. An edit of a line, of a transfer and of the close is named, each for itself.
  await edit('statement_lines', 'gross = gross + 1', 'gross = gross - 1', 'statement_lines');
  await edit('closes', `signed_by = 'x'`, `signed_by = '${AMINA.name}'`, 'closes');
  await edit('ledger_transfers', 'amount = amount + 1', 'amount = amount - 1', 'transfer');
  assert.deepEqual(await found(), []);
});

async function receiptOf({ holder_id: holderId, id }: Transaction): Promise<string> {
  const [row] = await opened.gateway.ctx.ownerDb.query<{ receipt: string }>(
    'select receipt from operator_receipts where holder_id = $1 and transaction_id = $2',
    [holderId, id],
  );
  return row?.receipt ?? assert.fail('no receipt');
}

/** Changes one row as only the owner of the tables can, expects it to be named, and changes it back. */
async function edit(table: string, change: string, back: string, named: string): Promise<void> {
  const { ownerDb } = opened.gateway.ctx;
  const [row] = await ownerDb.query<{ place: string }>(
    `select ctid::text as place from ${table} order by ctid limit 1`,
  );
  const run = async (set: string, where: string) => {
    await ownerDb.query(`alter table ${table} disable trigger user`);
    await tamper(ownerDb, `update ${table} set ${set} where ${where}`);
    await ownerDb.query(`alter table ${table} enable trigger user`);
  };
  await run(change, `ctid = '${row?.place}'`);
  assert.ok((await found()).includes(named), `${table} is named: ${(await found()).join(', ')}`);
  const [moved] = await ownerDb.query<{ place: string }>(
    `select ctid::text as place from ${table} order by xmin::text::bigint desc limit 1`,
  );
  await run(back, `ctid = '${moved?.place}'`);
}
