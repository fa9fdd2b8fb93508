import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { createTestContext } from '../../test/harness.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createUuid } from '../platform/ids.ts';
import { ensureWallets } from './accounts.ts';
import {
  type AccountRef,
  accountKey,
  feeIncome,
  mayGoNegative,
  operatorClearing,
  sandboxFunding,
  suspense,
  walletAvailable,
  walletReserved,
} from './chart.ts';
import { AlreadyPostedError, balanceAt, balancesOf, post, postEach, statement } from './ledger.ts';
import {
  collectionReversed,
  collectionSucceeded,
  payoutPosted,
  payoutReleased,
  payoutReserved,
  type Transfer,
} from './postings.ts';
import { verifyLedger } from './verify.ts';

type LedgerTestContext = Awaited<ReturnType<typeof createTestContext>>;
let ctx: LedgerTestContext;
before(async () => {
  ctx = await createTestContext();
});
after(() => ctx.close());

async function createHolder(name = 'Shop'): Promise<bigint> {
  const now = ctx.clock.now();
  const [row] = await ctx.db.query<{ id: bigint }>(
    'insert into holders (name, created_at, updated_at) values ($1, $2, $2) returning id',
    [name, now],
  );
  assert.ok(row);
  return row.id;
}

const uuid = () => createUuid(ctx.clock.millis());
const postNow = (transfers: Transfer[]) => ctx.db.transaction((tx) => post(tx, transfers, ctx.clock.now()));
const collection = (holderId: bigint, amount: bigint, fee = 0n) =>
  collectionSucceeded({ holderId, currency: 'XOF', amount, fee, rail: 'sandbox', transactionId: uuid() });

describe('posting', () => {
  test('a collection of 100 with fee 1 puts 99 into the wallet and says so at once', async () => {
    const holderId = await createHolder();
    const posted = await postNow(collection(holderId, 100_00n, 1_00n));
    assert.deepEqual(
      posted.map((each) => [each.kind, each.creditBalance]),
      [
        ['collection', 99_00n],
        ['collection_fee', 1_00n],
      ],
    );
    const [wallet, ...others] = await balancesOf(ctx.db, holderId);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [wallet?.currency, wallet?.balance, wallet?.available, wallet?.reserved],
      ['XOF', 99_00n, 99_00n, 0n],
    );
    assert.deepEqual(await balancesOf(ctx.db, holderId, { currency: 'UGX' }), []);
    assert.deepEqual(await balancesOf(ctx.db, holderId + 1n, { walletAccount: wallet?.walletAccount ?? 0 }), []);
    assert.equal((await balancesOf(ctx.db, holderId, { walletAccount: wallet?.walletAccount ?? 0 })).length, 1);
  });

  test('a wallet number is given once and never used up by asking again', async () => {
    const holderId = await createHolder();
    const ask = () =>
      ctx.db.transaction((tx) =>
        ensureWallets(
          tx,
          ['UGX', 'XOF', 'UGX'].map((currency) => ({ holderId, currency })),
          ctx.clock.now(),
        ),
      );
    const [ugx, xof, again] = await ask();
    assert.ok(ugx && xof && ugx.walletAccount >= 1001);
    assert.deepEqual(again, ugx);
    assert.deepEqual(await ask(), [ugx, xof, ugx]);
    const other = await createHolder();
    const [next] = await ctx.db.transaction((tx) =>
      ensureWallets(tx, [{ holderId: other, currency: 'XOF' }], ctx.clock.now()),
    );
    assert.equal(next?.walletAccount, Math.max(ugx.walletAccount, xof.walletAccount) + 1);
  });

  test('an overdraft is refused before anything is written, and the transaction can go on', async () => {
    const holderId = await createHolder();
    await postNow(collection(holderId, 50n));
    const payout = { holderId, currency: 'XOF', fee: 0n };
    await ctx.db.transaction(async (tx) => {
      await assert.rejects(
        post(tx, payoutReserved({ ...payout, amount: 51n, transactionId: uuid() }), ctx.clock.now()),
        (error) => error instanceof Problem && error.code === 'overdraft',
      );
      await post(tx, payoutReserved({ ...payout, amount: 50n, transactionId: uuid() }), ctx.clock.now());
    });
    assert.deepEqual(
      (await balancesOf(ctx.db, holderId)).map((each) => [each.available, each.reserved]),
      [[0n, 50n]],
    );
  });

  test('in one batch those that are covered succeed and the others are refused', async () => {
    const holderId = await createHolder();
    await postNow(collection(holderId, 100n));
    const groups = Array.from({ length: 64 }, () =>
      payoutReserved({ holderId, currency: 'XOF', amount: 9n, fee: 1n, transactionId: uuid() }),
    );
    const results = await ctx.db.transaction((tx) => postEach(tx, groups, ctx.clock.now()));
    assert.deepEqual(
      results.map((result) => result.ok),
      Array.from({ length: 64 }, (_, index) => index < 10),
    );
  });

  test('a fact that may borrow is refused, and not an error, when another account lacks the money', async () => {
    const holderId = await createHolder();
    const fact = { holderId, currency: 'XOF', rail: 'sandbox', transactionId: uuid() };
    const neverPaid = { transfers: collectionReversed({ ...fact, amount: 100n, fee: 10n }), mayBorrow: true };
    const covered = collection(holderId, 50n);
    const results = await ctx.db.transaction((tx) => postEach(tx, [neverPaid, covered], ctx.clock.now()));
    assert.deepEqual(results[0], { ok: false, refused: 'overdraft', account: feeIncome(holderId, 'XOF') });
    assert.equal(results[1]?.ok, true);
    assert.equal((await balancesOf(ctx.db, holderId))[0]?.balance, 50n, 'nothing was lent');
  });

  test('the same fact is never posted twice, not even as a late success', async () => {
    const holderId = await createHolder();
    const transfers = collection(holderId, 70n, 1n);
    await postNow(transfers);
    await assert.rejects(postNow(transfers), AlreadyPostedError);
    await assert.rejects(postNow([...collection(holderId, 1n), ...transfers.slice(1)]), AlreadyPostedError);
    const twice = collection(holderId, 1n);
    await assert.rejects(postNow([...twice, ...twice]), AlreadyPostedError);
    assert.equal((await balancesOf(ctx.db, holderId))[0]?.balance, 69n);
  });

  test('what a payout reserved is paid or released, never both', async () => {
    const holderId = await createHolder();
    await postNow(collection(holderId, 1_000n));
    const fact = { holderId, currency: 'XOF', amount: 100n, fee: 0n, rail: 'sandbox', transactionId: uuid() };
    await postNow(payoutReserved({ ...fact, transactionId: uuid() }));
    await postNow(payoutReserved(fact));
    await postNow(payoutReleased(fact));
    await assert.rejects(postNow(payoutPosted(fact)), AlreadyPostedError);
    assert.deepEqual(
      (await balancesOf(ctx.db, holderId)).map((each) => [each.available, each.reserved]),
      [[900n, 100n]],
    );
  });

  test('a posting takes three statements, however many transfers, accounts and wallets', async () => {
    const holders = await Promise.all(Array.from({ length: 20 }, () => createHolder()));
    const statements: number[] = [];
    for (const size of [1, 1, 40, 400]) {
      const transfers = Array.from({ length: size }, (_, index) =>
        collection(holders[index % 20] ?? 0n, 10n, 1n),
      ).flat();
      if (size === 40) await postNow(holders.flatMap((holder) => collection(holder, 10n, 1n)));
      const start = ctx.db.counters.statements;
      await postNow(transfers);
      statements.push(ctx.db.counters.statements - start);
    }
    // The first one makes the wallet and its accounts. On several servers one more asks what exists, and each locks for one holder.
    const many = ctx.db.isDistributed() ? 2 + 2 * holders.length : 3;
    assert.deepEqual(statements, ctx.db.isDistributed() ? [7, 4, many, many] : [7, 3, many, many]);
  });

  test('a row that is not where it was seen is found by its key', async () => {
    const [holderId, other] = [await createHolder(), await createHolder()];
    await postNow([...collection(holderId, 10n, 1n), ...collection(other, 10n, 1n)]);
    const keys = (holder: bigint) => [
      ...collection(holder, 10n, 1n).flatMap(({ debit, credit }) => [accountKey(debit), accountKey(credit)]),
      `position:${holder}`,
    ];
    const swapped = keys(holderId).map((key, index) => [key, keys(other)[index] ?? '']);
    await ctx.db.transaction(async ({ places }) => {
      for (const [key = '', otherKey = ''] of swapped)
        places?.note(key, places.find(otherKey) ?? { id: 0n, place: '(0,1)' });
      for (const [, otherKey = ''] of swapped) places?.note(otherKey, { id: 0n, place: '(4000000000,1)' });
    });
    await postNow([...collection(holderId, 20n, 1n), ...collection(other, 30n, 1n)]);
    await postNow([...collection(holderId, 20n, 1n), ...collection(other, 30n, 1n)]);
    const available = async (holder: bigint) => (await balancesOf(ctx.db, holder))[0]?.available;
    assert.deepEqual([await available(holderId), await available(other)], [47n, 67n]);
    const positions = await ctx.db.query<{ position: bigint }>(
      'select position from ledger_transfers where holder_id = any ($1) order by holder_id, position',
      [[holderId, other]],
    );
    assert.deepEqual(
      positions.map(({ position }) => position),
      [1n, 2n, 3n, 4n, 5n, 6n, 1n, 2n, 3n, 4n, 5n, 6n],
    );
  });

  test('time never runs backwards for an account, even when the clock does', async () => {
    const holderId = await createHolder();
    await postNow(collection(holderId, 10n));
    const earlier = new Date(ctx.clock.millis() - 3_600_000);
    const [late] = await ctx.db.transaction((tx) => post(tx, collection(holderId, 5n), earlier));
    assert.deepEqual(late?.postedAt, ctx.clock.now());
  });
});

/** A holder with a clearing account, other than the one of the first wallet. */
const OTHER_HOLDER = `(select max(holder_id) from ledger_accounts where kind = 'operator_clearing')`;
const BARE_TRANSFER = `insert into ledger_transfers
    (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, posted_at, transaction_id, kind, currency)
  values (1, 1, 2, 7, 0, 0, now(), gen_random_uuid(), 'collection', 'XOF')`;

describe('the database itself refuses', () => {
  const REFUSED: [string, string, RegExp][] = [
    ['changing a transfer', 'update ledger_transfers set amount = amount + 1', /append-only/],
    ['removing a transfer', 'delete from ledger_transfers', /append-only/],
    ['emptying the transfers', 'truncate ledger_transfers', /append-only/],
    ['editing a balance', 'update ledger_accounts set balance = balance + 1', /only by transfers/],
    ['removing an account', 'delete from ledger_accounts', /only by transfers/],
    ['changing a block', `update ledger_blocks set hash = ''`, /append-only/],
    ['an amount of zero', insertion({ amount: '0' }), /transfer_amount_positive/],
    ['a transfer to itself', insertion({ credit: 'f.id' }), /transfer_between_two/],
    ['a transfer in another currency', insertion({ currency: `'UGX'` }), /does not fit its accounts/],
    ['a transfer that states a wrong balance', insertion({ balance: 'w.balance + 8' }), /does not fit its accounts/],
    ['a transfer to an account that is not there', insertion({ credit: '-1' }), /does not fit its accounts/],
    ['a transfer between two holders', insertion({ holder: OTHER_HOLDER }), /does not fit its accounts/],
    ['a transfer that moves no balance', BARE_TRANSFER, /only by post_transfers/],
    ['an overdraft', insertion({ amount: '-7', check: 'overdraft' }), /account_not_overdrawn/],
  ];

  type Wrong = {
    amount?: string;
    credit?: string;
    currency?: string;
    balance?: string;
    check?: string;
    holder?: string;
  };

  /** Moves 7 from clearing to the first wallet by hand: `wrong` is what is written instead of what would be right. */
  function insertion(wrong: Wrong): string {
    const [debit, credit] = wrong.check ? ['w', 'f'] : ['f', 'w'];
    const amount = wrong.check ? `(w.balance + 7)` : (wrong.amount ?? '7');
    // The accounts are read first: on several servers a function beside a table would run where the table's rows are.
    return `do $do$
      declare
        w ledger_accounts;
        f ledger_accounts;
      begin
        select * into w from ledger_accounts where kind = 'wallet_available' and currency = 'XOF' order by id limit 1;
        select * into f from ledger_accounts
        where holder_id = ${wrong.holder ?? 'w.holder_id'} and key = 'clearing:' || ${wrong.holder ?? 'w.holder_id'} || ':sandbox:XOF';
        perform post_transfers(array[w.holder_id], array[${debit}.id], array[${wrong.credit ?? `${credit}.id`}]::bigint[],
          array[${amount}]::bigint[], array[${debit}.balance - ${amount}], array[${wrong.balance ?? `${credit}.balance + ${amount}`}],
          array[gen_random_uuid()], array['collection']::transfer_kind[], array[${wrong.currency ?? `'XOF'`}],
          greatest(f.updated_at, w.updated_at));
      end $do$`;
  }

  test('nothing of that is refused without a reason', async () => {
    await postNow(collection(await createHolder(), 100n, 1n));
    const undo = new Error('undo');
    await assert.rejects(
      ctx.db.transaction(async (tx: Tx) => {
        await tx.query(insertion({}));
        throw undo;
      }),
      undo,
    );
  });

  for (const [what, sql, message] of REFUSED)
    test(what, async () =>
      assert.rejects(
        ctx.ownerDb.transaction((tx) => tx.query(sql)),
        message,
      ),
    );
});

describe('history', () => {
  test('a statement is the account newest first, in pages, each line with the balance after it', async () => {
    const holderId = await createHolder();
    for (let index = 1; index <= 25; index++) {
      await postNow([...collection(holderId, BigInt(index)), ...collection(holderId, 100n)]);
      if (index % 3 === 0) ctx.clock.advance(1_000);
    }
    const account = walletAvailable(holderId, 'XOF');
    const lines = [];
    for (let before: bigint | undefined; ; before = lines.at(-1)?.transferId) {
      const page = await statement(ctx.db, account, { limit: 7, ...(before === undefined ? {} : { before }) });
      if (page.length === 0) break;
      lines.push(...page);
    }
    assert.equal(lines.length, 50);
    let balance = 0n;
    for (const line of lines.toReversed()) {
      balance += line.change;
      assert.equal(line.balance, balance);
    }
    assert.equal(balance, 2_825n);
  });
});

// A ledger of a few lines to hold the real one against.
const HOLDERS = 3;
/** Of each holder in each currency. */
const ACCOUNTS = 6;
const CURRENCIES = ['XOF', 'UGX'];
/** `again`: under the transaction and kind of a transfer that was posted before. */
type Step = { who: number; from: number; to: number; currency: number; amount: bigint; again: boolean };
/** `atomic`: all groups as one posting, all or nothing. */
type Batch = { groups: Step[][]; wait: number; atomic: boolean };

describe('against a model', () => {
  test('random batches with overdrafts and repetitions leave the same balances, now and at any past moment', async () => {
    const step = fc.record({
      who: fc.nat(HOLDERS - 1),
      from: fc.nat(ACCOUNTS - 1),
      to: fc.nat(ACCOUNTS - 1),
      currency: fc.nat(1),
      amount: fc.bigInt(1n, 500n),
      again: fc.integer({ min: 0, max: 19 }).map((dice) => dice === 0),
    });
    const batch = fc.record({
      groups: fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 }),
      wait: fc.constantFrom(0, 1, 60_000),
      atomic: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 12 }), async (batches) => {
        const holders = await Promise.all(Array.from({ length: HOLDERS }, () => createHolder()));
        await runAgainstModel(holders, batches);
      }),
      { numRuns: 25 },
    );
    const verification = await verifyLedger(ctx);
    assert.deepEqual(verification.differences, []);
    const sums = await ctx.db.query('select currency from ledger_accounts group by currency having sum(balance) <> 0');
    assert.deepEqual(sums, []);
  });
});

async function runAgainstModel(holders: bigint[], batches: Batch[]): Promise<void> {
  const account = (holder: bigint, index: number, currency: string): AccountRef =>
    [
      walletAvailable(holder, currency),
      walletReserved(holder, currency),
      operatorClearing(holder, 'sandbox', currency),
      feeIncome(holder, currency),
      suspense(holder, currency),
    ][index] ?? sandboxFunding(holder, currency);
  const model = new Map<string, { ref: AccountRef; balance: bigint }>();
  for (const currency of CURRENCIES)
    for (const holder of holders)
      for (let index = 0; index < ACCOUNTS; index++) {
        const ref = account(holder, index, currency);
        model.set(accountKey(ref), { ref, balance: 0n });
      }
  const history: { moment: Date; balances: Map<string, bigint> }[] = [];
  const used: Transfer[] = [];
  for (const { groups, wait, atomic } of batches) {
    ctx.clock.advance(wait);
    let repeats = false;
    const transfers = groups.map((group) =>
      group.map((each): Transfer => {
        const currency = CURRENCIES[each.currency] ?? 'XOF';
        const holderId = holders[each.who] ?? 0n;
        const to = each.to === each.from ? (each.to + 1) % ACCOUNTS : each.to;
        const old = each.again ? used[0] : undefined;
        repeats ||= old !== undefined;
        return {
          kind: old?.kind ?? 'suspense',
          holderId: old?.holderId ?? holderId,
          transactionId: old?.transactionId ?? uuid(),
          debit: account(old?.holderId ?? holderId, each.from, currency),
          credit: account(old?.holderId ?? holderId, to, currency),
          amount: each.amount,
          currency,
        };
      }),
    );
    const expected = applyToModel(model, atomic ? [transfers.flat()] : transfers);
    const posting = ctx.db.transaction(async (tx) =>
      atomic ? [await post(tx, transfers.flat(), ctx.clock.now())] : await postEach(tx, transfers, ctx.clock.now()),
    );
    if (repeats && expected.touchesRepeat(used)) {
      await assert.rejects(
        posting,
        (error) => error instanceof AlreadyPostedError || (atomic && error instanceof Problem),
      );
      continue;
    }
    if (atomic && expected.accepted.length === 0) await assert.rejects(posting, Problem);
    else await posting;
    for (const [key, balance] of expected.balances) {
      const entry = model.get(key);
      if (entry) entry.balance = balance;
    }
    used.push(...expected.accepted);
    history.push({
      moment: ctx.clock.now(),
      balances: new Map([...model].map(([key, { balance }]) => [key, balance])),
    });
  }
  for (const { ref, balance } of model.values())
    assert.equal(await balanceAt(ctx.db, ref, ctx.clock.now()), balance, accountKey(ref));
  for (const holder of holders)
    for (const wallet of await balancesOf(ctx.db, holder)) {
      const side = (ref: AccountRef) => model.get(accountKey(ref))?.balance;
      assert.equal(wallet.available, side(walletAvailable(holder, wallet.currency)));
      assert.equal(wallet.reserved, side(walletReserved(holder, wallet.currency)));
    }
  // Several batches may share a moment: the last of them is what the moment ends with.
  const moments = new Map(history.map((entry) => [entry.moment.getTime(), entry]));
  for (const { moment, balances } of moments.values())
    for (const { ref } of model.values())
      assert.equal(
        await balanceAt(ctx.db, ref, moment),
        balances.get(accountKey(ref)),
        `${accountKey(ref)} at ${moment.toISOString()}`,
      );
}

function applyToModel(model: Map<string, { ref: AccountRef; balance: bigint }>, groups: Transfer[][]) {
  const balances = new Map([...model].map(([key, { balance }]) => [key, balance]));
  const accepted: Transfer[] = [];
  for (const group of groups) {
    const draft = new Map(balances);
    const covered = group.every((transfer) => {
      const debit = accountKey(transfer.debit);
      const credit = accountKey(transfer.credit);
      draft.set(debit, (draft.get(debit) ?? 0n) - transfer.amount);
      draft.set(credit, (draft.get(credit) ?? 0n) + transfer.amount);
      return (draft.get(debit) ?? 0n) >= 0n || mayGoNegative(transfer.debit);
    });
    if (!covered) continue;
    for (const [key, balance] of draft) balances.set(key, balance);
    accepted.push(...group);
  }
  const once = (transfer: Transfer) => `${transfer.transactionId} ${transfer.kind}`;
  return {
    balances,
    accepted,
    /** True when the database would see a transfer a second time, or the same one twice in the posting. */
    touchesRepeat(used: Transfer[]): boolean {
      const seen = new Set(used.map(once));
      const all = groups.flat();
      return new Set(all.map(once)).size < all.length || accepted.some((transfer) => seen.has(once(transfer)));
    },
  };
}
