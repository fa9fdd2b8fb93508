// Refunds of Paystack: its own ids only, no idempotency, and a life that moves the status of the transaction.

import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { PAYSTACK_INTEGRATION, type PaystackAccount } from './paystack-account.ts';
import { customerData, transactionData } from './paystack-bodies.ts';
import type { PaystackCharge } from './paystack-charge-life.ts';
import type { PaystackCharges } from './paystack-charges.ts';
import {
  accepted,
  checkPaystackFields,
  type PaystackJson,
  paystackText,
  paystackTime,
  readSubunits,
  refused,
  writeSubunits,
} from './paystack-wire.ts';

export type PaystackRefund = {
  id: number;
  charge: PaystackCharge;
  amount: bigint;
  status: 'pending' | 'processing' | 'needs-attention' | 'failed' | 'processed';
  customerNote: string;
  merchantNote: string;
  createdAt: number;
};

export const PAYSTACK_REFUND_OUTCOMES = ['failed', 'needs-attention'] as const;
export type PaystackRefundOutcome = (typeof PAYSTACK_REFUND_OUTCOMES)[number];

export interface PaystackRefunds {
  routes: SimulatorRoute[];
  plan(outcome: PaystackRefundOutcome): void;
  /** What refunds have left of a charge. */
  restOf(charge: PaystackCharge): bigint;
}

const REFUND_FIELDS = {
  transaction: 'any',
  amount: 'amount?',
  currency: 'text?',
  customer_note: 'text?',
  merchant_note: 'text?',
};
const DAY_MS = 86_400_000;

export function createPaystackRefunds(account: PaystackAccount, charges: PaystackCharges): PaystackRefunds {
  const refunds: PaystackRefund[] = [];
  const life = createRefundLife(account, refunds);

  function create({ json }: SimulatorRequest): SimulatorAnswer {
    const read = readRefund(account, json, charges, refunds);
    if ('refusal' in read) return read.refusal;
    refunds.push(read);
    life.begin(read);
    const { transaction: _, ...data } = refundData(account, read);
    return accepted('Refund has been queued for processing', {
      transaction: transactionData(account, read.charge),
      ...data,
    });
  }

  const find = ({ params }: SimulatorRequest) => refunds.find(({ id }) => String(id) === params.id);

  function retry(request: SimulatorRequest): SimulatorAnswer {
    const found = find(request);
    if (!found) return refused('Refund not found', 'refund_not_found', 404);
    if (found.status !== 'needs-attention')
      return refused('Invalid Refund state, only refunds that need attention can be retried', 'invalid_state', 422);
    const refusal =
      checkPaystackFields(request.json, { refund_account_details: 'object' }) ??
      checkPaystackFields(request.json?.refund_account_details as PaystackJson, {
        currency: 'text',
        account_number: 'text',
        bank_id: 'text',
      });
    if (refusal) return refusal;
    life.process(found);
    return accepted('Refund retried and has been queued for processing', {
      ...refundData(account, found),
      reason: null,
      bank_reference: null,
      session_id: null,
      reversed_at: null,
    });
  }

  return {
    plan: (outcome) => life.plan(outcome),
    restOf: (charge) => restOf(charge, refunds),
    routes: [
      { method: 'POST', path: '/refund', operation: 'refund', handle: create },
      {
        method: 'GET',
        path: '/refund',
        operation: 'query',
        handle: ({ query }) => listRefunds(account, refunds, query),
      },
      {
        method: 'GET',
        path: '/refund/:id',
        operation: 'query',
        handle: (request) => {
          const found = find(request);
          if (!found) return refused('Refund not found', 'refund_not_found', 404);
          const { createdAt, updatedAt, ...data } = refundData(account, found);
          const fully_deducted = found.status === 'processed' ? 1 : 0;
          return accepted('Refund retrieved', {
            ...data,
            fully_deducted,
            created_at: createdAt,
            updated_at: updatedAt,
          });
        },
      },
      { method: 'POST', path: '/refund/retry_with_customer_details/:id', operation: 'refund', handle: retry },
    ],
  };
}

/** What is left to refund: refunds that failed gave their money back. */
const restOf = (charge: PaystackCharge, refunds: PaystackRefund[]) =>
  refunds
    .filter((refund) => refund.charge === charge && refund.status !== 'failed')
    .reduce((rest, { amount }) => rest - amount, charge.amount);

function readRefund(
  account: PaystackAccount,
  body: PaystackJson | null,
  charges: PaystackCharges,
  refunds: PaystackRefund[],
): PaystackRefund | { refusal: SimulatorAnswer } {
  const { context, settings, ids } = account;
  const refusal = checkPaystackFields(body, REFUND_FIELDS);
  if (refusal || body === null) return { refusal: refusal ?? refused('Invalid JSON') };
  const key = typeof body.transaction === 'number' ? String(body.transaction) : paystackText(body.transaction);
  const charge = charges.find(key);
  if (!charge) return { refusal: refused('Transaction not found', 'transaction_not_found', 404) };
  const { currency } = charge;
  if (body.currency !== undefined && body.currency !== currency)
    return { refusal: refused('The currency is not that of the transaction') };
  if (currency === 'XOF' && settings.xofRefunds !== 'true')
    return { refusal: refused('Refunds are not supported for XOF', 'unsupported_currency') };
  if (charge.paidAt === undefined) return { refusal: refused('Transaction has not been paid', 'invalid_state') };
  const rest = restOf(charge, refunds);
  if (rest === 0n || charge.status === 'reversed')
    return { refusal: refused('Transaction has been fully reversed', 'transaction_reversed') };
  const amount = body.amount === undefined ? rest : readSubunits(body.amount, currency, settings);
  if (amount === null) return { refusal: refused('Invalid Amount Sent') };
  if (amount > rest) return { refusal: refused('Refund amount cannot be more than transaction amount') };
  if (amount > account.available(currency))
    return { refusal: refused('Your balance is not enough to fulfil this request', 'insufficient_balance') };
  return {
    id: ids.number(),
    charge,
    amount,
    status: 'pending',
    customerNote: paystackText(body.customer_note),
    merchantNote: paystackText(body.merchant_note),
    createdAt: context.now(),
  };
}

/** What happens to a refund once it exists. */
function createRefundLife(account: PaystackAccount, refunds: PaystackRefund[]) {
  const { context, settings } = account;
  const planned: PaystackRefundOutcome[] = [];

  function begin(refund: PaystackRefund): void {
    account.reserve(refund.charge.currency, refund.amount);
    updateStatus(refund.charge);
    notifyRefund(account, refund);
    context.after(Number(settings.processingMs), () => process(refund));
  }

  function process(refund: PaystackRefund): void {
    refund.status = 'processing';
    notifyRefund(account, refund);
    context.after(Number(settings.processingMs), () => {
      const outcome = planned.shift();
      if (outcome === 'needs-attention') {
        refund.status = 'needs-attention';
        notifyRefund(account, refund);
      } else if (outcome === 'failed' || context.takeFault('unknown_code', 'refund')) fail(refund);
      else if (context.takeFault('late_success', 'refund'))
        context.after(Number(settings.lateSuccessSeconds) * 1000, () => succeed(refund));
      else succeed(refund);
    });
  }

  function succeed(refund: PaystackRefund): void {
    const { id, charge, amount } = refund;
    const { reference, currency, way } = charge;
    refund.status = 'processed';
    account.reserve(currency, -amount);
    account.enter(
      { kind: 'refund', id: reference, receipt: String(id), msisdn: way.payer, amount, currency },
      { model: 'Refund', id, reason: `Refund of ${reference}` },
    );
    updateStatus(charge);
    notifyRefund(account, refund);
  }

  function fail(refund: PaystackRefund): void {
    refund.status = 'failed';
    account.reserve(refund.charge.currency, -refund.amount);
    updateStatus(refund.charge);
    notifyRefund(account, refund);
  }

  /** A transaction whose whole amount is being refunded is no longer called a success. */
  function updateStatus(charge: PaystackCharge): void {
    const isOpen = refunds.some(
      (refund) => refund.charge === charge && !['failed', 'processed'].includes(refund.status),
    );
    if (restOf(charge, refunds) > 0n) charge.status = 'success';
    else charge.status = isOpen ? 'reversal pending' : 'reversed';
  }

  return { begin, process, plan: (outcome: PaystackRefundOutcome) => void planned.push(outcome) };
}

/** There is no filter by transaction: a query that asks for one gets all. */
function listRefunds(account: PaystackAccount, refunds: PaystackRefund[], query: URLSearchParams): SimulatorAnswer {
  const { context, settings } = account;
  const perPage = Number(query.get('perPage') ?? 50);
  const page = Number(query.get('page') ?? 1);
  const from = Date.parse(query.get('from') ?? '1970-01-01');
  const to = Date.parse(query.get('to') ?? '9999-12-31');
  const seen = context.now() - Number(settings.refundListLagMs);
  const rows = refunds
    .filter(({ createdAt }) => createdAt >= from && createdAt <= to && createdAt <= seen)
    .toReversed();
  const shown = rows.slice((page - 1) * perPage, page * perPage);
  return accepted(
    'Refunds retrieved',
    shown.map((refund) => refundData(account, refund)),
    { meta: { total: rows.length, skipped: 0, perPage, page, pageCount: Math.ceil(rows.length / perPage) } },
  );
}

/** The amount is a text in some of the events; only one of them has the id of the refund. */
function notifyRefund(account: PaystackAccount, refund: PaystackRefund): void {
  const { id, charge, amount, status, customerNote, merchantNote } = refund;
  const { settings, ids } = account;
  const { first_name, last_name, email } = customerData(charge);
  const number = writeSubunits(amount, charge.currency, settings);
  const isNumber = status === 'failed' || status === 'needs-attention';
  account.notify(`refund.${status}`, {
    status,
    transaction_reference: charge.reference,
    refund_reference: isNumber ? ids.code('TRF') : String(ids.number()),
    amount: isNumber ? number : String(number),
    currency: charge.currency,
    processor: isNumber ? 'instant-transfer' : 'mpgs_zen',
    customer: { first_name, last_name, email },
    integration: PAYSTACK_INTEGRATION,
    domain: account.domain(),
    ...(status === 'needs-attention'
      ? { id: String(id), customer_note: customerNote, merchant_note: merchantNote }
      : {}),
  });
}

/** In the forms of the list: the transaction is its number. */
function refundData({ settings, domain }: PaystackAccount, refund: PaystackRefund): PaystackJson {
  const { id, charge, amount, status, customerNote, merchantNote, createdAt } = refund;
  const isProcessed = status === 'processed';
  const written = writeSubunits(amount, charge.currency, settings);
  return {
    id,
    integration: PAYSTACK_INTEGRATION,
    domain: domain(),
    transaction: charge.id,
    dispute: null,
    settlement: null,
    amount: written,
    deducted_amount: isProcessed ? written : 0,
    fully_deducted: isProcessed,
    currency: charge.currency,
    channel: charge.way.channel,
    status,
    refunded_by: 'merchant@example.com',
    refunded_at: isProcessed ? paystackTime(createdAt) : null,
    expected_at: paystackTime(createdAt + 7 * DAY_MS),
    customer_note: customerNote || `Refund for transaction ${charge.reference}`,
    merchant_note: merchantNote || `Refund for transaction ${charge.reference} by merchant@example.com`,
    createdAt: paystackTime(createdAt),
    updatedAt: paystackTime(createdAt),
  };
}
