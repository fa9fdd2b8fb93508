// Disputes of Paystack: the bank of a payer asks for the money of a charge back. The merchant hears of it, is reminded, and then of
// its end. A dispute that is lost takes what is left of the charge.

import type { SimulatorRoute } from './frame.ts';
import { PAYSTACK_INTEGRATION, type PaystackAccount } from './paystack-account.ts';
import { customerData, transactionData } from './paystack-bodies.ts';
import type { PaystackCharge } from './paystack-charge-life.ts';
import { accepted, type PaystackJson, paystackTime, writeSubunits } from './paystack-wire.ts';

/** How long a merchant has to answer. */
const ANSWER_MS = 48 * 3_600_000;

type PaystackDispute = {
  id: number;
  charge: PaystackCharge;
  amount: bigint;
  message: string | null;
  resolution: 'merchant-accepted' | 'declined' | null;
  createdAt: number;
  dueAt: number;
};

export interface PaystackDisputes {
  readonly routes: SimulatorRoute[];
  /** False: the charge is not paid, or is disputed already. `amount`: null for what is left of the charge. */
  open(charge: PaystackCharge, amount?: bigint | null, message?: string | null): boolean;
  /** Sends a reminder with a new deadline. */
  remind(charge: PaystackCharge, moreMs: number): boolean;
  resolve(charge: PaystackCharge, resolution: 'merchant-accepted' | 'declined'): boolean;
}

export function createPaystackDisputes(
  account: PaystackAccount,
  restOf: (charge: PaystackCharge) => bigint,
): PaystackDisputes {
  const { context, ids } = account;
  const disputes: PaystackDispute[] = [];
  const openOf = (charge: PaystackCharge) =>
    disputes.find((dispute) => dispute.charge === charge && dispute.resolution === null);

  return {
    open(charge, amount = null, message = null) {
      if (charge.status !== 'success' || openOf(charge)) return false;
      const now = context.now();
      const dispute: PaystackDispute = {
        id: ids.number(),
        charge,
        amount: amount ?? restOf(charge),
        message,
        resolution: null,
        createdAt: now,
        dueAt: now + ANSWER_MS,
      };
      disputes.push(dispute);
      account.notify('charge.dispute.create', disputeData(account, dispute));
      return true;
    },
    remind(charge, moreMs) {
      const dispute = openOf(charge);
      if (!dispute) return false;
      dispute.dueAt += moreMs;
      account.notify('charge.dispute.remind', disputeData(account, dispute));
      return true;
    },
    resolve(charge, resolution) {
      const dispute = openOf(charge);
      if (!dispute) return false;
      dispute.resolution = resolution;
      if (resolution === 'merchant-accepted') takeBack(account, charge, restOf(charge));
      account.notify('charge.dispute.resolve', disputeData(account, dispute));
      return true;
    },
    routes: [
      {
        method: 'GET',
        path: '/dispute/transaction/:id',
        operation: 'query',
        handle: ({ params }) =>
          accepted(
            'Dispute retrieved',
            disputes
              .filter(({ charge }) => String(charge.id) === params.id)
              .map((dispute) => disputeData(account, dispute)),
          ),
      },
    ],
  };
}

function takeBack(account: PaystackAccount, charge: PaystackCharge, amount: bigint): void {
  charge.status = 'reversed';
  const { id, reference, currency, way, receiptNumber } = charge;
  const receipt = receiptNumber ?? String(id);
  account.enter(
    { kind: 'collection_reversed', id: reference, receipt, msisdn: way.payer, amount, currency },
    { model: 'Transaction', id, reason: `Chargeback of ${reference}` },
  );
}

/** The reference of the charge is in the transaction; the member that is named after it is empty. */
function disputeData(account: PaystackAccount, dispute: PaystackDispute): PaystackJson {
  const { id, charge, amount, message, resolution, createdAt, dueAt } = dispute;
  const { settings, domain, context } = account;
  const isResolved = resolution !== null;
  return {
    id,
    refund_amount: writeSubunits(amount, charge.currency, settings),
    currency: charge.currency,
    status: isResolved ? 'resolved' : 'awaiting-merchant-feedback',
    resolution,
    domain: domain(),
    transaction: transactionData(account, charge),
    transaction_reference: null,
    category: 'chargeback',
    customer: customerData(charge),
    bin: null,
    last4: null,
    dueAt: paystackTime(dueAt),
    resolvedAt: isResolved ? paystackTime(context.now()) : null,
    evidence: null,
    attachments: '',
    note: null,
    messages: message === null ? [] : [{ sender: charge.email, body: message, createdAt: paystackTime(createdAt) }],
    integration: PAYSTACK_INTEGRATION,
    createdAt: paystackTime(createdAt),
    updatedAt: paystackTime(context.now()),
  };
}
