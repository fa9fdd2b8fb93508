// Payments, transfers and refunds inside the simulated MTN MoMo: how each comes to its end, and the one callback that says so.

import type { Operation } from './faults.ts';
import type { SimulatorAction, SimulatorContext } from './frame.ts';
import { createMerchantFloat, type MerchantFloat } from './merchant-float.ts';
import { writeMoney } from './money.ts';
import type { MomoProduct } from './mtn-momo-access.ts';
import {
  type MomoSandboxOutcome,
  sandboxOutcomeOfNumber,
  sandboxOutcomeOfRefund,
  sandboxOutcomeOfRefundAmount,
} from './mtn-momo-sandbox.ts';
import { askPayer } from './payer-prompt.ts';
import { type Decision, decisionOf } from './phones.ts';

export type MomoKind = 'requesttopay' | 'transfer' | 'deposit' | 'refund';

export type MomoPayment = {
  kind: MomoKind;
  product: MomoProduct;
  environment: string;
  /** X-Reference-Id. */
  reference: string;
  amount: bigint;
  currency: string;
  externalId: string;
  msisdn: string;
  payerMessage: string;
  payeeNote: string;
  callbackUrl: string | null;
  /** Only of a refund. */
  referenceToRefund: string | null;
  /** TIMEOUT is a word of old documents: the end is not known yet. */
  status: 'PENDING' | 'SUCCESSFUL' | 'FAILED' | 'TIMEOUT';
  reason: string | null;
  receipt: string | null;
  createdAt: number;
};

const REASONS: Readonly<Record<Exclude<Decision, 'approve' | 'ignore'>, string>> = {
  cancel: 'APPROVAL_REJECTED',
  // MTN has no reason for a wrong PIN.
  wrong_pin: 'PAYMENT_NOT_APPROVED',
  no_money: 'NOT_ENOUGH_FUNDS',
  not_found: 'PAYER_NOT_FOUND',
  limit_reached: 'PAYER_LIMIT_REACHED',
};

const OPERATIONS: Readonly<Record<MomoKind, Operation>> = {
  requesttopay: 'collect',
  transfer: 'payout',
  deposit: 'payout',
  refund: 'refund',
};

export interface MomoPayments {
  find(product: MomoProduct, environment: string, reference: string): MomoPayment | null;
  /** Takes a payment; its end comes later. */
  take(payment: MomoPayment): void;
  /** Status answer and callback have the same body. */
  bodyOf(payment: MomoPayment): Record<string, unknown>;
  /** What the account holds for payouts. */
  floatOf(currency: string): bigint;
  actions: Record<string, SimulatorAction>;
}

type State = {
  context: SimulatorContext;
  settings: Readonly<Record<string, string>>;
  payments: Map<string, MomoPayment>;
  float: MerchantFloat;
  nextReceipt: () => string;
};

const keyOf = (product: string, environment: string, reference: string) =>
  `${product} ${environment} ${reference.toLowerCase()}`;

export function createMomoPayments(
  context: SimulatorContext,
  settings: Readonly<Record<string, string>>,
): MomoPayments {
  // Goes on after a restart, because a receipt is never given twice.
  let lastReceipt = Math.floor(context.now() / 10) % 100_000_000_000;
  const nextReceipt = () => String(++lastReceipt);
  const float = createMerchantFloat(context.book);
  const payments = new Map<string, MomoPayment>();
  const state: State = { context, settings, payments, float, nextReceipt };
  return {
    find: (product, environment, reference) => payments.get(keyOf(product, environment, reference)) ?? null,
    bodyOf: (payment) => bodyOf(state, payment),
    floatOf: (currency) => float.of(currency),
    take: (payment) => takePayment(state, payment),
    actions: createActions(state),
  };
}

function takePayment(state: State, payment: MomoPayment): void {
  const { context, settings, payments } = state;
  payments.set(keyOf(payment.product, payment.environment, payment.reference), payment);
  if (settings.callbackPending === 'yes') report(state, payment, bodyOf(state, payment));
  const outcome = payment.environment === 'sandbox' ? sandboxOutcomeOf(payment) : null;
  if (outcome !== null) followSandbox(state, payment, outcome);
  else if (payment.kind === 'requesttopay') askForPayment(state, payment);
  else
    context.after(Number(settings.payoutSeconds) * 1000, () => finish(state, payment, reasonAgainst(state, payment)));
}

function followSandbox(state: State, payment: MomoPayment, outcome: MomoSandboxOutcome): void {
  if (outcome === 'ongoing') return;
  const isDelayed = outcome === 'delayed' || outcome === 'delayed failure';
  const reason = outcome === 'delayed failure' ? 'INTERNAL_PROCESSING_ERROR' : null;
  const ms = isDelayed ? Number(state.settings.delayedSeconds) * 1000 : 1;
  state.context.after(ms, () => finish(state, payment, typeof outcome === 'object' ? outcome.reason : reason));
}

function askForPayment(state: State, payment: MomoPayment): void {
  const prompt = {
    msisdn: payment.msisdn,
    text: `MTN MoMo: ${payment.payerMessage}. Enter your PIN to approve.`,
    amount: writeMoney(payment.amount),
    currency: payment.currency,
    kind: 'pin' as const,
  };
  const reasons: Readonly<Record<Decision, string | null>> = {
    approve: null,
    ignore: state.settings.expiredReason ?? '',
    ...REASONS,
  };
  askPayer(state.context, prompt, Number(state.settings.promptSeconds), (decision) =>
    finish(state, payment, reasons[decision]),
  );
}

/** Why a payout or refund cannot be made. Each refund may be as large as the payment; nobody is known to add several up. */
function reasonAgainst({ payments }: State, payment: MomoPayment): string | null {
  if (payment.kind === 'refund') {
    const paid = payments.get(keyOf('collection', payment.environment, payment.referenceToRefund ?? ''));
    return paid?.status === 'SUCCESSFUL' && payment.amount <= paid.amount ? null : 'NOT_ALLOWED';
  }
  const decision = decisionOf(payment.msisdn);
  if (decision === 'not_found') return 'PAYEE_NOT_FOUND';
  return decision === 'limit_reached' ? 'PAYEE_NOT_ALLOWED_TO_RECEIVE' : null;
}

function finish(state: State, payment: MomoPayment, reason: string | null): void {
  const { context, settings, float } = state;
  const operation = OPERATIONS[payment.kind];
  const lacksFloat = payment.kind !== 'requesttopay' && payment.amount > float.of(payment.currency);
  if (reason !== null) end(state, payment, reason);
  else if (lacksFloat) end(state, payment, 'NOT_ENOUGH_FUNDS');
  else if (context.takeFault('unknown_code', operation)) end(state, payment, 'WALLET_RULE_VIOLATED');
  else if (context.takeFault('late_success', operation)) {
    payment.status = 'TIMEOUT';
    context.after(Number(settings.lateSeconds) * 1000, () => end(state, payment, null));
  } else end(state, payment, null);
}

function end(state: State, payment: MomoPayment, reason: string | null): void {
  payment.status = reason === null ? 'SUCCESSFUL' : 'FAILED';
  payment.reason = reason;
  if (reason === null) {
    const { msisdn, amount, currency, reference: id } = payment;
    const receipt = state.nextReceipt();
    payment.receipt = receipt;
    state.context.book.enter({ kind: kindInBook(payment.kind), id, receipt, msisdn, amount, currency });
  }
  report(state, payment, bodyOf(state, payment));
}

/** Sent once, whatever the receiver answers. The reference is not in it. */
function report({ context, settings }: State, payment: MomoPayment, body: Record<string, unknown>): void {
  if (payment.callbackUrl === null) return;
  const referenceId = settings.callbackReference === 'yes' ? { referenceId: payment.reference } : {};
  for (const method of ['PUT', 'POST'] as const) {
    if (settings.callbackMethod !== method && settings.callbackMethod !== 'both') continue;
    void context.send({ url: payment.callbackUrl, method, body: { ...referenceId, ...body } });
  }
}

function bodyOf({ settings }: State, payment: MomoPayment): Record<string, unknown> {
  const receipt = settings.receiptForm === 'number' ? Number(payment.receipt) : payment.receipt;
  return {
    amount: writeNormalised(payment.amount),
    currency: payment.currency,
    ...(payment.receipt === null ? {} : { financialTransactionId: receipt }),
    externalId: payment.externalId,
    [payment.kind === 'requesttopay' ? 'payer' : 'payee']: { partyIdType: 'MSISDN', partyId: payment.msisdn },
    payerMessage: payment.payerMessage,
    payeeNote: payment.payeeNote,
    status: payment.status,
    ...(payment.reason === null ? {} : { reason: writeReason(payment.reason, settings.reasonForm) }),
  };
}

function createActions(state: State): Record<string, SimulatorAction> {
  const findById = (id: unknown) => [...state.payments.values()].find(({ reference }) => reference === id);
  return {
    top_up: (body) => state.float.topUp(body),
    reverse: ({ id }) => {
      const payment = findById(id);
      if (payment?.status !== 'SUCCESSFUL' || payment.kind === 'refund') return { status: 404, body: '' };
      const kind = payment.kind === 'requesttopay' ? 'collection_reversed' : 'payout_returned';
      const { msisdn, amount, currency, reference } = payment;
      state.context.book.enter({ kind, id: reference, receipt: state.nextReceipt(), msisdn, amount, currency });
      return { status: 200, body: { reversed: reference } };
    },
    /** A stranger who knows the address says that the payment succeeded. */
    forge: ({ id }) => {
      const payment = findById(id);
      if (!payment) return { status: 404, body: '' };
      const { reason: _, ...body } = bodyOf(state, payment);
      report(state, payment, { ...body, financialTransactionId: '1', status: 'SUCCESSFUL' });
      return { status: 200, body: { forged: payment.reference } };
    },
  };
}

function sandboxOutcomeOf(payment: MomoPayment): MomoSandboxOutcome | null {
  if (payment.kind === 'requesttopay') return sandboxOutcomeOfNumber(payment.msisdn, 'payer');
  if (payment.kind !== 'refund') return sandboxOutcomeOfNumber(payment.msisdn, 'payee');
  const byReference = sandboxOutcomeOfRefund(payment.referenceToRefund ?? '');
  if (byReference !== null) return byReference;
  const byAmount = sandboxOutcomeOfRefundAmount(writeNormalised(payment.amount));
  return byAmount === 'success' ? null : byAmount;
}

function kindInBook(kind: MomoKind): 'collection' | 'payout' | 'refund' {
  if (kind === 'requesttopay') return 'collection';
  return kind === 'refund' ? 'refund' : 'payout';
}

/** "5.0" comes back as "5". */
export function writeNormalised(amount: bigint): string {
  return writeMoney(amount).replace(/\.?0+$/, '');
}

/** The schema has an object, recorded answers have a text. */
function writeReason(code: string, form: string | undefined): unknown {
  return form === 'string' ? code : { code, message: `${code.toLowerCase().replaceAll('_', ' ')}.` };
}
