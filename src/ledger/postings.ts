// Every debit and credit of the gateway: one pure function per business fact. A transfer moves money from its
// debit account to its credit account; (transaction, kind) is posted once, so facts that must exclude each other
// share a kind. The accounts are described in chart.ts.
//
//   collection succeeded        clearing  → available  amount − fee    clearing  → fees       fee
//   collection reversed         available → clearing   amount − fee    fees      → clearing   fee
//   payout reserved             available → reserved   amount + fee
//   payout posted               reserved  → clearing   amount          reserved  → fees       fee
//   payout released             reserved  → available  amount + fee
//   payout succeeded late       available → clearing   amount          available → fees       fee
//   payout reversed             clearing  → available  amount          fees      → available  fee
//   suspense received           clearing  → suspense   amount
//   suspense returned           suspense  → clearing   amount
//   sandbox top-up              sandbox   → available  amount

import {
  type AccountRef,
  feeIncome,
  operatorClearing,
  sandboxFunding,
  suspense,
  walletAvailable,
  walletReserved,
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
  | 'suspense'
  | 'suspense_resolution'
  | 'suspense_resolution_fee'
  | 'suspense_return'
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

export function collectionReversed(fact: PaymentFact): Transfer[] {
  return reverseCollection(fact, walletAvailable(fact.holderId, fact.currency));
}

/** The operator reversed a collection whose money the holder has spent. The amount is taken from suspense until the case is closed. */
export function collectionReversedFromSuspense(fact: PaymentFact): Transfer[] {
  return reverseCollection(fact, suspense(fact.holderId, fact.currency));
}

function reverseCollection(fact: PaymentFact, source: AccountRef): Transfer[] {
  const clearing = operatorClearing(fact.holderId, fact.rail, fact.currency);
  return [
    ...move(fact, 'collection_reversal', source, clearing, fact.amount - fact.fee),
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

/** As latePayoutSucceeded, when the holder has meanwhile spent the money. */
export function latePayoutSucceededFromSuspense(fact: PaymentFact): Transfer[] {
  return payOut(fact, suspense(fact.holderId, fact.currency));
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

export function sandboxTopUp(fact: Fact): Transfer[] {
  const wallet = walletAvailable(fact.holderId, fact.currency);
  return move(fact, 'sandbox_top_up', sandboxFunding(fact.holderId, fact.currency), wallet, fact.amount);
}
