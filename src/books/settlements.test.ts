// Settlement: between operators and our bank, and from wallets to banks and phones. The books add up after any of it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addStatement, CONNECTION } from '../../test/book-lines.ts';
import { type Books, differencesOf, openBooks, paid } from '../../test/books.ts';
import { addTwoPeople, type TwoPeople } from '../../test/decisions.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { CURRENCY, silentRail, withPayments } from '../../test/payments.ts';
import { createShop } from '../../test/shop.ts';
import { createRandom } from '../../test/simulation/random.ts';
import { finishRestore } from '../commands/finish-restore.ts';
import { setPayoutApproval } from '../holders/approval-rules.ts';
import { type Actor, COMMAND_LINE } from '../holders/audit.ts';
import { addMember } from '../holders/members.ts';
import { bankPlace, operatorFees, settlementPayable, walletAvailable } from '../ledger/chart.ts';
import { clearingAt } from '../ledger/clearing.ts';
import { balanceAt, balancesOf } from '../ledger/ledger.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { listDebts } from '../payments/debts.ts';
import { listDisputes, openDispute } from '../payments/disputes.ts';
import { setHolderStatus } from '../payments/holder-status.ts';
import { approvePayout } from '../payments/order-decisions.ts';
import { setReserveRule } from '../payments/rolling-reserve.ts';
import { findTransaction, refOf } from '../payments/transactions.ts';
import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import { Problem } from '../platform/errors.ts';
import { NO_HOLDER } from '../platform/ids.ts';
import { addBankAccount, balanceAtBank, requireBankAccount } from './bank-accounts.ts';
import { listBreaks } from './breaks.ts';
import { openCalendar } from './calendar.ts';
import { describeDay } from './closes.ts';
import { applyEffects } from './effects.ts';
import { reconcile } from './matching.ts';
import { bookOperatorSettlement, proposeSettlements } from './operator-settlements.ts';
import { type Confirmer, cancelSettlement, confirmSettlement, rejectTransfer } from './settlement-decisions.ts';
import { reportSettlement, writeBatch, writeReport } from './settlement-report.ts';
import {
  listSettlements,
  listTransfersToMake,
  readStates,
  requireSettlement,
  settlementRef,
} from './settlement-rows.ts';
import {
  findSettlementRule,
  nextSettlement,
  type SettlementRuleRequest,
  setSettlementRule,
} from './settlement-rules.ts';
import { settleDue } from './settlement-schedule.ts';
import { takeSettlement } from './settlements.ts';

const ENGINE = { wake: () => undefined };
const BANK = 'equity';
const TO_BANK: SettlementRuleRequest = {
  currency: CURRENCY,
  destination: { kind: 'bank', bank: 'Stanbic', branch: '031', account: '9030001234567', name: 'Duka Ltd' },
  schedule: 'none',
  weekday: null,
  minimum: 0n,
};
const TO_PHONE: SettlementRuleRequest = {
  ...TO_BANK,
  destination: { kind: 'mobile', mobile: '256772123456', name: 'Duka Ltd' },
};

let base: TestContext & { close(): Promise<void> };
let ctx: PaymentsContext;
let books: Books;
let people: TwoPeople;
before(async () => {
  base = await createTestContext({ ROLE: 'api' });
  ctx = withPayments(base, silentRail());
  books = await openBooks(base);
  people = await addTwoPeople(ctx);
  const account = { name: BANK, currency: CURRENCY, bank: 'Equity', account_number: '0170299123456', zone: 'UTC' };
  await addBankAccount(ctx, COMMAND_LINE, account);
});
after(() => base.close());

async function today(connection: string) {
  const calendar = await openCalendar(ctx.db, connection);
  return { connection, ...calendar.spanOf(calendar.dayOf(ctx.clock.now())) };
}

async function collected(amount: bigint, of = books.shop) {
  const collection = await books.collect({ amount, fee: 0n }, of);
  await books.see(collection, paid(collection));
  return collection;
}

const soon = () => new Date(ctx.clock.millis() + 1_000);
const atOperator = () => clearingAt(ctx.db, CONNECTION, CURRENCY, soon());
const atBank = async () => balanceAtBank(ctx.db, await requireBankAccount(ctx.db, BANK));
const availableOf = (holderId: bigint) => balanceAt(ctx.db, walletAvailable(holderId, CURRENCY), soon());
const payableOf = (holderId: bigint) => balanceAt(ctx.db, settlementPayable(holderId, CURRENCY), soon());
const openBreaks = async (connection: string) =>
  (await listBreaks(ctx.db, { connection, status: 'open' }, 100)).map(({ kind, difference }) => [kind, difference]);

async function sumOfLedger(): Promise<bigint[]> {
  const rows = await ctx.db.query<{ sum: bigint }>(
    'select sum(balance)::bigint as sum from ledger_accounts group by currency having sum(balance) <> 0',
  );
  return rows.map(({ sum }) => sum);
}

const person = ({ actor }: TwoPeople['first']): Confirmer => actor;
const settle = (period: string, changes = {}, holderId = books.shop.holderId) =>
  takeSettlement(ctx, ENGINE, COMMAND_LINE, { holderId, currency: CURRENCY, period, ...changes });

/** Sets a rule and lets the day pass after which its destination takes money. */
async function rule(request: SettlementRuleRequest, holderId = books.shop.holderId) {
  await setSettlementRule(ctx, COMMAND_LINE, holderId, request);
  base.clock.advance(DAY_MS);
}

describe('an operator settles to our bank', () => {
  test('clearing is what the operator still owes, the bank is what its line says, and the break is gone', async () => {
    await collected(500_000n);
    const owed = await atOperator();
    await addStatement(base, 'sweep', [
      { gross: 400_000n, kind: 'settlement', direction: 'out', receipt: 'SWEEP-1', description: 'Settlement to bank' },
    ]);
    const span = await today(CONNECTION);
    await reconcile(ctx, span);
    assert.deepEqual(
      (await openBreaks(CONNECTION)).filter(([kind]) => kind === 'missing_with_us'),
      [['missing_with_us', -400_000n]],
    );
    const [proposed] = await proposeSettlements(ctx.db, CONNECTION);
    assert.deepEqual([proposed?.reference, proposed?.direction], ['SWEEP-1', 'to_bank']);

    const request = { connection: CONNECTION, bank: BANK, direction: 'to_bank', reference: 'SWEEP-1' } as const;
    const booked = await bookOperatorSettlement(ctx, COMMAND_LINE, { ...request, received: 398_500n });
    assert.deepEqual([booked.outcome, booked.settlement.amount], ['booked', 400_000n]);
    assert.equal((await bookOperatorSettlement(ctx, COMMAND_LINE, request)).outcome, 'known');
    await reconcile(ctx, span);
    assert.deepEqual(
      (await openBreaks(CONNECTION)).filter(([kind]) => kind === 'missing_with_us'),
      [],
    );
    assert.equal(await atOperator(), owed - 400_000n);
    assert.equal(await atBank(), 398_500n);
    assert.equal(await balanceAt(ctx.db, operatorFees(NO_HOLDER, CURRENCY), soon()), -1_500n);
    assert.deepEqual(await proposeSettlements(ctx.db, CONNECTION), []);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('the statement of the bank agrees, and what arrived less is a cost when somebody says so', async () => {
    const place = bankPlace(BANK);
    const before = await atBank();
    await addStatement(
      base,
      'bank',
      [
        { gross: 398_000n, receipt: 'FT001', description: 'EFT IN SWEEP-1 MTN', balance: before - 500n },
        { gross: 700n, kind: 'fee', direction: 'out', receipt: 'FT002', description: 'Ledger fee' },
      ],
      place,
    );
    const span = await today(place);
    const found = await reconcile(ctx, span);
    assert.deepEqual(found.rules, { none: 1, settlement: 1 });
    assert.deepEqual(
      (await openBreaks(place)).filter(([kind]) => kind !== 'fee'),
      [['amount', -500n]],
    );
    const request = { connection: CONNECTION, bank: BANK, direction: 'to_bank', reference: 'SWEEP-1' } as const;
    const corrected = await bookOperatorSettlement(ctx, COMMAND_LINE, { ...request, received: 398_000n });
    assert.equal(corrected.outcome, 'corrected');
    await reconcile(ctx, span);
    assert.deepEqual(
      (await openBreaks(place)).filter(([kind]) => kind !== 'fee'),
      [],
    );
    assert.equal((await applyEffects(ctx, COMMAND_LINE, span)).feesBooked, 1);
    assert.equal(await atBank(), 398_000n - 700n);
    assert.deepEqual([await sumOfLedger(), await differencesOf(base)], [[], []]);
    await assert.rejects(bookOperatorSettlement(ctx, COMMAND_LINE, { ...request, amount: 1n }), /booked already/);
    // The same transfer, as another person types it: matching takes both for one, and so must booking.
    for (const reference of ['sweep-1', ' SWEEP-1 ']) {
      const same = { ...request, reference, amount: 400_000n };
      assert.equal((await bookOperatorSettlement(ctx, COMMAND_LINE, same)).outcome, 'known');
      await assert.rejects(bookOperatorSettlement(ctx, COMMAND_LINE, { ...same, amount: 1n }), /booked already/);
    }
    assert.equal(await atBank(), 398_000n - 700n);
  });

  test('booked, arrived and corrected on three days, each day of the bank is explained and can be closed', async () => {
    const account = { name: 'days', currency: CURRENCY, bank: 'Days', account_number: '0170299000001', zone: 'UTC' };
    await addBankAccount(ctx, COMMAND_LINE, account);
    const place = bankPlace('days');
    const days = [(await today(place)).from];
    const next = () => {
      base.clock.advance(DAY_MS);
      days.push(new Date((days.at(-1) ?? ctx.clock.now()).getTime() + DAY_MS));
    };
    const request = { connection: CONNECTION, bank: 'days', direction: 'to_bank', reference: 'SWEEP-3' } as const;
    await bookOperatorSettlement(ctx, COMMAND_LINE, { ...request, amount: 100_000n });
    next();
    const line = { gross: 99_500n, receipt: 'FT-3', description: 'EFT IN SWEEP-3', balance: 1_099_500n };
    await addStatement(base, 'arrived', [line], place);
    next();
    await bookOperatorSettlement(ctx, COMMAND_LINE, { ...request, received: 99_500n });
    next();
    for (const [index, from] of days.slice(0, 3).entries()) {
      const day = { connection: place, currency: CURRENCY, day: from.toISOString().slice(0, 10) };
      const given = index === 0 ? { ...day, balance: 1_000_000n } : day;
      await reconcile(ctx, {
        connection: place,
        from,
        to: new Date(from.getTime() + DAY_MS),
        isWhole: true,
        mayBeEmpty: true,
      });
      assert.deepEqual((await describeDay(ctx, ctx.db, given)).unexplained, 0n, day.day);
    }
  });

  test('money that we send to an operator is on both sides', async () => {
    const [operator, bank] = [await atOperator(), await atBank()];
    const request = { connection: CONNECTION, bank: BANK, direction: 'to_operator', reference: 'FLOAT-1' } as const;
    await bookOperatorSettlement(ctx, COMMAND_LINE, { ...request, amount: 50_000n });
    assert.deepEqual([await atOperator(), await atBank()], [operator + 50_000n, bank - 50_000n]);
    assert.deepEqual(await differencesOf(base), []);
  });
});

describe('a wallet is settled to a bank', () => {
  test('once for a period, after the destination has waited a day, and paid by two people', async () => {
    const { holderId } = books.shop;
    await setSettlementRule(ctx, COMMAND_LINE, holderId, TO_BANK);
    await assert.rejects(settle('hand-1'), /takes money from/);
    base.clock.advance(DAY_MS);
    const all = await availableOf(holderId);
    const taken = await settle('hand-1');
    assert.ok(taken.outcome === 'taken');
    assert.deepEqual([taken.settlement.amount, await availableOf(holderId), await payableOf(holderId)], [all, 0n, all]);
    await collected(80_000n);
    const again = await settle('hand-1');
    assert.ok(again.outcome === 'known' && again.settlement.id === taken.settlement.id);

    const ref = settlementRef(taken.settlement);
    const transfer = { bank: BANK, reference: 'FT777' };
    assert.equal((await confirmSettlement(ctx, person(people.first), ref, transfer)).status, 'proposed');
    assert.equal((await confirmSettlement(ctx, person(people.first), ref, transfer)).status, 'proposed');
    await assert.rejects(cancelSettlement(ctx, COMMAND_LINE, ref, 'changed our mind'), /Reject it first/);
    const other = { ...transfer, reference: 'FT778' };
    await assert.rejects(confirmSettlement(ctx, person(people.second), ref, other), /another transfer/);
    const bank = await atBank();
    assert.equal((await confirmSettlement(ctx, person(people.second), ref, transfer)).status, 'paid');
    assert.equal((await confirmSettlement(ctx, person(people.second), ref, transfer)).status, 'paid');
    assert.deepEqual([await payableOf(holderId), await atBank()], [0n, bank - all]);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('the line of the bank is matched with the settlement by our reference', async () => {
    const [row] = await listSettlements(ctx.db, { statuses: ['paid'] });
    assert.ok(row);
    const description = `TRF ${settlementRef(row)} DUKA`;
    await addStatement(base, 'paid', [{ gross: row.amount, direction: 'out', description }], bankPlace(BANK));
    const span = await today(bankPlace(BANK));
    await reconcile(ctx, span);
    const about = (await listBreaks(ctx.db, { connection: bankPlace(BANK), status: 'open' }, 100)).filter(
      (each) => each.transaction_id === row.id,
    );
    assert.deepEqual(about, []);
  });

  test('a rejected transfer waits again, and a cancelled one is back in the wallet', async () => {
    const taken = await settle('hand-2');
    assert.ok(taken.outcome === 'taken');
    const { holderId } = books.shop;
    const ref = settlementRef(taken.settlement);
    await confirmSettlement(ctx, person(people.first), ref, { bank: BANK, reference: 'FT900' });
    await rejectTransfer(ctx, person(people.second), ref);
    await cancelSettlement(ctx, COMMAND_LINE, ref, 'wrong account');
    assert.equal(await availableOf(holderId), taken.settlement.amount);
    await assert.rejects(
      confirmSettlement(ctx, person(people.first), ref, { bank: BANK, reference: 'x' }),
      /cancelled/,
    );
    assert.deepEqual(await differencesOf(base), []);
  });

  test('keeps its holder open until it is paid, as an open dispute does', async () => {
    const shop = await createShop(ctx, 'Leaves');
    await rule(TO_BANK, shop.holderId);
    const collection = await collected(50_000n, shop);
    const taken = await settle('last', {}, shop.holderId);
    assert.ok(taken.outcome === 'taken');
    const close = () => setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'closed');
    await assert.rejects(close(), /500 UGX is on its way to its bank/);
    const transfer = { bank: BANK, reference: 'FT-LAST' };
    for (const each of [people.first, people.second])
      await confirmSettlement(ctx, person(each), settlementRef(taken.settlement), transfer);
    // The wallet is empty: all of the amount is lacking.
    const dispute = { amount: null, reason: 'not delivered', reference: null, answerBy: null };
    await openDispute(ctx, COMMAND_LINE, { ...dispute, collection: refOf(collection) });
    await assert.rejects(close(), /a dispute is open/);
  });

  test('a destination that is changed at the same moment waits its day', async () => {
    const shop = await createShop(ctx, 'Changes');
    const { holderId } = shop;
    await rule(TO_BANK, holderId);
    await collected(40_000n, shop);
    let settled: Promise<unknown> | undefined;
    await ctx.db.transaction(async (tx) => {
      await tx.query(
        `update settlement_rules set usable_from = $2, destination = jsonb_set(destination, '{account}', '"6660001112223"')
         where holder_id = $1`,
        [holderId, new Date(ctx.clock.millis() + DAY_MS)],
      );
      settled = settle('changed', {}, holderId);
      settled.catch(() => undefined);
      for (let waiting = 0n; waiting === 0n; ) {
        const [row] = await tx.query<{ waiting: bigint }>(
          'select count(*) as waiting from pg_locks where not granted and transactionid = pg_current_xact_id()::xid',
        );
        waiting = row?.waiting ?? 0n;
      }
    });
    await assert.rejects(settled ?? assert.fail(), /takes money from/);
  });

  test('a cancelled one pays what the holder owes by then, and what its disputes lack', async () => {
    const shop = await createShop(ctx, 'Owes');
    await rule(TO_BANK, shop.holderId);
    const [first, second] = [await collected(100_000n, shop), await collected(50_000n, shop)];
    const taken = await settle('back', {}, shop.holderId);
    assert.ok(taken.outcome === 'taken');
    await books.see(first, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    const dispute = { amount: 30_000n, reason: 'not delivered', reference: null, answerBy: null };
    await openDispute(ctx, COMMAND_LINE, { ...dispute, collection: refOf(second) });
    await cancelSettlement(ctx, COMMAND_LINE, settlementRef(taken.settlement), 'the holder owes too much');
    assert.deepEqual(await listDebts(ctx.db, shop.holderId), []);
    assert.deepEqual(
      (await listDisputes(ctx.db, shop.holderId)).map(({ short }) => short),
      [0n],
    );
    assert.equal(await availableOf(shop.holderId), 20_000n);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('never more than is available, and held and disputed money stays', async () => {
    const { holderId } = books.shop;
    await setReserveRule(ctx, COMMAND_LINE, holderId, { basisPoints: 1_000n, days: 7 });
    const collection = await collected(100_000n);
    await setReserveRule(ctx, COMMAND_LINE, holderId, null);
    const dispute = { amount: 30_000n, reason: 'not delivered', reference: null, answerBy: null };
    await openDispute(ctx, COMMAND_LINE, { ...dispute, collection: refOf(collection) });
    const [wallet] = await balancesOf(ctx.db, holderId, { currency: CURRENCY });
    assert.equal(wallet?.held, 40_000n);
    await assert.rejects(settle('hand-3', { amount: (wallet?.available ?? 0n) + 100n }), { code: 'overdraft' });
    const taken = await settle('hand-3');
    assert.ok(taken.outcome === 'taken');
    assert.equal(taken.settlement.amount, wallet?.available);
    assert.deepEqual((await settle('hand-4')).outcome, 'too_little');
  });

  test('twenty at once take the wallet once', async () => {
    await collected(60_000n);
    const results = await Promise.all(Array.from({ length: 20 }, () => settle('hand-5')));
    assert.deepEqual(results.map(({ outcome }) => outcome).sort(), [...Array(19).fill('known'), 'taken']);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('what the holder owes is deducted', async () => {
    const { debtor } = books;
    await rule(TO_BANK, debtor.holderId);
    const first = await collected(100_000n, debtor);
    const gone = await books.payOut('900', debtor);
    await books.see(gone, paid(gone));
    await books.see(first, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    assert.equal((await settle('owes', {}, debtor.holderId)).outcome, 'too_little');
    await collected(300_000n, debtor);
    const taken = await settle('owes', {}, debtor.holderId);
    assert.ok(taken.outcome === 'taken');
    // The collection paid the debt first.
    assert.ok(taken.settlement.amount < 300_000n);
    assert.deepEqual([await availableOf(debtor.holderId), await sumOfLedger()], [0n, []]);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('its report adds up, and the batch has every transfer once', async () => {
    const waiting = await listSettlements(ctx.db, { statuses: ['waiting'] });
    assert.ok(waiting.length >= 2);
    for (const settlement of waiting) {
      const report = await reportSettlement(ctx, settlement);
      const moved = report.totals.reduce((sum, { net }) => sum + net, 0n);
      assert.equal(report.opening + moved, report.closing);
      assert.match(writeReport(report, 'fr'), /Solde/);
    }
    const lines = writeBatch(waiting).trim().split('\r\n');
    assert.equal(lines.length, waiting.length + 1);
    for (const each of waiting) assert.equal(lines.filter((line) => line.includes(settlementRef(each))).length, 1);
  });

  test('no transfer is made for a suspended holder', async () => {
    const shop = await createShop(ctx, 'Suspended');
    await rule(TO_BANK, shop.holderId);
    await collected(70_000n, shop);
    const taken = await settle('suspended', {}, shop.holderId);
    assert.ok(taken.outcome === 'taken');
    const waits = async () => {
      const { ready, held } = await listTransfersToMake(ctx.db, CURRENCY);
      return [ready, held].map((rows) => rows.some(({ id }) => id === taken.settlement.id));
    };
    assert.deepEqual(await waits(), [true, false]);
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
    assert.deepEqual(await waits(), [false, true]);
  });
});

describe('a wallet is settled to a phone', () => {
  test('as an ordinary payout, with its fee, once for a period', async () => {
    const { holderId } = books.shop;
    await rule(TO_PHONE);
    await collected(250_000n);
    const available = await availableOf(holderId);
    const taken = await settle('phone-1');
    assert.ok(taken.outcome === 'taken');
    const { settlement } = taken;
    const payout = await findTransaction(ctx.db, holderId, settlement.transaction_id ?? '');
    assert.equal(payout?.amount, settlement.amount);
    const left = await availableOf(holderId);
    assert.equal(available - settlement.amount - (payout?.fee ?? 0n), left);
    assert.ok(left >= 0n && left < 10_000n, 'nothing that could be sent is left');
    assert.equal((await settle('phone-1')).outcome, 'known');
    assert.deepEqual([...(await readStates(ctx.db, [settlement])).values()], ['sending']);
    if (payout) await books.see(payout, paid(payout));
    assert.deepEqual([...(await readStates(ctx.db, [settlement])).values()], ['paid']);
    assert.deepEqual(await differencesOf(base), []);
  });
});

describe('where payouts need a second person', () => {
  test('the owner who set the number cannot approve what is sent to it', async () => {
    const shop = await createShop(ctx, 'Two owners');
    const { holderId } = shop;
    const owner = async (name: string): Promise<Actor> => {
      const email = `${name}.${holderId}@example.org`;
      const { id } = await addMember(ctx, COMMAND_LINE, { email, name, holderId, role: 'owner' });
      return { memberId: id, name: email };
    };
    const [ama, kofi] = [await owner('ama'), await owner('kofi')];
    await setPayoutApproval(ctx, ama, holderId, true);
    await setSettlementRule(ctx, ama, holderId, TO_PHONE);
    // The number stays hers when somebody else changes the schedule.
    await setSettlementRule(ctx, kofi, holderId, { ...TO_PHONE, schedule: 'daily' });
    await collected(250_000n, shop);
    base.clock.advance(2 * DAY_MS);
    await settleDue(ctx, ENGINE);
    const [settlement] = await listSettlements(ctx.db, { holderId });
    const payout = await findTransaction(ctx.db, holderId, settlement?.transaction_id ?? '');
    assert.ok(payout);
    await assert.rejects(approvePayout(ctx, ENGINE, ama, holderId, refOf(payout)), /somebody other than the person/);
    await approvePayout(ctx, ENGINE, kofi, holderId, refOf(payout));
    await setSettlementRule(ctx, ama, holderId, TO_PHONE);
    assert.deepEqual(await differencesOf(base), []);
  });
});

describe('a schedule', () => {
  test('settles on its day, once, and not below the minimum', async () => {
    const { holderId } = books.shop;
    await rule({ ...TO_BANK, schedule: 'daily', minimum: 50_000n });
    const count = async () => (await listSettlements(ctx.db, { holderId })).length;
    await settleDue(ctx, ENGINE);
    base.clock.advance(DAY_MS);
    const before = await count();
    assert.equal(await settleDue(ctx, ENGINE), 1);
    assert.equal(await count(), before, 'there was too little');
    await collected(90_000n);
    base.clock.advance(DAY_MS);
    await Promise.all([settleDue(ctx, ENGINE), settleDue(ctx, ENGINE)]);
    assert.equal(await count(), before + 1);
    assert.equal(await settleDue(ctx, ENGINE), 0);
    assert.ok(((await findSettlementRule(ctx.db, holderId, CURRENCY))?.next_at ?? new Date(0)) > ctx.clock.now());
    assert.deepEqual(await differencesOf(base), []);
  });

  test('of one merchant that fails does not keep others from their money', async () => {
    const [broken, shop] = [await createShop(ctx, 'Broken'), await createShop(ctx, 'After the broken one')];
    for (const { holderId } of [broken, shop]) await rule({ ...TO_BANK, schedule: 'daily' }, holderId);
    await collected(60_000n, broken);
    await collected(60_000n, shop);
    base.clock.advance(DAY_MS);
    const zone = (name: string) =>
      base.ownerDb.query('update holders set time_zone = $2 where id = $1', [broken.holderId, name]);
    const taken = async ({ holderId }: { holderId: bigint }) => (await listSettlements(ctx.db, { holderId })).length;
    await zone('Nowhere/Nothing');
    await assert.rejects(settleDue(ctx, ENGINE), /Nowhere/);
    assert.deepEqual([await taken(broken), await taken(shop)], [0, 1]);
    await zone('UTC');
    await settleDue(ctx, ENGINE);
    assert.deepEqual([await taken(broken), await taken(shop)], [1, 1]);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('waits for its next day when the merchant cannot be settled, and not when the database could not do it', async () => {
    const { holderId } = await createShop(ctx, 'Away');
    await rule({ ...TO_BANK, schedule: 'daily' }, holderId);
    base.clock.advance(DAY_MS);
    const away: PaymentsContext = {
      ...ctx,
      db: { ...ctx.db, transaction: () => Promise.reject(new Problem('database_unavailable')) },
    };
    const nextAt = async () => (await findSettlementRule(ctx.db, holderId, CURRENCY))?.next_at;
    const due = await nextAt();
    await assert.rejects(settleDue(away, ENGINE), { code: 'database_unavailable' });
    assert.deepEqual(await nextAt(), due);
    await settleDue(ctx, ENGINE);
    assert.notDeepEqual(await nextAt(), due);
  });

  test('after a restore it waits for a day: what was due since the backup may have been settled', async () => {
    const shop = await createShop(ctx, 'Restored');
    const { holderId } = shop;
    await rule({ ...TO_BANK, schedule: 'daily' }, holderId);
    await collected(70_000n, shop);
    base.clock.advance(DAY_MS);
    // A time that was set by hand.
    await base.ownerDb.query(
      `update settlement_rules set next_at = next_at + interval '7 microseconds' where holder_id = $1`,
      [holderId],
    );
    const restoredAt = ctx.clock.now();
    const { postponed } = await base.ownerDb.transaction((tx) => finishRestore(tx, restoredAt, null));
    assert.ok(postponed > 0);
    const taken = async () => (await listSettlements(ctx.db, { holderId })).length;
    for (const hours of [0, 12, 11]) {
      base.clock.advance(hours * HOUR_MS);
      await settleDue(ctx, ENGINE);
      assert.equal(await taken(), 0);
    }
    base.clock.advance(DAY_MS);
    await settleDue(ctx, ENGINE);
    await settleDue(ctx, ENGINE);
    assert.equal(await taken(), 1);
  });

  test('knows its days in the zone of the holder', () => {
    const at = new Date('2026-11-16T22:30:00Z');
    const next = (schedule: 'daily' | 'weekly' | 'monthly', weekday: number | null) =>
      nextSettlement({ schedule, weekday }, 'Africa/Nairobi', at)?.toISOString();
    assert.equal(next('daily', null), '2026-11-17T21:00:00.000Z');
    assert.equal(next('weekly', 5), '2026-11-19T21:00:00.000Z');
    assert.equal(next('monthly', null), '2026-11-30T21:00:00.000Z');
  });
});

test('after any sequence the sums of the ledger are zero and nothing differs', async () => {
  const random = createRandom('settlements');
  const { holderId } = books.shop;
  await rule(TO_BANK);
  for (let step = 0; step < 60; step++) {
    base.clock.advance(1_000);
    const open = await listSettlements(ctx.db, { holderId, statuses: ['waiting', 'proposed'] });
    const [first] = open;
    const reference = `R-${step}`;
    switch (random.int(0, 6)) {
      case 0:
      case 1:
        await collected(BigInt(random.int(1, 50)) * 1_000n);
        break;
      case 2:
        await settle(`random-${step}`);
        break;
      case 3: {
        const available = await availableOf(holderId);
        if (available >= 200n) await settle(`random-${step}`, { amount: (available / 200n) * 100n });
        break;
      }
      case 4: {
        const of = random.chance(0.5) ? people.first : people.second;
        const transfer = { bank: BANK, reference: first?.bank_reference ?? reference };
        if (first) await confirmSettlement(ctx, person(of), settlementRef(first), transfer);
        break;
      }
      case 5:
        if (first?.status === 'waiting') await cancelSettlement(ctx, COMMAND_LINE, settlementRef(first), 'random');
        else if (first) await rejectTransfer(ctx, person(people.first), settlementRef(first));
        break;
      default: {
        const direction = random.chance(0.5) ? 'to_bank' : 'to_operator';
        const amount = BigInt(random.int(1, 100)) * 1_000n;
        const received = direction === 'to_bank' ? amount - BigInt(random.int(0, 499)) : amount;
        const request = { connection: CONNECTION, bank: BANK, direction, reference, amount, received } as const;
        await bookOperatorSettlement(ctx, COMMAND_LINE, request);
      }
    }
    assert.ok((await availableOf(holderId)) >= 0n && (await payableOf(holderId)) >= 0n);
  }
  assert.deepEqual(await sumOfLedger(), []);
  assert.deepEqual(await differencesOf(base), []);
  const [newest] = await listSettlements(ctx.db, { holderId });
  assert.ok(newest && (await requireSettlement(ctx.db, settlementRef(newest), { holderId })));
  await assert.rejects(requireSettlement(ctx.db, settlementRef(newest), { holderId: 9n }), { code: 'not_found' });
});
