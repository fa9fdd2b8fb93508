// The ways to pay a charge at Paystack: which provider of which country answers with which next step.

import type { SimulatorAnswer } from './frame.ts';
import { checkPaystackFields, type PaystackJson, readPhone, refused } from './paystack-wire.ts';

export type PaystackWay = {
  channel: 'mobile_money' | 'bank_transfer';
  provider: string;
  /** The first data.status of the charge. */
  step: 'pay_offline' | 'send_otp' | 'open_url' | 'pending_bank_transfer';
  displayText: string;
  bank: string;
  countryCode: string;
  /** The payer's number with dial code; the till for a till; empty for a bank transfer. */
  payer: string;
  /** Only bank transfers: when the account ends, in milliseconds. */
  expiresAt?: number;
};

const ON_PHONE = 'Please complete authorization process on your mobile phone';
const VOUCHER = 'Please dial *110# to generate a voucher code. Then input the voucher';

type Row = Pick<PaystackWay, 'step' | 'displayText' | 'bank'>;

const PROVIDERS: Readonly<Record<string, { countryCode: string; providers: Record<string, Row> }>> = {
  GHS: {
    countryCode: 'GH',
    providers: {
      mtn: { step: 'pay_offline', displayText: ON_PHONE, bank: 'MTN Mobile Money' },
      atl: { step: 'pay_offline', displayText: ON_PHONE, bank: 'AirtelTigo Money' },
      vod: { step: 'send_otp', displayText: VOUCHER, bank: 'Telecel Cash' },
    },
  },
  KES: {
    countryCode: 'KE',
    providers: {
      mpesa: { step: 'pay_offline', displayText: ON_PHONE, bank: 'M-PESA' },
      mpesa_offline: { step: 'pay_offline', displayText: ON_PHONE, bank: 'M-PESA' },
      mptill: { step: 'pay_offline', displayText: ON_PHONE, bank: 'M-PESA' },
    },
  },
  XOF: {
    countryCode: 'CI',
    providers: {
      mtn: { step: 'pay_offline', displayText: ON_PHONE, bank: 'MTN Mobile Money' },
      orange: {
        step: 'send_otp',
        displayText: 'Please dial #144*82# to generate a code. Then input the code',
        bank: 'Orange Money',
      },
      wave: { step: 'open_url', displayText: '', bank: 'Wave' },
    },
  },
};

/** What an account that waits for a transfer lives, where the merchant does not say. */
const ACCOUNT_LIFETIME_MS = 30 * 60_000;

export function readWay(body: PaystackJson, currency: string, now: number): PaystackWay | { refusal: SimulatorAnswer } {
  if (body.bank_transfer !== undefined) return readBankTransfer(body.bank_transfer as PaystackJson, currency, now);
  if (body.mobile_money === undefined) return { refusal: refused('Please specify a payment channel to charge') };
  const details = body.mobile_money as PaystackJson;
  const refusal = checkPaystackFields(details, { phone: 'text?', account: 'text?', provider: 'text' });
  if (refusal) return { refusal };
  const provider = (details.provider as string).toLowerCase();
  const country = PROVIDERS[currency];
  const row = country?.providers[provider];
  if (!country || !row) return { refusal: refused(`Provider ${provider} is not supported for ${currency}`) };
  const payer = provider === 'mptill' ? readTill(details.account) : readPhone(details.phone, currency);
  if (payer === null)
    return { refusal: refused(provider === 'mptill' ? 'Invalid till number' : 'Invalid phone number') };
  return { ...row, channel: 'mobile_money', provider, countryCode: country.countryCode, payer };
}

const readTill = (account: unknown) => (typeof account === 'string' && /^\d{5,7}$/.test(account) ? account : null);

function readBankTransfer(
  details: PaystackJson,
  currency: string,
  now: number,
): PaystackWay | { refusal: SimulatorAnswer } {
  const refusal = checkPaystackFields(details, { account_expires_at: 'text?' });
  if (refusal) return { refusal };
  if (currency !== 'NGN' && currency !== 'KES')
    return { refusal: refused(`Bank transfer is not supported for ${currency}`) };
  const given = details.account_expires_at as string | undefined;
  const expiresAt = given === undefined ? now + ACCOUNT_LIFETIME_MS : Date.parse(given);
  if (!(expiresAt > now)) return { refusal: refused('account_expires_at must be a date in the future') };
  return {
    channel: 'bank_transfer',
    provider: 'bank_transfer',
    step: 'pending_bank_transfer',
    displayText: 'Please make a transfer to the account specified',
    bank: currency === 'KES' ? 'Diamond Trust Bank Limited' : 'Test Bank',
    countryCode: currency === 'KES' ? 'KE' : 'NG',
    payer: '',
    expiresAt,
  };
}
