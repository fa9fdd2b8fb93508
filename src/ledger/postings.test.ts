import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { accountKey, operatorClearing } from './chart.ts';
import * as postings from './postings.ts';

type Fact = postings.PaymentFact;
const FACT: Fact = {
  holderId: 7n,
  currency: 'XOF',
  amount: 10_000n,
  fee: 100n,
  rail: 'sandbox',
  transactionId: '0190a000-0000-7000-8000-000000000001',
};

/** `debit → credit amount`, with the accounts by key. */
function shown(transfers: postings.Transfer[]): string[] {
  return transfers.map((each) => `${each.kind}: ${accountKey(each.debit)} > ${accountKey(each.credit)} ${each.amount}`);
}

const W = 'wallet:7:XOF:available';
const R = 'wallet:7:XOF:reserved';
const C = 'clearing:7:sandbox:XOF';
const F = 'fees:7:XOF';
const S = 'suspense:7:XOF';
const D = 'receivable:7:XOF';
/** A refund that returns the fee of its collection. */
function refund(posting: typeof postings.refundPosted): (fact: Fact) => postings.Transfer[] {
  const named = { [posting.name]: (fact: Fact) => posting({ ...fact, feeReturned: fact.fee }) };
  return named[posting.name] ?? assert.fail();
}

const TABLE: [(fact: Fact) => postings.Transfer[], string[]][] = [
  [postings.collectionSucceeded, [`collection: ${C} > ${W} 9900`, `collection_fee: ${C} > ${F} 100`]],
  [postings.collectionReversed, [`collection_reversal: ${W} > ${C} 9900`, `collection_fee_reversal: ${F} > ${C} 100`]],
  [postings.payoutReserved, [`payout_reserve: ${W} > ${R} 10100`]],
  [postings.payoutPosted, [`payout: ${R} > ${C} 10000`, `payout_fee: ${R} > ${F} 100`]],
  [postings.payoutReleased, [`payout_release: ${R} > ${W} 10100`]],
  [postings.latePayoutSucceeded, [`payout: ${W} > ${C} 10000`, `payout_fee: ${W} > ${F} 100`]],
  [postings.payoutReversed, [`payout_reversal: ${C} > ${W} 10000`, `payout_fee_reversal: ${F} > ${W} 100`]],
  [postings.suspenseReceived, [`suspense: ${C} > ${S} 10000`]],
  [postings.suspenseReturned, [`suspense_return: ${S} > ${C} 10000`]],
  [refund(postings.refundReserved), [`refund_reserve: ${W} > ${R} 9900`]],
  [refund(postings.refundPosted), [`refund: ${R} > ${C} 9900`, `refund_fee: ${F} > ${C} 100`]],
  [refund(postings.refundReleased), [`refund_release: ${R} > ${W} 9900`]],
  [refund(postings.lateRefundSucceeded), [`refund: ${W} > ${C} 9900`, `refund_fee: ${F} > ${C} 100`]],
  [
    function suspenseCredited(fact) {
      return postings.suspenseCredited({ ...fact, holderId: 0n }, 7n);
    },
    ['suspense_return: suspense:0:XOF > clearing:0:sandbox:XOF 10000', `suspense_credit: ${C} > ${W} 10000`],
  ],
  [postings.suspenseTakenToIncome, [`suspense_income: ${S} > ${F} 10000`]],
  [postings.debtIncurred, [`debt: ${D} > ${W} 10000`]],
  [postings.debtWrittenOff, [`debt_write_off: write-offs:7:XOF > ${D} 10000`]],
  [postings.sandboxTopUp, [`sandbox_top_up: sandbox:7:XOF > ${W} 10000`]],
];

/** What facts one after the other leave on each account. */
function net(...transfers: postings.Transfer[]): Record<string, bigint> {
  const balances: Record<string, bigint> = {};
  for (const { debit, credit, amount } of transfers) {
    balances[accountKey(debit)] = (balances[accountKey(debit)] ?? 0n) - amount;
    balances[accountKey(credit)] = (balances[accountKey(credit)] ?? 0n) + amount;
  }
  return balances;
}

describe('postings', () => {
  for (const [posting, expected] of TABLE)
    test(`${posting.name} moves exactly this`, () => assert.deepEqual(shown(posting(FACT)), expected));

  test('a fee of zero posts no fee, a fee of the whole amount posts only the fee', () => {
    assert.deepEqual(shown(postings.collectionSucceeded({ ...FACT, fee: 0n })), [`collection: ${C} > ${W} 10000`]);
    assert.deepEqual(shown(postings.collectionSucceeded({ ...FACT, fee: 10_000n })), [
      `collection_fee: ${C} > ${F} 10000`,
    ]);
  });

  test('a fee above the amount is refused', () => {
    assert.throws(() => postings.collectionSucceeded({ ...FACT, fee: 10_001n }), /would move -1/);
  });

  test('a rail whose name would make its key ambiguous is refused', () => {
    assert.throws(() => accountKey(operatorClearing(7n, 'a:b', 'XOF')), /not the name of a rail/);
  });

  test('facts that undo each other leave every account at zero', () => {
    const money = fc.bigInt(1n, 2n ** 53n);
    fc.assert(
      fc.property(money, money, (rest, fee) => {
        const fact = { ...FACT, amount: rest + fee, fee };
        const rounds: ((fact: Fact) => postings.Transfer[])[][] = [
          [postings.collectionSucceeded, postings.collectionReversed],
          [postings.payoutReserved, postings.payoutReleased],
          [postings.suspenseReceived, postings.suspenseReturned],
          [postings.latePayoutSucceeded, postings.payoutReversed],
        ];
        for (const round of rounds)
          for (const balance of Object.values(net(...round.flatMap((posting) => posting(fact)))))
            assert.equal(balance, 0n);
        const paid = net(...postings.payoutReserved(fact), ...postings.payoutPosted(fact));
        assert.deepEqual([paid[R], paid[W]], [0n, -(fact.amount + fact.fee)]);
      }),
    );
  });
});
