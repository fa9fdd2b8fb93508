// The bodies of Paystack's answers and webhooks about transactions.

import type { PaystackAccount } from './paystack-account.ts';
import type { PaystackCharge } from './paystack-charge-life.ts';
import { type PaystackJson, paystackTime, writeSubunits } from './paystack-wire.ts';

/** The data of a charge that has not succeeded. */
export function stepData({ reference, step, way, extra, message }: PaystackCharge): PaystackJson {
  switch (step) {
    case 'failed':
    case 'timeout':
    case 'abandoned':
      return { reference, status: step, ...(message === null ? {} : { message }) };
    case 'pending':
      return { reference, status: step };
    case 'open_url':
      return { reference, ...extra, status: step };
    default:
      return { reference, status: step, display_text: way.displayText, ...extra };
  }
}

/** The account that waits for a bank transfer. Test accounts of Nigeria have no amount and no transaction reference. */
export function newAccountData(
  { settings, domain, ids }: PaystackAccount,
  { amount, currency, way }: PaystackCharge,
  accountNumber: string,
): PaystackJson {
  const account_expires_at = paystackTime(way.expiresAt ?? 0);
  if (currency === 'KES')
    return {
      account_name: 'Paystack Payments Kenya Limited',
      account_number: accountNumber,
      bank: { slug: 'dtbk-bank', name: 'Diamond Trust Bank Kenya Ltd', id: 225 },
      account_expires_at,
      amount: writeSubunits(amount, currency, settings),
      transaction_reference: String(ids.number() % 10_000_000),
    };
  const isTest = domain() === 'test';
  return {
    account_name: isTest ? 'TEST-MANAGED-ACCOUNT' : 'PAYSTACK CHECKOUT',
    account_number: accountNumber,
    bank: isTest
      ? { slug: 'test-bank', name: 'Test Bank', id: 24 }
      : { slug: 'titan-paystack', name: 'Paystack-Titan', id: 629 },
    account_expires_at,
  };
}

export const customerData = ({ id, email }: PaystackCharge): PaystackJson => ({
  id,
  first_name: null,
  last_name: null,
  email,
  customer_code: `CUS_${id}`,
  phone: null,
  metadata: null,
  risk_action: 'default',
});

/** Verify, and every place where Paystack shows the whole transaction. */
export function transactionData({ settings, domain }: PaystackAccount, charge: PaystackCharge): PaystackJson {
  const { id, reference, currency, status, createdAt, paidAt, way } = charge;
  const amount = writeSubunits(charge.amount, currency, settings);
  const paid_at = paidAt === undefined ? null : paystackTime(paidAt);
  return {
    id,
    domain: domain(),
    status: status === 'reversal pending' ? settings.reversalPendingStatus : status,
    reference,
    receipt_number: charge.receiptNumber,
    amount,
    message: charge.message,
    gateway_response: charge.gatewayResponse,
    ...(settings.gatewayResponseCode === 'true' ? { gateway_response_code: charge.gatewayResponseCode } : {}),
    paid_at,
    created_at: paystackTime(createdAt),
    channel: way.channel,
    currency,
    ip_address: '127.0.0.1',
    metadata: metadataOf(charge, settings.metadataForm === 'string'),
    log: null,
    fees: paidAt === undefined ? null : 0,
    fees_split: null,
    authorization: paidAt === undefined ? {} : authorizationData(charge),
    customer: customerData(charge),
    plan: null,
    split: {},
    order_id: null,
    paidAt: paid_at,
    createdAt: paystackTime(createdAt),
    requested_amount: amount,
    pos_transaction_data: null,
    source: null,
    fees_breakdown: null,
  };
}

/** The transaction of a charge.success. The two channels differ in what they add. */
export function chargeSuccessData(account: PaystackAccount, charge: PaystackCharge): PaystackJson {
  const { receipt_number, paidAt, createdAt: _, ...data } = transactionData(account, charge);
  return charge.way.channel === 'bank_transfer'
    ? { ...data, fees_breakdown: { amount: '0', formula: null, type: 'paystack' } }
    : { ...data, receipt_number, paidAt };
}

/** Metadata that was not sent comes back as "" from mobile money and as 0 from a bank transfer. */
function metadataOf({ metadata, way }: PaystackCharge, asText: boolean): unknown {
  if (metadata === undefined || metadata === null) return way.channel === 'bank_transfer' ? 0 : '';
  return asText && typeof metadata === 'object' ? JSON.stringify(metadata) : metadata;
}

function authorizationData({ id, way, sender, extra }: PaystackCharge): PaystackJson {
  const shared = {
    authorization_code: `AUTH_${id}`,
    exp_month: '12',
    exp_year: '9999',
    card_type: '',
    reusable: false,
  };
  if (way.channel === 'bank_transfer')
    return {
      ...shared,
      bin: '008XXX',
      last4: 'X553',
      channel: way.channel,
      bank: way.bank,
      country_code: way.countryCode,
      brand: 'Managed Account',
      account_name: null,
      sender_country: way.countryCode,
      sender_bank: way.bank,
      sender_bank_account_number: 'XXXXXXX607',
      sender_name: sender ?? null,
      narration: null,
      receiver_bank_account_number: extra.account_number ?? null,
      receiver_bank: way.bank,
    };
  return {
    ...shared,
    bin: `${way.payer.slice(0, 3)}XXX`,
    last4: `X${way.payer.slice(-3)}`,
    channel: way.channel,
    bank: way.bank,
    country_code: way.countryCode,
    brand: way.bank.charAt(0) + way.bank.slice(1).toLowerCase(),
    account_name: null,
    mobile_money_number: way.payer,
  };
}
