// The life of deposits, payouts and refunds at pawaPay: ACCEPTED, PROCESSING, perhaps ENQUEUED or IN_RECONCILIATION, and an end.

import type { Operation } from './faults.ts';
import type { SimulatorContext } from './frame.ts';
import { writeMoney } from './money.ts';
import type { PawapayCallbacks } from './pawapay-callbacks.ts';
import type { PawapayKind, PawapayStatus } from './pawapay-providers.ts';
import { type PawapayOrder, partyOf } from './pawapay-rules.ts';
import type { PawapayWallets } from './pawapay-wallets.ts';
import { type Decision, decisionOf } from './phones.ts';

export type PawapayPayment = PawapayOrder & {
  amount: bigint;
  status: 'ACCEPTED' | 'ENQUEUED' | 'PROCESSING' | 'IN_RECONCILIATION' | 'COMPLETED' | 'FAILED';
  created: string;
  acceptedAt: number;
  providerTransactionId?: string;
  failureReason?: { failureCode: string; failureMessage: string };
};

export const OPERATIONS: Record<PawapayKind, Operation> = { deposit: 'collect', payout: 'payout', refund: 'refund' };

/** What the numbers of the operator's sandbox do, by their last three digits. Null: nothing ever happens. */
const SANDBOX_DEPOSITS: Readonly<Record<string, string | null>> = {
  '129': null,
  '019': 'PAYER_LIMIT_REACHED',
  '029': 'PAYER_NOT_FOUND',
  '039': 'PAYMENT_NOT_APPROVED',
  '049': 'INSUFFICIENT_BALANCE',
  '059': 'TRANSACTION_ALREADY_IN_PROCESS',
  '069': 'UNSPECIFIED_FAILURE',
};
const SANDBOX_PAYOUTS: Readonly<Record<string, string | null>> = {
  '129': null,
  '089': 'RECIPIENT_NOT_FOUND',
  '099': 'WALLET_LIMIT_REACHED',
  '109': 'RECIPIENT_LIMIT_REACHED',
  '119': 'UNSPECIFIED_FAILURE',
};

/** pawaPay does not say whether the payer refused, mistyped the PIN or did nothing. */
const DEPOSIT_DECISIONS: Readonly<Record<Exclude<Decision, 'approve' | 'ignore'>, string>> = {
  cancel: 'PAYMENT_NOT_APPROVED',
  wrong_pin: 'PAYMENT_NOT_APPROVED',
  no_money: 'INSUFFICIENT_BALANCE',
  not_found: 'PAYER_NOT_FOUND',
  limit_reached: 'PAYER_LIMIT_REACHED',
};
const PAYOUT_DECISIONS: Readonly<Partial<Record<Decision, string>>> = {
  not_found: 'RECIPIENT_NOT_FOUND',
  limit_reached: 'RECIPIENT_LIMIT_REACHED',
};

const MESSAGES: Readonly<Record<string, string>> = {
  PAYMENT_NOT_APPROVED: 'The customer did not approve the payment.',
  INSUFFICIENT_BALANCE: 'The customer does not have enough funds to complete this payment.',
  PAYER_NOT_FOUND: 'The phone number does not belong to a customer of the provider.',
  RECIPIENT_NOT_FOUND: 'Recipient not found',
  MANUALLY_CANCELLED: 'The payment was cancelled while it was enqueued.',
};
const UNDOCUMENTED_CODE = 'PROVIDER_SETTLEMENT_MISMATCH';

export interface PawapayPayments {
  find(kind: PawapayKind, id: string): PawapayPayment | undefined;
  list(): PawapayPayment[];
  accept(order: PawapayOrder & { amount: bigint }): PawapayPayment;
  complete: (payment: PawapayPayment) => void;
  fail: (payment: PawapayPayment, failureCode: string) => void;
  /** Sends the callback of a payment that has ended, once more. */
  tell: (payment: PawapayPayment) => void;
  statusOf(provider: string, kind: PawapayKind): PawapayStatus;
  setStatus(provider: string, kind: PawapayKind, status: PawapayStatus): void;
  dataOf(payment: PawapayPayment): object;
}

type Parts = {
  context: SimulatorContext;
  settings: Readonly<Record<string, string>>;
  callbacks: PawapayCallbacks;
  wallets: PawapayWallets;
};

export function createPawapayPayments(parts: Parts): PawapayPayments {
  const { context, settings, wallets } = parts;
  const payments = new Map<string, PawapayPayment>();
  const statuses = new Map<string, PawapayStatus>();
  const ends = createPaymentEnds(parts);
  const process = createProcessing(parts, ends);
  const statusOf = (provider: string, kind: PawapayKind) => statuses.get(`${kind} ${provider}`) ?? 'OPERATIONAL';

  function accept(order: PawapayOrder & { amount: bigint }): PawapayPayment {
    const now = context.now();
    const payment: PawapayPayment = { ...order, status: 'ACCEPTED', created: pawapayTime(now), acceptedAt: now };
    payments.set(`${order.kind} ${order.id}`, payment);
    if (order.kind !== 'deposit') wallets.reserve(order.provider.country.country, order.amount);
    context.after(Number(settings.processingMs), () => {
      if (payment.status !== 'ACCEPTED') return;
      if (statusOf(order.provider.provider, order.kind) === 'DELAYED' && order.kind !== 'deposit')
        payment.status = 'ENQUEUED';
      else process(payment);
    });
    return payment;
  }

  return {
    ...ends,
    find: (kind, id) => payments.get(`${kind} ${id}`),
    list: () => [...payments.values()],
    accept,
    statusOf,
    setStatus(provider, kind, status) {
      statuses.set(`${kind} ${provider}`, status);
      if (status !== 'OPERATIONAL') return;
      for (const payment of payments.values())
        if (payment.status === 'ENQUEUED' && payment.provider.provider === provider && payment.kind === kind)
          process(payment);
    },
    dataOf: (payment) => dataOf(payment, Number(settings.amountDecimals)),
  };
}

type PaymentEnds = Pick<PawapayPayments, 'complete' | 'fail' | 'tell'>;

/** What happens between the acceptance of a payment and its end. */
function createProcessing(
  { context, settings }: Parts,
  { complete, fail }: PaymentEnds,
): (payment: PawapayPayment) => void {
  function process(payment: PawapayPayment): void {
    payment.status = 'PROCESSING';
    const { kind, phoneNumber } = payment;
    const ending = (kind === 'deposit' ? SANDBOX_DEPOSITS : SANDBOX_PAYOUTS)[phoneNumber.slice(-3)];
    if (context.takeFault('unknown_code', OPERATIONS[kind])) fail(payment, UNDOCUMENTED_CODE);
    else if (context.takeFault('late_success', OPERATIONS[kind])) {
      payment.status = 'IN_RECONCILIATION';
      context.after(Number(settings.lateSuccessSeconds) * 1000, () => complete(payment));
    } else if (ending) fail(payment, ending);
    else if (ending === undefined) (kind === 'deposit' ? askPayer : payOut)(payment);
  }

  function askPayer(payment: PawapayPayment): void {
    const { provider, phoneNumber, amount, currency } = payment;
    const shown = writeMoney(amount);
    const prompt = {
      msisdn: phoneNumber,
      text: `${payment.customerMessage ?? settings.companyName}: pay ${currency} ${shown}?`,
      amount: shown,
      currency,
      kind: provider.dial === null ? ('pin' as const) : ('dial' as const),
    };
    let stopWaiting = () => {};
    const rung = context.phones.ring(prompt, (decision) => {
      // The prompt of a payer who ignores it ends with its time.
      if (decision === 'ignore') return;
      stopWaiting();
      if (decision === 'approve') complete(payment);
      else fail(payment, DEPOSIT_DECISIONS[decision]);
    });
    stopWaiting = context.after(Number(settings.promptSeconds) * 1000, () => {
      context.phones.close(rung.id);
      fail(payment, 'PAYMENT_NOT_APPROVED');
    });
  }

  function payOut(payment: PawapayPayment): void {
    const decision = decisionOf(payment.phoneNumber);
    const failure = decision === null ? undefined : PAYOUT_DECISIONS[decision];
    const ms = decision === 'ignore' ? Number(settings.promptSeconds) * 1000 : Number(settings.processingMs);
    context.after(ms, () => {
      if (decision === 'ignore') fail(payment, 'UNSPECIFIED_FAILURE');
      else if (failure === undefined) complete(payment);
      else fail(payment, failure);
    });
  }

  return process;
}

/** How payments end: the book and the callback. The first end is the last. */
function createPaymentEnds({ context, settings, callbacks, wallets }: Parts): PaymentEnds {
  let receipts = 0;
  const isFinal = ({ status }: PawapayPayment) => status === 'COMPLETED' || status === 'FAILED';
  const tell = (payment: PawapayPayment) =>
    callbacks.deliver(payment.kind, callbackOf(payment, Number(settings.amountDecimals)));

  function complete(payment: PawapayPayment): void {
    if (isFinal(payment)) return;
    receipts++;
    payment.status = 'COMPLETED';
    payment.providerTransactionId = `${context.now()}${String(receipts % 1000).padStart(3, '0')}`;
    const { kind, id, amount, currency, phoneNumber, provider } = payment;
    const where = provider.country.country;
    if (kind !== 'deposit') wallets.release(where, amount);
    wallets.enter(where, {
      kind: kind === 'deposit' ? 'collection' : kind,
      id,
      receipt: payment.providerTransactionId,
      msisdn: phoneNumber,
      amount,
      currency,
    });
    tell(payment);
  }

  function fail(payment: PawapayPayment, failureCode: string): void {
    if (isFinal(payment)) return;
    payment.status = 'FAILED';
    const failureMessage = MESSAGES[failureCode] ?? 'The payment could not be completed.';
    payment.failureReason = { failureCode, failureMessage };
    if (payment.kind !== 'deposit') wallets.release(payment.provider.country.country, payment.amount);
    tell(payment);
  }

  return { complete, fail, tell };
}

/** "2020-10-19T11:17:01Z": whole seconds. */
export const pawapayTime = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

function dataOf(payment: PawapayPayment, decimals: number): object {
  const { kind, id, status, currency, provider, phoneNumber, created, metadata } = payment;
  const { customerMessage, clientReferenceId, providerTransactionId, failureReason } = payment;
  return {
    [`${kind}Id`]: id,
    status,
    amount: echoAmount(payment.amount, decimals),
    currency,
    country: provider.country.country,
    [partyOf(kind)]: { type: 'MMO', accountDetails: { phoneNumber, provider: provider.provider } },
    ...(customerMessage === undefined ? {} : { customerMessage }),
    ...(clientReferenceId === undefined ? {} : { clientReferenceId }),
    created,
    ...(providerTransactionId === undefined ? {} : { providerTransactionId }),
    ...(failureReason === undefined ? {} : { failureReason }),
    metadata,
  };
}

/** As the query, but flat, without clientReferenceId, and with a failureReason of null in a completed deposit. */
function callbackOf(payment: PawapayPayment, decimals: number): object {
  const { clientReferenceId: _, metadata, ...body } = dataOf(payment, decimals) as Record<string, unknown>;
  const isPaidDeposit = payment.kind === 'deposit' && payment.status === 'COMPLETED';
  return { ...body, ...(isPaidDeposit ? { failureReason: null } : {}), metadata };
}

/** pawaPay gives amounts back with 0, 2 or 4 decimals. */
function echoAmount(amount: bigint, decimals: number): string {
  const text = writeMoney(amount);
  if (decimals === 0) return text.replace(/\.?0+$/, '');
  return `${text}${'0'.repeat(Math.max(decimals - 2, 0))}`;
}
