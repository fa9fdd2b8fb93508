// The transaction record of the specification: every field always present, null where it does not apply.
// It is in status answers, callbacks and the event feed.

import type { Catalog } from '../catalog/catalog.ts';
import { dateTimeSeconds, isoMicroseconds } from '../platform/clock.ts';
import { publicId } from '../platform/ids.ts';
import { amountToNumber } from '../platform/money.ts';
import type { PayerStep } from '../rails/rail.ts';
import type { Refund } from './refund-orders.ts';
import { STATUS_CODES, type TransactionDirection } from './states.ts';
import { refOf, type Transaction } from './transactions.ts';

/** The specification calls a collection a payin. */
export function wireDirection(direction: TransactionDirection): 'payin' | 'payout' | 'refund' {
  return direction === 'collection' ? 'payin' : direction;
}

/** The record as v2 of the status operation shows it. */
export function recordV2(catalog: Catalog, transaction: Transaction) {
  return {
    amount: amountToNumber(transaction.amount),
    fee: amountToNumber(transaction.fee),
    currency: transaction.currency,
    status: transaction.status,
    payee: transaction.payee,
    invoice_no: transaction.invoice_no,
    mobile: transaction.msisdn,
    account_number: transaction.account_number,
    ref: refOf(transaction),
    balance: transaction.balance_after === null ? null : amountToNumber(transaction.balance_after),
    transaction_detail: transaction.detail,
    payment_channel: catalog.methods.get(transaction.method)?.name ?? transaction.method,
    transaction_date: dateTimeSeconds(transaction.settled_at ?? transaction.created_at),
    created_at: isoMicroseconds(transaction.created_at),
    updated_at: isoMicroseconds(transaction.updated_at),
    callback_url: transaction.callback_url,
  };
}

/** The record as v3 and the callbacks show it. */
export function recordV3(catalog: Catalog, transaction: Transaction) {
  return {
    ...recordV2(catalog, transaction),
    status_code: STATUS_CODES[transaction.status],
    failureReason: { failureCode: transaction.failure_code, failureMessage: transaction.failure_message },
    third_party_reference_1: transaction.reference_1,
    third_party_reference_2: transaction.reference_2,
  };
}

/** What the payer has to do next: every field always present, null where it does not apply. */
export function describeStep(step: PayerStep) {
  const expiresAt = 'expiresAt' in step ? step.expiresAt : null;
  return {
    kind: step.kind,
    text: 'text' in step ? step.text : null,
    dial_code: step.kind === 'dial' ? step.code : step.kind === 'code' ? (step.dial ?? null) : null,
    url: 'url' in step ? step.url : null,
    qr_content: step.kind === 'qr' ? step.content : null,
    links: step.kind === 'qr' ? step.links.map(({ name, url }) => ({ name, url })) : [],
    pay_to: step.kind === 'transfer' ? step.payTo : null,
    account_reference: step.kind === 'transfer' ? step.accountReference : null,
    expires_at: expiresAt && isoMicroseconds(expiresAt),
  };
}

/** The data of a callback: the v3 record, the link it was paid through, and whether the success came late. */
export function eventData(catalog: Catalog, transaction: Transaction, late: boolean) {
  return {
    ...recordV3(catalog, transaction),
    ...(transaction.link_id === null ? {} : { payment_link_id: publicId('pl', transaction.link_id) }),
    ...(late ? { late: true } : {}),
  };
}

/** The record of a refund: in the answer of its status, in callbacks and in the feed. */
export function refundRecord(refund: Refund, late = false) {
  return {
    ref: refOf(refund),
    collection_ref: refOf({ id: refund.collection_id }),
    status: refund.status,
    status_code: STATUS_CODES[refund.status],
    amount: amountToNumber(refund.amount),
    // The order keeps what would have been returned; a refund that failed returned nothing.
    fee_returned: refund.status === 'failed' ? 0 : amountToNumber(refund.fee_returned),
    currency: refund.currency,
    mobile: refund.msisdn,
    reason: refund.reason,
    sent_as: refund.as_payout ? 'payout' : 'refund',
    balance: refund.balance_after === null ? null : amountToNumber(refund.balance_after),
    failureReason: { failureCode: refund.failure_code, failureMessage: refund.failure_message },
    third_party_reference_1: refund.reference_1,
    third_party_reference_2: refund.reference_2,
    callback_url: refund.callback_url,
    created_at: isoMicroseconds(refund.created_at),
    updated_at: isoMicroseconds(refund.updated_at),
    ...(late ? { late: true } : {}),
  };
}
