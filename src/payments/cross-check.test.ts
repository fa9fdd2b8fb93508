// Every check between transactions, ledger, events and cases: silent over right books, and seen to fail over wrong ones.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBooks, type Past, writePast } from '../../test/books.ts';
import { copyTestDatabase, dropTestDatabase } from '../../test/database.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { tamper } from '../../test/tamper.ts';
import { connectDatabase, type Database } from '../platform/db.ts';
import { CROSS_CHECKS } from './cross-check.ts';
import { verifyBooks } from './verify-books.ts';
import { addVerifyRun, type VerifyRun } from './verify-runs.ts';

let base: TestContext & { close(): Promise<void> };
let past: Past;
/** Checks that have been seen to fail. */
const failed = new Set<string>();

before(async () => {
  base = await createTestContext({ ROLE: 'api' });
  past = await writePast(base, await openBooks(base));
  // A database can be copied when nobody is connected to it.
  await base.db.close();
});
after(() => dropTestDatabase(base.databaseUrl));

async function onCopy<T>(work: (db: Database) => Promise<T>): Promise<T> {
  const copy = await copyTestDatabase(base.databaseUrl);
  const db = connectDatabase({ url: copy.url, as: 'owner', poolSize: 4 });
  try {
    return await work(db);
  } finally {
    await db.close();
    await copy.drop();
  }
}

async function verify(db: Database, since: Date | null = null): Promise<VerifyRun> {
  const ctx = { db, clock: base.clock };
  const run = await addVerifyRun(db, { by: 'test', since, inBackground: false }, base.clock.now());
  return await verifyBooks(ctx, run);
}

const checksOf = (run: VerifyRun) => [...new Set(run.findings.map((finding) => finding.what))];

type Break = [name: string, check: string, statement: string, values?: (past: Past) => unknown[]];

const BREAKS: Break[] = [
  [
    'a success without its posting',
    'postings',
    `delete from ledger_transfers where transaction_id = $1 and kind = 'collection'`,
    ({ success }) => [success.id],
  ],
  [
    'a posting of another amount than the transaction',
    'postings',
    'update transactions set amount = amount + 1 where id = $1',
    ({ payout }) => [payout.id],
  ],
  [
    'a posting from the clearing account of another rail',
    'postings',
    `update transactions set rail = 'other' where id = $1`,
    ({ success }) => [success.id],
  ],
  [
    'an open collection that was posted',
    'postings',
    `update transactions set status = 'processing' where id = $1`,
    ({ success }) => [success.id],
  ],
  [
    'a failed payout whose reserve was not released',
    'postings',
    `delete from ledger_transfers where kind = 'payout_release' and transaction_id = (
       select id from transactions where direction = 'payout' and status = 'failed')`,
  ],
  [
    'a payout paid from the wallet although its reserve was not released',
    'postings',
    `update ledger_transfers x set debit_account = (
       select id from ledger_accounts a where a.holder_id = x.holder_id and a.kind = 'wallet_available')
     where transaction_id = $1 and kind = 'payout'`,
    ({ payout }) => [payout.id],
  ],
  [
    'a refund that returned another fee than its order says',
    'postings',
    'update refund_orders set fee_returned = fee_returned + 1 where transaction_id = $1',
    ({ part }) => [part.id],
  ],
  [
    'a refund without its reserve',
    'postings',
    `delete from ledger_transfers where transaction_id = $1 and kind = 'refund_reserve'`,
    ({ openRefund }) => [openRefund.id],
  ],
  [
    'a reversal that took back too little',
    'postings',
    `update ledger_transfers set amount = amount - 1 where transaction_id = $1 and kind = 'collection_reversal'`,
    ({ taken }) => [taken.id],
  ],
  [
    'a success without its event',
    'events',
    'delete from events where transaction_id = $1',
    ({ success }) => [success.id],
  ],
  [
    'an event of a state that the transaction never had',
    'events',
    `update events set type = 'collection.failed' where transaction_id = $1 and type = 'collection.success'`,
    ({ success }) => [success.id],
  ],
  [
    'a success after a failure that was not reported',
    'events',
    `delete from events where transaction_id = $1 and type = 'collection.expired'`,
    ({ late }) => [late.id],
  ],
  [
    'a payment link that was paid without the event',
    'events',
    `delete from events where transaction_id = $1 and type = 'payment_link.paid'`,
    ({ linked }) => [linked.id],
  ],
  [
    'an event twice',
    'events',
    `insert into events select holder_id, transaction_id, type, 2, gen_random_uuid(), position, integration_id, url, body, created_at
     from events where transaction_id = $1`,
    ({ success }) => [success.id],
  ],
  [
    'an open transaction that nothing works on',
    'jobs',
    'delete from payment_jobs where transaction_id = $1',
    ({ open }) => [open.id],
  ],
  [
    'a payout that waits for nobody',
    'jobs',
    `update payout_orders set approval = 'approved' where transaction_id = $1`,
    ({ waiting }) => [waiting.id],
  ],
  [
    'a job of a transaction that ended',
    'jobs',
    `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since) select holder_id, id, 'query', now(), now()
     from transactions where id = $1`,
    ({ success }) => [success.id],
  ],
  [
    'a refund without an order',
    'refund_orders',
    'delete from refund_orders where transaction_id = $1',
    ({ part }) => [part.id],
  ],
  [
    'a refund of a collection that was not paid',
    'refund_orders',
    `update transactions set status = 'failed' where id = $1`,
    ({ parts }) => [parts.id],
  ],
  [
    'totals that are not those of the refunds',
    'refund_totals',
    'update refund_totals set refunded = refunded - 1 where collection_id = $1',
    ({ parts }) => [parts.id],
  ],
  [
    'totals that forget what is under way',
    'refund_totals',
    'update refund_totals set under_way = 0, fee_under_way = 0 where collection_id = $1',
    ({ parts }) => [parts.id],
  ],
  [
    'a collection that was given back and is not reversed',
    'given_back',
    `update transactions set status = 'success' where id = $1`,
    ({ whole }) => [whole.id],
  ],
  [
    'a collection that is reversed and was not given back',
    'given_back',
    `update transactions set status = 'reversed' where id = $1`,
    ({ parts }) => [parts.id],
  ],
  [
    'a debt that was lent from the wrong account',
    'transfer_accounts',
    `update ledger_transfers x set debit_account = (
       select id from ledger_accounts a where a.holder_id = x.holder_id and a.kind = 'fee_income') where kind = 'debt'`,
  ],
  [
    'a transfer of a transaction that does not exist',
    'transfer_owner',
    'delete from transactions where id = $1',
    ({ success }) => [success.id],
  ],
  [
    'a transfer of a payout under a collection',
    'transfer_owner',
    `update ledger_transfers set kind = 'payout' where transaction_id = $1 and kind = 'collection'`,
    ({ success }) => [success.id],
  ],
  ['money in suspense without its case', 'transfer_owner', `delete from cases where kind = 'unknown_reference'`],
  [
    'an event of no transaction',
    'event_owner',
    'delete from transactions where id = $1',
    ({ success }) => [success.id],
  ],
  [
    'a case about more than was received',
    'case_money',
    `update cases set amount = amount + 1 where kind = 'wrong_amount'`,
  ],
  [
    'a case that was settled without moving the money',
    'case_money',
    `update cases set settled = amount, status = 'resolved' where kind = 'second_payment'`,
  ],
  [
    'a case about a transaction that does not exist',
    'case_transaction',
    `update cases set transaction_id = gen_random_uuid() where kind = 'wrong_amount'`,
  ],
  [
    'a receipt of a transaction that was not paid',
    'incoming_payments',
    `update transactions set status = 'failed' where id = $1`,
    ({ instructed }) => [instructed.id],
  ],
  [
    'a receipt of another amount',
    'incoming_payments',
    `update incoming_payments set amount = amount + 1 where transaction_id = $1 and outcome = 'matched'`,
    ({ instructed }) => [instructed.id],
  ],
  ['a receipt in suspense without its case', 'incoming_payments', `delete from cases where kind = 'unknown_reference'`],
  [
    'a receipt that another transaction has',
    'receipts',
    'update operator_receipts set transaction_id = $2 where transaction_id = $1',
    ({ instructed, success }) => [instructed.id, success.id],
  ],
  [
    'a receipt that nobody recorded',
    'receipts',
    'delete from operator_receipts where transaction_id = $1',
    ({ instructed }) => [instructed.id],
  ],
  [
    'a reserve that no open payout needs',
    'reserved',
    `update ledger_accounts set balance = balance + 1 where kind = 'wallet_reserved' and balance > 0`,
  ],
  [
    'a payout that was decided without its reserve',
    'reserved',
    `update transactions set status = 'failed' where id = $1`,
    ({ openPayout }) => [openPayout.id],
  ],
  [
    'suspense that no case explains',
    'suspense',
    `update ledger_accounts set balance = balance + 1 where kind = 'suspense' and balance > 0`,
  ],
  [
    'a debt that no case explains',
    'debts',
    `update cases set settled = amount, status = 'resolved' where kind = 'debt'`,
  ],
  [
    'a held part of another amount than was posted',
    'held_parts',
    'update held_parts set amount = amount + 1 where source_id = $1',
    ({ kept }) => [kept.id],
  ],
  [
    'held money that no part explains',
    'held',
    `update ledger_accounts set balance = balance + 1 where kind = 'wallet_held'`,
  ],
  [
    'disputed money that no dispute explains',
    'disputed',
    `update ledger_accounts set balance = balance + 1 where kind = 'wallet_disputed'`,
  ],
  [
    'a dispute that lacks another amount than the ledger says',
    'dispute_shortfall',
    'update disputes set short = short - 1 where case_id = $1',
    ({ short }) => [short.case_id],
  ],
  [
    'a dispute that ended without its posting',
    'disputes',
    `update disputes set status = 'won', ended_at = opened_at where transaction_id = $1`,
    ({ disputed }) => [disputed.id],
  ],
];

describe('money 30: ledger verify compares the ledger with everything else', () => {
  test('money 30: right books in every state give no difference', () =>
    onCopy(async (db) => {
      const run = await verify(db);
      assert.deepEqual(run.findings, []);
      assert.equal(run.status, 'done');
      for (const stage of [
        'ledger_transfers',
        'transfers',
        'transactions',
        'refund_totals',
        'events',
        'cases',
        'holders',
      ])
        assert.ok(Number(run.checked[stage]) > 0, stage);
    }));

  for (const [name, check, statement, values] of BREAKS)
    test(`money 30: ${check} finds ${name}`, () =>
      onCopy(async (db) => {
        await tamper(db, statement, values?.(past) ?? []);
        const run = await verify(db);
        assert.ok(checksOf(run).includes(check), `found: ${JSON.stringify(run.findings, null, 1)}`);
        assert.ok(run.differences > 0n);
        failed.add(check);
      }));

  test('money 30: no check that cannot fail', () => {
    assert.deepEqual([...failed].toSorted(), CROSS_CHECKS.map((check) => check.name).toSorted());
  });
});
