// How Paystack names our methods, numbers and amounts.

import type { RailConnection } from './connection.ts';
import type { RailMethod } from './rail.ts';
import { currencyOf, hundredthsOf, textOf } from './reading.ts';
import { jsonIntegerOf } from './wire-money.ts';

type Recipient =
  | { type: 'mobile_money'; bankCode: string }
  /** The code of the bank is a setting: we know account numbers, not banks. */
  | { type: 'kepss' | 'nuban'; bankSetting: string };

export type PaystackMethod = {
  /** The payer confirms on the phone, gives us a code, or sends the money to a pay bill, a till or a bank account. */
  pay: 'phone' | 'paybill' | 'till' | 'bank_transfer';
  /** Of mobile_money. */
  provider: string;
  recipient: Recipient | null;
  refunds: 'none' | 'partial';
};

const phone = (provider: string, bankCode: string): PaystackMethod => ({
  pay: 'phone',
  provider,
  recipient: { type: 'mobile_money', bankCode },
  refunds: 'partial',
});
/** Paystack's specification lists XOF neither for refunds nor for transfers. */
const collectOnly = (provider: string): PaystackMethod => ({
  pay: 'phone',
  provider,
  recipient: null,
  refunds: 'none',
});
const transfer = (type: 'kepss' | 'nuban', bankSetting: string): PaystackMethod => ({
  pay: 'bank_transfer',
  provider: '',
  recipient: { type, bankSetting },
  refunds: 'partial',
});

export const METHODS: Readonly<Record<string, PaystackMethod>> = {
  MPESA_KEN: phone('mpesa', 'MPESA'),
  MPESA_TILL_KEN: { pay: 'till', provider: 'mptill', recipient: null, refunds: 'partial' },
  MPESA_PAYBILL_KEN: { pay: 'paybill', provider: 'mpesa_offline', recipient: null, refunds: 'partial' },
  PESALINK_KEN: transfer('kepss', 'kenyan_bank_code'),
  MTN_MOMO_GHA: phone('mtn', 'MTN'),
  VODAFONE_GHA: phone('vod', 'VOD'),
  AIRTELTIGO_GHA: phone('atl', 'ATL'),
  BANK_NGA: transfer('nuban', 'nigerian_bank_code'),
  ORANGE_CIV: collectOnly('orange'),
  MTN_MOMO_CIV: collectOnly('mtn'),
};

const CODE_OF_KENYA = '254';

/** As the operator of a charge reads it. */
export function chargePhone(msisdn: string, { country }: RailMethod, settings: RailConnection['settings']): string {
  if (country.dialCode !== CODE_OF_KENYA) return nationalNumber(msisdn, country);
  return settings.kenyan_numbers === 'digits' ? msisdn : `+${msisdn}`;
}

/** 0551234987: recipients are named as people write their number at home. */
export function nationalNumber(msisdn: string, { dialCode, trunk }: RailMethod['country']): string {
  return msisdn.startsWith(dialCode) ? `${trunk}${msisdn.slice(dialCode.length)}` : msisdn;
}

/** What a bank knows an account by; banks whose accounts are phone numbers leave the trunk digit out. */
export function accountNumber(msisdn: string, { dialCode }: RailMethod['country']): string {
  return msisdn.startsWith(dialCode) && msisdn.length > 10 ? msisdn.slice(dialCode.length) : msisdn;
}

/** How many of Paystack's units our hundredth is worth; null where nobody has said it. Sources disagree about XOF. */
type Scale = (currency: string) => 'hundredths' | 'whole' | null;

/** Amounts on the wire are whole numbers of the smallest unit. */
export interface Amounts {
  isKnown(currency: string): boolean;
  /** The number to send, as JSON. */
  toWire(amount: bigint, currency: string): object;
  fromWire(value: unknown, currency: unknown): { amount: bigint; currency: string } | null;
  /** A balance, which may be nothing or less. */
  balanceFromWire(value: unknown, currency: string): bigint | null;
}

export function createAmounts({ xof_factor: factor }: RailConnection['settings']): Amounts {
  const scaleOf: Scale = (currency) => {
    if (currency !== 'XOF') return 'hundredths';
    return factor === '100' ? 'hundredths' : factor === '1' ? 'whole' : null;
  };
  const ours = (units: bigint, currency: string) => (scaleOf(currency) === 'whole' ? units * 100n : units);
  return {
    isKnown: (currency) => scaleOf(currency) !== null,
    toWire: (amount, currency) => jsonIntegerOf(scaleOf(currency) === 'whole' ? amount / 100n : amount),
    fromWire(value, given) {
      const currency = currencyOf(given);
      const units = hundredthsOf(value);
      if (currency === null || units === null || scaleOf(currency) === null) return null;
      return { amount: ours(units, currency), currency };
    },
    balanceFromWire(value, currency) {
      const text = textOf(value) ?? '';
      return /^-?\d{1,20}$/.test(text) && scaleOf(currency) !== null ? ours(BigInt(text), currency) : null;
    },
  };
}
