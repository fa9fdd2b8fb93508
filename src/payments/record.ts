// The transaction record of the specification: every field always present, null where it does not apply.
// It is in status answers, callbacks and the event feed.

import type { Catalog, Direction } from '../catalog/catalog.ts';
import { dateTimeSeconds, isoMicroseconds } from '../platform/clock.ts';
import { publicId } from '../platform/ids.ts';
import { amountToNumber } from '../platform/money.ts';
import { STATUS_CODES } from './states.ts';
import { refOf, type Transaction } from './transactions.ts';

/** The specification calls a collection a payin. */
export function wireDirection(direction: Direction): 'payin' | 'payout' {
  return direction === 'collection' ? 'payin' : 'payout';
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

/** The data of a callback: the v3 record, the link it was paid through, and whether the success came late. */
export function eventData(catalog: Catalog, transaction: Transaction, late: boolean) {
  return {
    ...recordV3(catalog, transaction),
    ...(transaction.link_id === null ? {} : { payment_link_id: publicId('pl', transaction.link_id) }),
    ...(late ? { late: true } : {}),
  };
}
