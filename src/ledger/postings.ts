// Every debit and credit of the gateway: one pure function per business fact. A transfer moves money from its
// debit account to its credit account; (transaction, kind) is posted once, so facts that must exclude each other
// share a kind. The accounts are described in chart.ts.
//
//   collection succeeded        clearing   → available   amount − fee    clearing  → fees       fee
//   collection reversed         available  → clearing    amount − fee    fees      → clearing   fee
//   payout reserved             available  → reserved    amount + fee
//   payout posted               reserved   → clearing    amount          reserved  → fees       fee
//   payout released             reserved   → available   amount + fee
//   payout succeeded late       available  → clearing    amount          available → fees       fee
//   payout reversed             clearing   → available   amount          fees      → available  fee
//   refund reserved             available  → reserved    amount − fee returned
//   refund posted               reserved   → clearing    amount − fee returned    fees → clearing  fee returned
//   refund released             reserved   → available   amount − fee returned
//   refund succeeded late       available  → clearing    amount − fee returned    fees → clearing  fee returned
//   suspense received           clearing   → suspense    amount
//   suspense returned           suspense   → clearing    amount
//   suspense credited           suspense   → clearing    amount          clearing of the holder → available  amount
//   suspense taken to income    suspense   → fees        amount
//   suspense taken back         available  → clearing    amount          or fees → clearing, where it was taken to income
//   reserve held                available  → held        a share of a collection; or what a failed refund had used
//   reserve released            held       → available   when its days are over
//   reserve used                held       → available   what the wallet lacks for a refund, or for a fact that has happened
//   dispute opened              available  → disputed    what the wallet holds    shortfall → disputed  what it lacks
//   dispute covered             available  → shortfall   from the next credits
//   dispute won                 disputed   → available   what was held            disputed → shortfall  what is still lacking
//   dispute lost                disputed   → clearing    what was held            disputed → shortfall  what is still lacking
//                               available  → clearing    what is still lacking    fees → clearing       fee returned
//   debt                        receivable → available   what the wallet lacks for a fact that has happened
//   debt recovered              available  → receivable  from the next credits
//   debt written off            write-offs → receivable  amount
//   operator charged a fee      operator fees → clearing   amount
//   operator returned a fee     clearing   → operator fees  amount
//   bank charged a fee          operator fees → bank       amount
//   bank returned a fee         bank       → operator fees  amount
//   operator settled            bank       → clearing    what arrived    operator fees → clearing   what it kept
//   operator funded             clearing   → bank        amount
//   settlement short            operator fees → bank     what the bank says did not arrive
//   settlement taken            available  → payable     amount
//   settlement paid             payable    → bank        amount
//   settlement released         payable    → available   amount
//   sandbox top-up              sandbox    → available   amount

import {
  type AccountRef,
  bank,
  disputeShortfall,
  feeIncome,
  heldAt,
  holderReceivable,
  operatorClearing,
  operatorFees,
  sandboxFunding,
  settlementPayable,
  suspense,
  walletAvailable,
  walletDisputed,
  walletHeld,
  walletReserved,
  writeOffs,
} from './chart.ts';

export type TransferKind =
  | 'collection'
  | 'collection_fee'
  | 'collection_reversal'
  | 'collection_fee_reversal'
  | 'payout_reserve'
  | 'payout'
  | 'payout_fee'
  | 'payout_release'
  | 'payout_reversal'
  | 'payout_fee_reversal'
  | 'refund_reserve'
  | 'refund'
  | 'refund_fee'
  | 'refund_release'
  | 'suspense'
  | 'suspense_return'
  | 'suspense_credit'
  | 'suspense_income'
  | 'suspense_credit_reversal'
  | 'suspense_income_reversal'
  | 'reserve_hold'
  | 'reserve_release'
  | 'reserve_use'
  | 'reserve_cover'
  | 'dispute_hold'
  | 'dispute_shortfall'
  | 'dispute_cover'
  | 'dispute_cover_reversal'
  | 'dispute_cover_release'
  | 'dispute_shortfall_end'
  | 'dispute_release'
  | 'dispute_loss'
  | 'dispute_loss_short'
  | 'dispute_loss_fee'
  | 'debt'
  | 'debt_recovery'
  | 'debt_recovery_reversal'
  | 'debt_recovery_release'
  | 'debt_write_off'
  | 'operator_fee'
  | 'operator_fee_return'
  | 'bank_fee'
  | 'bank_fee_return'
  | 'operator_settlement'
  | 'operator_settlement_fee'
  | 'operator_settlement_short'
  | 'operator_funding'
  | 'settlement'
  | 'settlement_paid'
  | 'settlement_release'
  | 'sandbox_top_up';

/** One movement of money, not yet posted. */
export type Transfer = {
  readonly kind: TransferKind;
  /** Both accounts are of this holder. */
  readonly holderId: bigint;
  readonly debit: AccountRef;
  readonly credit: AccountRef;
  readonly amount: bigint;
  readonly currency: string;
  /** The transaction (or the case) that the movement belongs to: a UUID. */
  readonly transactionId: string;
};

type Fact = {
  /** The holder of the accounts. NO_HOLDER where the owner of the money is unknown. */
  readonly holderId: bigint;
  readonly transactionId: string;
  readonly currency: string;
  readonly amount: bigint;
};
type FactWithFee = Fact & { readonly fee: bigint };
type FactWithRail = Fact & { readonly rail: string };
export type PaymentFact = FactWithFee & FactWithRail;

function move(fact: Fact, kind: TransferKind, debit: AccountRef, credit: AccountRef, amount: bigint): Transfer[] {
  if (amount < 0n) throw new Error(`${kind} of transaction ${fact.transactionId} would move ${amount}`);
  // A fee of zero, or one of the whole amount, leaves one transfer without an amount.
  if (amount === 0n) return [];
  const { holderId, currency, transactionId } = fact;
  return [{ kind, holderId, debit, credit, amount, currency, transactionId }];
}

/** Also for a success that came after the collection had failed: the same kinds, so it is never posted twice. */
export function collectionSucceeded(fact: PaymentFact): Transfer[] {
  const clearing = operatorClearing(fact.holderId, fact.rail, fact.currency);
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return [
    ...move(fact, 'collection', clearing, wallet, fact.amount - fact.fee),
    ...move(fact, 'collection_fee', clearing, feeIncome(fact.holderId, fact.currency), fact.fee),
  ];
}

/** Gives back what is left of a collection: `amount` and `fee` are what refunds have not given back already. */
export function collectionReversed(fact: PaymentFact): Transfer[] {
  const clearing = operatorClearing(fact.holderId, fact.rail, fact.currency);
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return [
    ...move(fact, 'collection_reversal', wallet, clearing, fact.amount - fact.fee),
    ...move(fact, 'collection_fee_reversal', feeIncome(fact.holderId, fact.currency), clearing, fact.fee),
  ];
}

export function payoutReserved(fact: FactWithFee): Transfer[] {
  const available = walletAvailable(fact.holderId, fact.currency);
  const reserved = walletReserved(fact.holderId, fact.currency);
  return move(fact, 'payout_reserve', available, reserved, fact.amount + fact.fee);
}

export function payoutPosted(fact: PaymentFact): Transfer[] {
  return payOut(fact, walletReserved(fact.holderId, fact.currency));
}

export function payoutReleased(fact: FactWithFee): Transfer[] {
  const available = walletAvailable(fact.holderId, fact.currency);
  const reserved = walletReserved(fact.holderId, fact.currency);
  return move(fact, 'payout_release', reserved, available, fact.amount + fact.fee);
}

/** The operator paid although the payout had failed and its money was released. */
export function latePayoutSucceeded(fact: PaymentFact): Transfer[] {
  return payOut(fact, walletAvailable(fact.holderId, fact.currency));
}

function payOut(fact: PaymentFact, source: AccountRef): Transfer[] {
  return [
    ...move(fact, 'payout', source, operatorClearing(fact.holderId, fact.rail, fact.currency), fact.amount),
    ...move(fact, 'payout_fee', source, feeIncome(fact.holderId, fact.currency), fact.fee),
  ];
}

export function payoutReversed(fact: PaymentFact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return [
    ...move(fact, 'payout_reversal', operatorClearing(fact.holderId, fact.rail, fact.currency), wallet, fact.amount),
    ...move(fact, 'payout_fee_reversal', feeIncome(fact.holderId, fact.currency), wallet, fact.fee),
  ];
}

type RefundFact = FactWithRail & {
  /** The part of the amount that the gateway gives back out of its fee. */
  readonly feeReturned: bigint;
};

export function refundReserved(fact: RefundFact): Transfer[] {
  const available = walletAvailable(fact.holderId, fact.currency);
  const reserved = walletReserved(fact.holderId, fact.currency);
  return move(fact, 'refund_reserve', available, reserved, fact.amount - fact.feeReturned);
}

export function refundPosted(fact: RefundFact): Transfer[] {
  return giveBack(fact, walletReserved(fact.holderId, fact.currency));
}

export function refundReleased(fact: RefundFact): Transfer[] {
  const available = walletAvailable(fact.holderId, fact.currency);
  const reserved = walletReserved(fact.holderId, fact.currency);
  return move(fact, 'refund_release', reserved, available, fact.amount - fact.feeReturned);
}

/** The operator gave the money back although the refund had failed and its money was released. */
export function lateRefundSucceeded(fact: RefundFact): Transfer[] {
  return giveBack(fact, walletAvailable(fact.holderId, fact.currency));
}

function giveBack(fact: RefundFact, source: AccountRef): Transfer[] {
  const clearing = operatorClearing(fact.holderId, fact.rail, fact.currency);
  return [
    ...move(fact, 'refund', source, clearing, fact.amount - fact.feeReturned),
    ...move(fact, 'refund_fee', feeIncome(fact.holderId, fact.currency), clearing, fact.feeReturned),
  ];
}

/** Money arrived that matches no transaction, or has another amount. */
export function suspenseReceived(fact: FactWithRail): Transfer[] {
  return move(
    fact,
    'suspense',
    operatorClearing(fact.holderId, fact.rail, fact.currency),
    suspense(fact.holderId, fact.currency),
    fact.amount,
  );
}

/** Money leaves suspense for the clearing account from which it came. */
export function suspenseReturned(fact: FactWithRail): Transfer[] {
  return move(
    fact,
    'suspense_return',
    suspense(fact.holderId, fact.currency),
    operatorClearing(fact.holderId, fact.rail, fact.currency),
    fact.amount,
  );
}

/**
 * Money in suspense belongs to a holder. It goes through the clearing accounts of both: each transfer stays within one
 * holder, and what the operator holds for all of them together is unchanged.
 */
export function suspenseCredited(fact: FactWithRail, toHolderId: bigint): Transfer[] {
  const credited = { ...fact, holderId: toHolderId };
  return [
    ...suspenseReturned(fact),
    ...move(
      credited,
      'suspense_credit',
      operatorClearing(toHolderId, fact.rail, fact.currency),
      walletAvailable(toHolderId, fact.currency),
      fact.amount,
    ),
  ];
}

/** Nobody claims the money, and the gateway keeps it. */
export function suspenseTakenToIncome(fact: Fact): Transfer[] {
  const income = feeIncome(fact.holderId, fact.currency);
  return move(fact, 'suspense_income', suspense(fact.holderId, fact.currency), income, fact.amount);
}

/** The operator took money back after it had been credited to a holder, or (null) taken to income. */
export function suspenseTakenBack(fact: FactWithRail, fromHolderId: bigint | null): Transfer[] {
  const holderId = fromHolderId ?? fact.holderId;
  const clearing = operatorClearing(holderId, fact.rail, fact.currency);
  return fromHolderId === null
    ? move(fact, 'suspense_income_reversal', feeIncome(holderId, fact.currency), clearing, fact.amount)
    : move(
        { ...fact, holderId },
        'suspense_credit_reversal',
        walletAvailable(holderId, fact.currency),
        clearing,
        fact.amount,
      );
}

/** What the wallet lacks for a fact that has happened is lent to it. */
export function debtIncurred(fact: Fact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, 'debt', holderReceivable(fact.holderId, fact.currency), wallet, fact.amount);
}

/**
 * Which credit of its transaction pays something back. A payout may be released and later reversed, and what was held of a
 * collection is released later, so each of these has kinds of its own.
 */
type Credit = 'first' | 'reversal' | 'release';

const RECOVERY = {
  first: 'debt_recovery',
  reversal: 'debt_recovery_reversal',
  release: 'debt_recovery_release',
} as const;

export function creditOf(kind: TransferKind): Credit {
  if (kind === 'payout_reversal') return 'reversal';
  return kind === 'reserve_release' ? 'release' : 'first';
}

export function debtRecovered(fact: Fact, credit: Credit): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, RECOVERY[credit], wallet, holderReceivable(fact.holderId, fact.currency), fact.amount);
}

/** A share of a collection is held back; or held money that a refund had used goes back, because the refund failed. */
export function reserveHeld(fact: Fact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, 'reserve_hold', wallet, walletHeld(fact.holderId, fact.currency), fact.amount);
}

export function reserveReleased(fact: Fact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, 'reserve_release', walletHeld(fact.holderId, fact.currency), wallet, fact.amount);
}

/** A refund that used held money, failed, and succeeded late needs it twice: once as an order, once as a fact. */
export function reserveUsed(fact: Fact, need: 'order' | 'fact'): Transfer[] {
  const kind = need === 'order' ? 'reserve_use' : 'reserve_cover';
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, kind, walletHeld(fact.holderId, fact.currency), wallet, fact.amount);
}

type DisputeFact = Fact & {
  /** What the wallet lacks of the amount. */
  readonly short: bigint;
};

/** `amount` is held; the part that the wallet lacks is lent until credits bring it. */
export function disputeOpened(fact: DisputeFact): Transfer[] {
  const { holderId, currency, amount, short } = fact;
  const disputed = walletDisputed(holderId, currency);
  return [
    ...move(fact, 'dispute_hold', walletAvailable(holderId, currency), disputed, amount - short),
    ...move(fact, 'dispute_shortfall', disputeShortfall(holderId, currency), disputed, short),
  ];
}

const COVER = {
  first: 'dispute_cover',
  reversal: 'dispute_cover_reversal',
  release: 'dispute_cover_release',
} as const;

export function disputeCovered(fact: Fact, credit: Credit): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, COVER[credit], wallet, disputeShortfall(fact.holderId, fact.currency), fact.amount);
}

export function disputeWon(fact: DisputeFact): Transfer[] {
  const { holderId, currency, amount, short } = fact;
  return [
    ...endShortfall(fact),
    ...move(
      fact,
      'dispute_release',
      walletDisputed(holderId, currency),
      walletAvailable(holderId, currency),
      amount - short,
    ),
  ];
}

/** The payer gets `amount` from the holder and `feeReturned` from the gateway. What is still lacking leaves the wallet. */
export function disputeLost(fact: DisputeFact & { readonly rail: string; readonly feeReturned: bigint }): Transfer[] {
  const { holderId, currency, amount, short, rail, feeReturned } = fact;
  const clearing = operatorClearing(holderId, rail, currency);
  return [
    ...endShortfall(fact),
    ...move(fact, 'dispute_loss', walletDisputed(holderId, currency), clearing, amount - short),
    ...move(fact, 'dispute_loss_short', walletAvailable(holderId, currency), clearing, short),
    ...move(fact, 'dispute_loss_fee', feeIncome(holderId, currency), clearing, feeReturned),
  ];
}

function endShortfall(fact: DisputeFact): Transfer[] {
  const { holderId, currency, short } = fact;
  const disputed = walletDisputed(holderId, currency);
  return move(fact, 'dispute_shortfall_end', disputed, disputeShortfall(holderId, currency), short);
}

export function debtWrittenOff(fact: Fact): Transfer[] {
  const loss = writeOffs(fact.holderId, fact.currency);
  return move(fact, 'debt_write_off', loss, holderReceivable(fact.holderId, fact.currency), fact.amount);
}

/** What the operator, or the bank, took from our account with it. */
export function operatorFeeCharged(fact: FactWithRail): Transfer[] {
  const { holderId, rail, currency } = fact;
  const held = heldAt(holderId, rail, currency);
  const kind = held.kind === 'bank' ? 'bank_fee' : 'operator_fee';
  return move(fact, kind, operatorFees(holderId, currency), held, fact.amount);
}

/** It gave back a fee that it had taken. */
export function operatorFeeReturned(fact: FactWithRail): Transfer[] {
  const { holderId, rail, currency } = fact;
  const held = heldAt(holderId, rail, currency);
  const kind = held.kind === 'bank' ? 'bank_fee_return' : 'operator_fee_return';
  return move(fact, kind, held, operatorFees(holderId, currency), fact.amount);
}

type SettledFact = FactWithRail & {
  /** Our account at the bank. */
  readonly bank: string;
};

/** The operator sent `amount` of what it holds to our bank, and kept the part that did not arrive. */
export function operatorSettled(fact: SettledFact & { readonly received: bigint }): Transfer[] {
  const { holderId, rail, currency, amount, received } = fact;
  const clearing = operatorClearing(holderId, rail, currency);
  return [
    ...move(fact, 'operator_settlement', bank(holderId, fact.bank, currency), clearing, received),
    ...move(fact, 'operator_settlement_fee', operatorFees(holderId, currency), clearing, amount - received),
  ];
}

/** Less arrived at the bank than was booked: the rest is what the way cost. */
export function operatorSettlementShort(fact: Fact & { readonly bank: string }): Transfer[] {
  const { holderId, currency, amount } = fact;
  const account = bank(holderId, fact.bank, currency);
  return move(fact, 'operator_settlement_short', operatorFees(holderId, currency), account, amount);
}

/** We sent money from our bank to the operator, so that payouts have something to be paid from. */
export function operatorFunded(fact: SettledFact): Transfer[] {
  const { holderId, rail, currency, amount } = fact;
  const clearing = operatorClearing(holderId, rail, currency);
  return move(fact, 'operator_funding', clearing, bank(holderId, fact.bank, currency), amount);
}

/** Taken from the wallet, and owed to the holder's bank. */
export function settlementTaken(fact: Fact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, 'settlement', wallet, settlementPayable(fact.holderId, fact.currency), fact.amount);
}

export function settlementPaid(fact: Fact & { readonly bank: string }): Transfer[] {
  const { holderId, currency, amount } = fact;
  const payable = settlementPayable(holderId, currency);
  return move(fact, 'settlement_paid', payable, bank(holderId, fact.bank, currency), amount);
}

export function settlementReleased(fact: Fact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, 'settlement_release', settlementPayable(fact.holderId, fact.currency), wallet, fact.amount);
}

export function sandboxTopUp(fact: Fact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, 'sandbox_top_up', sandboxFunding(fact.holderId, fact.currency), wallet, fact.amount);
}
