// Files of payouts: all rows or none, the same rows once, approved and cancelled as a whole; and what a person must confirm.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setPayoutApproval } from '../src/holders/approval-rules.ts';
import { type Actor, COMMAND_LINE } from '../src/holders/audit.ts';
import { addMember } from '../src/holders/members.ts';
import { balancesOf } from '../src/ledger/ledger.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { createPaymentEngine, type PaymentEngine } from '../src/payments/engine.ts';
import { approvePayout, cancelPayout } from '../src/payments/order-decisions.ts';
import { approvePayoutFile, cancelPayoutFile } from '../src/payments/payout-file-decisions.ts';
import {
  MAX_PAYOUT_FILE_BYTES,
  MAX_PAYOUT_FILE_ROWS,
  problemOf,
  readPayoutFile,
} from '../src/payments/payout-file-reader.ts';
import {
  type OrderedFile,
  orderPayoutFile,
  payoutFileIdOf,
  RepeatedFileError,
  ShortWalletError,
} from '../src/payments/payout-files.ts';
import {
  countWaitingApprovals,
  findPayoutFile,
  listFilePayouts,
  listWaitingFiles,
} from '../src/payments/payout-orders.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts, type PayoutFileRow } from '../src/payments/payouts.ts';
import { requeryAfterRestore } from '../src/payments/requery-after-restore.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { ALL_REPEATS, findSimilarPayouts, RepeatedPayoutsError, repeatsKey } from '../src/payments/similar-payouts.ts';
import { refOf } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { Problem } from '../src/platform/errors.ts';
import { migrate } from '../src/platform/migrate.ts';
import { createEmptyDatabase } from './database.ts';
import { createTestContext } from './harness.ts';
import { SUCCEEDED, statusOf } from './inspect.ts';
import { CURRENCY, silentRail, withPayments } from './payments.ts';
import { createShop, type Shop } from './shop.ts';

/** What one payout of 1,000 takes from the wallet, fee included. */
const TAKES = 101_000n;
const CONFIRMED = { confirmedRepeats: ALL_REPEATS };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let sent: string[];

before(async () => {
  base = await createTestContext({ DATABASE_POOL_SIZE: '16' });
});
after(async () => {
  const { differences } = await verifyLedger(base);
  await base.close();
  assert.deepEqual(differences, []);
});

// What a test has woken must not go on in the next one.
afterEach(() => engine.idle());

beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  sent = [];
  const rail = silentRail({
    async payout({ reference }) {
      sent.push(reference);
      return { observation: SUCCEEDED, raw: '' };
    },
    query: async () => ({ observation: SUCCEEDED, raw: '' }),
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});

async function topUp(payouts: bigint): Promise<void> {
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, payouts * TAKES);
}

/** A file with one row of 1,000 for each number; other columns as given. */
async function readRows(csv: string): Promise<PayoutFileRow[]> {
  const file = await readPayoutFile(ctx, shop.holderId, csv);
  assert.ok(file.ok);
  return file.rows.map((row) => {
    assert.ok(row.reading.ok, problemOf(row));
    return { line: row.line, order: row.reading.order };
  });
}

function csvOf(count: number, detail = ''): string {
  const rows = Array.from({ length: count }, (_, index) => `1000,UGX,25677212${String(1000 + index)},${detail}`);
  return ['amount,currency,mobile,detail', ...rows].join('\n');
}

async function orderFile(csv: string, name = 'wages.csv', actor: Actor = COMMAND_LINE): Promise<OrderedFile> {
  return orderPayoutFile(ctx, engine, actor, shop.holderId, { name, rows: await readRows(csv) });
}

async function wallet(): Promise<{ available: bigint; reserved: bigint }> {
  const [found] = await balancesOf(ctx.db, shop.holderId);
  return { available: found?.available ?? 0n, reserved: found?.reserved ?? 0n };
}

async function countRows(): Promise<[files: bigint, orders: bigint, transactions: bigint]> {
  const [row] = await ctx.db.query<{ files: bigint; orders: bigint; transactions: bigint }>(
    `select (select count(*) from payout_batches where holder_id = $1) as files,
            (select count(*) from payout_orders where holder_id = $1) as orders,
            (select count(*) from transactions where holder_id = $1 and direction = 'payout') as transactions`,
    [shop.holderId],
  );
  return [row?.files ?? 0n, row?.orders ?? 0n, row?.transactions ?? 0n];
}

async function settle(): Promise<void> {
  for (let claimed = 1; claimed > 0; await engine.idle()) claimed = await engine.pass();
}

const refused = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

describe('once', () => {
  test('money 4: the same rows under another name are refused, and nothing is paid twice', async () => {
    await topUp(10n);
    const first = await orderFile(csvOf(2), 'pay.csv');
    base.clock.advance(60_000);
    const other = csvOf(2).replaceAll('1000,UGX', '1000.00,ugx');
    await assert.rejects(orderFile(other, 'pay (1).csv'), (error) => {
      assert.ok(error instanceof RepeatedFileError);
      assert.deepEqual(
        [error.earlier.name, error.earlier.createdBy, error.earlier.ref],
        ['pay.csv', 'command line', first.ref],
      );
      assert.match(error.message, /by command line as "pay\.csv".*invoice_no or detail/);
      return true;
    });
    await settle();
    assert.equal(sent.length, 2);
    assert.deepEqual(await countRows(), [1n, 2n, 2n]);
    const again = await readRows(csvOf(2, 'once more'));
    await orderPayoutFile(ctx, engine, COMMAND_LINE, shop.holderId, { name: 'pay.csv', rows: again }, CONFIRMED);
    await settle();
    assert.equal(sent.length, 4);
  });

  test('review: the same rows in another order, or written in another way, are the same file', async () => {
    await topUp(10n);
    const [row] = await readRows(csvOf(1));
    const method = row?.order.method.code;
    await orderFile('amount,currency,mobile,payee\n1500,UGX,256772121000,Zo\u00e9\n1600,UGX,256772121001,\n');
    for (const other of [
      'amount,currency,mobile,payee\n1600,UGX,256772121001,\n1500,UGX,256772121000,Zo\u00e9\n',
      'amount;currency;mobile;payee\n1 500;ugx;0772121000;Zoe\u0301\n1600,00;UGX;+256 772 121 001;\n',
      `mobile,amount,currency,method,payee\n00256772121000,1500.00,UGX,${method},Zo\u00e9\n772121001,UGX 1600,UGX,,\n`,
    ])
      await assert.rejects(orderFile(other), RepeatedFileError);
    assert.deepEqual(await countRows(), [1n, 2n, 2n]);
  });

  test('money 4: of eight terminals with one file, one orders it', async () => {
    await topUp(30n);
    const rows = await readRows(csvOf(3));
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        orderPayoutFile(ctx, engine, COMMAND_LINE, shop.holderId, { name: `terminal ${index}`, rows }, CONFIRMED),
      ),
    );
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
    for (const result of results)
      if (result.status === 'rejected') assert.ok(result.reason instanceof RepeatedFileError, String(result.reason));
    assert.deepEqual(await countRows(), [1n, 3n, 3n]);
  });

  test('money 4: a file that the wallet does not cover leaves nothing behind, and is ordered after a top-up', async () => {
    await topUp(1n);
    await assert.rejects(orderFile(csvOf(3)), (error) => {
      assert.ok(error instanceof ShortWalletError);
      const shortage = { currency: CURRENCY, needed: 3n * TAKES, available: TAKES, missing: 2n * TAKES };
      assert.deepEqual(error.shortages, [shortage]);
      assert.match(error.message, /UGX 3030 is needed, 1010 is available, 2020 is missing/);
      return true;
    });
    assert.deepEqual(await countRows(), [0n, 0n, 0n]);
    assert.deepEqual(await wallet(), { available: TAKES, reserved: 0n });
    await topUp(2n);
    const ordered = await orderFile(csvOf(3));
    assert.equal(ordered.transactions.length, 3);
    await settle();
    assert.equal(sent.length, 3);
    assert.deepEqual(await wallet(), { available: 0n, reserved: 0n });
  });

  test('money 3B: a file that breaks off has ordered nothing, and the same file completes it', async () => {
    await topUp(1_200n);
    const rows = await readRows(csvOf(1_200));
    let statements = 0;
    const dying = {
      ...ctx,
      db: {
        ...ctx.db,
        transaction: ((work) =>
          ctx.db.transaction((tx) =>
            work({
              ...tx,
              query: (...given: Parameters<typeof tx.query>) => {
                if (JSON.stringify(given[0]).includes('insert into payout_orders') && ++statements === 3)
                  throw new Problem('database_unavailable');
                return tx.query(...given);
              },
            } as typeof tx),
          )) as typeof ctx.db.transaction,
      },
    };
    const file = { name: 'wages.csv', rows };
    await assert.rejects(
      orderPayoutFile(dying, engine, COMMAND_LINE, shop.holderId, file),
      refused('database_unavailable'),
    );
    assert.equal(statements, 3);
    assert.deepEqual(await countRows(), [0n, 0n, 0n]);
    assert.deepEqual(await wallet(), { available: 1_200n * TAKES, reserved: 0n });
    const ordered = await orderPayoutFile(ctx, engine, COMMAND_LINE, shop.holderId, file);
    assert.equal(ordered.transactions.length, 1_200);
    await settle();
    assert.equal(new Set(sent).size, 1_200);
    assert.equal(sent.length, 1_200);
  });

  test('money 3B: an engine that finds no connection after the commit does not make an error of an ordered file', async () => {
    await topUp(2n);
    const blind = createPaymentEngine({
      ...ctx,
      db: { ...ctx.db, query: () => Promise.reject(new Problem('database_unavailable')) },
    });
    const rows = await readRows(csvOf(2));
    const file = { name: 'wages.csv', rows };
    const ordered = await orderPayoutFile(ctx, blind, COMMAND_LINE, shop.holderId, file);
    assert.equal(ordered.transactions.length, 2);
    await blind.idle();
    await settle();
    assert.equal(sent.length, 2);
  });

  test('money 4: the limits of a file are the same for everybody, and every bad row is named with its line', async () => {
    const many = await readPayoutFile(ctx, shop.holderId, csvOf(MAX_PAYOUT_FILE_ROWS + 1));
    assert.deepEqual(many, { ok: false, reason: 'unreadable' });
    const large = await readPayoutFile(ctx, shop.holderId, `${csvOf(1)}\n${' '.repeat(MAX_PAYOUT_FILE_BYTES)}`);
    assert.deepEqual(large, { ok: false, reason: 'too_large' });
    const wrong = await readPayoutFile(
      ctx,
      shop.holderId,
      'amount,currency,mobile\n-5,UGX,256772123456\n1000,UGX,256772123456\n1000,ABC,12',
    );
    assert.ok(wrong.ok);
    const problems = wrong.rows.flatMap((row) => (row.reading.ok ? [] : [[row.line, problemOf(row).split(':')[0]]]));
    assert.deepEqual(problems, [
      [2, 'amount'],
      [4, 'currency'],
    ]);
    const [row] = await readRows(csvOf(1));
    assert.ok(row);
    const rows = Array.from({ length: MAX_PAYOUT_FILE_ROWS + 1 }, () => row);
    for (const given of [rows, []])
      await assert.rejects(
        orderPayoutFile(ctx, engine, COMMAND_LINE, shop.holderId, { name: 'x', rows: given }),
        refused('invalid_params'),
      );
  });

  test('money 4: a file of the largest size is ordered, approved and cancelled in one transaction each', async () => {
    await topUp(BigInt(MAX_PAYOUT_FILE_ROWS));
    const [ama, kofi] = await members();
    const ordered = await orderFile(csvOf(MAX_PAYOUT_FILE_ROWS), 'all.csv', ama);
    assert.equal(await approvePayoutFile(ctx, { wake: () => undefined }, kofi, shop.holderId, ordered.ref), 5_000);
    assert.deepEqual(await cancelPayoutFile(ctx, kofi, shop.holderId, ordered.ref), { cancelled: 5_000, sent: 0 });
    assert.deepEqual(await wallet(), { available: BigInt(MAX_PAYOUT_FILE_ROWS) * TAKES, reserved: 0n });
  });
});

describe('repetitions', () => {
  test('money 4: the same number and amount within seven days must be confirmed, after them not', async () => {
    await topUp(20n);
    const reading = await readPayout(ctx, shop.holderId, {
      amount: '1000',
      currency: CURRENCY,
      mobile: '256772121000',
    });
    assert.ok(reading.ok);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    await settle();
    base.clock.advance(6 * DAY_MS);
    await assert.rejects(orderFile(csvOf(2)), (error) => {
      assert.ok(error instanceof RepeatedPayoutsError);
      assert.deepEqual(
        error.similar.map(({ index, earlier }) => [index, earlier?.ref]),
        [[0, sent[0]]],
      );
      return true;
    });
    assert.deepEqual(await countRows(), [0n, 1n, 1n]);
    base.clock.advance(DAY_MS + 1);
    await orderFile(csvOf(2));
    await settle();
    assert.equal(sent.length, 3);
  });

  test('money 4: a number that is twice in one file must be confirmed', async () => {
    await topUp(20n);
    const csv = `${csvOf(2)}\n1000,UGX,0772 121 000,second`;
    await assert.rejects(orderFile(csv), (error) => {
      assert.ok(error instanceof RepeatedPayoutsError);
      assert.deepEqual(
        error.similar.map(({ index, earlier, sameAs }) => [index, earlier, sameAs]),
        [[2, null, 0]],
      );
      return true;
    });
    const file = { name: 'twice', rows: await readRows(csv) };
    await orderPayoutFile(ctx, engine, COMMAND_LINE, shop.holderId, file, CONFIRMED);
    await settle();
    assert.equal(sent.length, 3);
  });

  test('review: of two files at the same moment that pay one number the same, one must be confirmed', async () => {
    await topUp(20n);
    const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((detail) => orderFile(csvOf(2, detail))));
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.deepEqual(
      reasons.map((reason) => reason instanceof RepeatedPayoutsError),
      [true, true, true],
      String(reasons),
    );
  });

  test('review: only the repetitions that a person has seen are confirmed', async () => {
    await topUp(20n);
    await orderFile(csvOf(1));
    const rows = await readRows(csvOf(2, 'second'));
    const seen = await findSimilarPayouts(
      ctx,
      ctx.db,
      shop.holderId,
      rows.map(({ order }) => order),
    );
    const file = { name: 'second', rows };
    const confirmed = { confirmedRepeats: repeatsKey(seen) };
    const [, other] = await readRows(csvOf(2, 'meanwhile'));
    assert.ok(other);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [other.order]);
    await assert.rejects(
      orderPayoutFile(ctx, engine, COMMAND_LINE, shop.holderId, file, confirmed),
      (error) => error instanceof RepeatedPayoutsError && error.similar.length === 2,
    );
    assert.deepEqual(await countRows(), [1n, 2n, 2n]);
  });

  test('what failed, and what another holder paid, is not a repetition', async () => {
    await topUp(20n);
    const ordered = await orderPayoutFile(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, {
      name: 'first',
      rows: await readRows(csvOf(2)),
    });
    const orders = (await readRows(csvOf(2))).map(({ order }) => order);
    assert.equal((await findSimilarPayouts(ctx, ctx.db, shop.holderId, orders)).length, 2);
    await cancelPayoutFile(ctx, COMMAND_LINE, shop.holderId, ordered.ref);
    assert.deepEqual(await findSimilarPayouts(ctx, ctx.db, shop.holderId, orders), []);
    const other = await createShop(ctx);
    assert.deepEqual(await findSimilarPayouts(ctx, ctx.db, other.holderId, orders), []);
  });
});

async function members(): Promise<[Actor, Actor]> {
  const people: Actor[] = [];
  for (const name of ['Ama', 'Kofi']) {
    const email = `${name.toLowerCase()}.${shop.holderId}@example.org`;
    const member = await addMember(ctx, COMMAND_LINE, { email, name, holderId: shop.holderId, role: 'owner' });
    people.push({ memberId: member.id, name });
  }
  await setPayoutApproval(ctx, COMMAND_LINE, shop.holderId, true);
  return people as [Actor, Actor];
}

describe('as a whole', () => {
  test('money 4: a file is approved by one decision of another person, and its rows not one by one', async () => {
    await topUp(5n);
    const [ama, kofi] = await members();
    const { ref, transactions, waitsForApproval } = await orderFile(csvOf(3), 'wages.csv', ama);
    assert.ok(waitsForApproval);
    assert.equal(await countWaitingApprovals(ctx.db, shop.holderId), 1);
    const [waiting] = await listWaitingFiles(ctx.db, shop.holderId);
    const total = { payouts: 3, amount: 300_000n, fee: 3_000n };
    assert.deepEqual([waiting?.payouts, waiting?.totals], [3, [[CURRENCY, total]]]);
    const [one] = transactions;
    assert.ok(one);
    await assert.rejects(approvePayout(ctx, engine, kofi, shop.holderId, refOf(one)), refused('forbidden'));
    await assert.rejects(cancelPayout(ctx, kofi, shop.holderId, refOf(one)), refused('forbidden'));
    await assert.rejects(approvePayoutFile(ctx, engine, ama, shop.holderId, ref), refused('forbidden'));
    const stranger = await createShop(ctx);
    await assert.rejects(approvePayoutFile(ctx, engine, kofi, stranger.holderId, ref), refused('not_found'));
    await settle();
    assert.equal(sent.length, 0);
    const results = await Promise.allSettled(
      Array.from({ length: 6 }, () => approvePayoutFile(ctx, engine, kofi, shop.holderId, ref)),
    );
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
    await settle();
    assert.equal(sent.length, 3);
    const file = await findPayoutFile(ctx.db, shop.holderId, payoutFileIdOf(ref) ?? '');
    assert.deepEqual([file?.approval, file?.approved_by, file?.states], ['approved', 'Kofi', { success: 3 }]);
    const lines = await listFilePayouts(ctx.db, shop.holderId, payoutFileIdOf(ref) ?? '', { after: 2, limit: 10 });
    assert.deepEqual(
      lines.map((row) => [row.line, row.id]),
      transactions.slice(1).map((row, index) => [index + 3, row.id]),
    );
    assert.deepEqual(await listWaitingFiles(ctx.db, shop.holderId), []);
  });

  test('the database itself refuses the person who ordered the file', async () => {
    await topUp(5n);
    const [ama] = await members();
    const { ref } = await orderFile(csvOf(1), 'wages.csv', ama);
    await assert.rejects(
      ctx.db.query(
        `update payout_batches set approval = 'approved', approved_by = 'x', approved_by_member = created_by_member,
           approved_at = created_at where id = $1`,
        [payoutFileIdOf(ref)],
      ),
      /payout_file_approved_by_another/,
    );
  });

  test('money 4: a file is cancelled as a whole while nothing was sent; its rows can then be ordered again', async () => {
    await topUp(3n);
    const [ama, kofi] = await members();
    const { ref, transactions } = await orderFile(csvOf(3), 'wages.csv', ama);
    assert.deepEqual(await cancelPayoutFile(ctx, ama, shop.holderId, ref), { cancelled: 3, sent: 0 });
    assert.deepEqual(await wallet(), { available: 3n * TAKES, reserved: 0n });
    for (const transaction of transactions) assert.equal(await statusOf(ctx.db, transaction), 'failed');
    await assert.rejects(approvePayoutFile(ctx, engine, kofi, shop.holderId, ref), refused('not_found'));
    await assert.rejects(cancelPayoutFile(ctx, ama, shop.holderId, ref), refused('not_found'));
    const again = await orderFile(csvOf(3), 'wages.csv', ama);
    await approvePayoutFile(ctx, engine, kofi, shop.holderId, again.ref);
    await settle();
    assert.equal(sent.length, 3);
    await assert.rejects(cancelPayoutFile(ctx, ama, shop.holderId, again.ref), refused('forbidden'));
    assert.equal((await findPayoutFile(ctx.db, shop.holderId, payoutFileIdOf(again.ref) ?? ''))?.cancelled_at, null);
  });

  test('money 6: a file that was restored is decided after the operator was asked about each of its payouts', async () => {
    await topUp(2n);
    const [ama, kofi] = await members();
    const { ref } = await orderFile(csvOf(2), 'wages.csv', ama);
    await ctx.db.transaction((tx) => requeryAfterRestore(tx, ctx.clock.now()));
    const first = refused('operator_asked_first');
    await assert.rejects(approvePayoutFile(ctx, engine, kofi, shop.holderId, ref), first);
    await assert.rejects(cancelPayoutFile(ctx, ama, shop.holderId, ref), first);
  });

  test('money 6: a restored file of which something was paid is stopped, and the same rows are still refused', async () => {
    await topUp(6n);
    const [ama] = await members();
    const { ref, transactions } = await orderFile(csvOf(3), 'wages.csv', ama);
    const [paid] = transactions;
    await engine.apply({ transactionId: paid?.id ?? '', source: 'poll', observation: SUCCEEDED, raw: '' });
    assert.deepEqual(await cancelPayoutFile(ctx, ama, shop.holderId, ref), { cancelled: 2, sent: 1 });
    assert.deepEqual(await listWaitingFiles(ctx.db, shop.holderId), []);
    await assert.rejects(orderFile(csvOf(3), 'wages.csv', ama), RepeatedFileError);
  });

  test('review: a file that is being sent can be stopped; what was sent stays, and the same rows are still refused', async () => {
    await topUp(6n);
    const { ref, transactions } = await orderPayoutFile(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, {
      name: 'wages.csv',
      rows: await readRows(csvOf(3)),
    });
    // A process has claimed the first and is about to send it.
    const [first] = transactions;
    assert.ok(first);
    await ctx.db.query(`update payment_jobs set kind = 'query' where transaction_id = $1`, [first.id]);
    const twice = await Promise.allSettled([1, 2].map(() => cancelPayoutFile(ctx, COMMAND_LINE, shop.holderId, ref)));
    assert.deepEqual(
      twice.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
      [{ cancelled: 2, sent: 1 }],
    );
    await settle();
    const states = await Promise.all(transactions.map((transaction) => statusOf(ctx.db, transaction)));
    assert.deepEqual([states, sent], [['success', 'failed', 'failed'], []]);
    assert.deepEqual(await wallet(), { available: 5n * TAKES, reserved: 0n });
    await assert.rejects(orderFile(csvOf(3)), RepeatedFileError);
  });
});

describe('files of before', () => {
  test('the migration counts what they ordered, numbers their rows and keeps a waiting one waiting', async () => {
    const database = await createEmptyDatabase();
    await migrate(database.url, undefined, undefined, 11);
    const db = connectDatabase({ url: database.url, as: 'owner' });
    try {
      await db.query(`
        insert into payout_batches (holder_id, id, name, created_by, created_at)
        select 1, uuid_of, name, 'ada', now() from (values
          ('00000000-0000-7000-8000-00000000000a'::uuid, 'waits'), ('00000000-0000-7000-8000-00000000000b', 'done'),
          ('00000000-0000-7000-8000-00000000000c', 'empty')) as files (uuid_of, name);
        insert into payout_orders (holder_id, transaction_id, batch_id, approval, created_by, created_by_member, approved_by, approved_at)
        select 1, ('00000000-0000-7000-8000-0000000000' || number)::uuid, ('00000000-0000-7000-8000-00000000000' || file)::uuid,
          approval, 'ada', 7, approver, case when approver is not null then now() end
        from (values ('a', 11, 'waiting', null), ('a', 12, 'approved', 'bola'), ('b', 13, 'approved', 'bola')) as orders
          (file, number, approval, approver);
        insert into transactions (holder_id, id, direction, status, amount, fee, currency, country_id, method, rail, verification,
          created_at, updated_at)
        select 1, transaction_id, 'payout', 'pending', 100000, 1000, 'UGX', 11, 'M', 'r', 'none', now(), now() from payout_orders`);
      await migrate(database.url);
      const files = await db.query(
        'select name, payouts, totals, approval, approved_by, created_by_member, rows_hash from payout_batches order by id',
      );
      const total = (payouts: number) => ({
        UGX: { payouts, amount: String(100_000 * payouts), fee: String(1_000 * payouts) },
      });
      const before = { created_by_member: 7n, rows_hash: null };
      assert.deepEqual(files, [
        { name: 'waits', payouts: 2, totals: total(2), approval: 'waiting', approved_by: null, ...before },
        { name: 'done', payouts: 1, totals: total(1), approval: 'approved', approved_by: 'bola', ...before },
        {
          name: 'empty',
          payouts: 0,
          totals: {},
          approval: 'not_needed',
          approved_by: null,
          ...before,
          created_by_member: null,
        },
      ]);
      const lines = await db.query('select line from payout_orders order by batch_id, line');
      assert.deepEqual(lines, [{ line: 1 }, { line: 2 }, { line: 1 }]);
    } finally {
      await db.close();
      await database.drop();
    }
  });
});
