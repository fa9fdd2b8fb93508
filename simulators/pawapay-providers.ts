// The providers of pawaPay with their limits, decimals and prompts, as the account of the simulator has them.

import { readMoney } from './money.ts';

export type PawapayStatus = 'OPERATIONAL' | 'DELAYED' | 'CLOSED';
export type PawapayKind = 'deposit' | 'payout' | 'refund';

export type PawapayCountry = { country: string; displayName: string; dialCode: string; digits: readonly number[] };

export type PawapayProvider = {
  provider: string;
  displayName: string;
  country: PawapayCountry;
  currency: string;
  /** The first digits of the national numbers of this provider. */
  ranges: RegExp;
  /** What the payer dials when no prompt appears by itself; null where it does. */
  dial: string | null;
  revivable: boolean;
  deposit: PawapayLimits;
  payout: PawapayLimits;
};

/** Amounts in hundredths. */
export type PawapayLimits = { decimals: 0 | 2; min: bigint; max: bigint };

const country = (code: string, displayName: string, dialCode: string, ...digits: number[]): PawapayCountry => ({
  country: code,
  displayName,
  dialCode,
  digits,
});

const KEN = country('KEN', 'Kenya', '254', 9);
// Benin moved from 8 digits to 10; both are in use.
const BEN = country('BEN', 'Benin', '229', 8, 10);
const CIV = country('CIV', "Côte d'Ivoire", '225', 10);
const CMR = country('CMR', 'Cameroon', '237', 9);
const SEN = country('SEN', 'Senegal', '221', 9);
const TZA = country('TZA', 'Tanzania', '255', 9);
const UGA = country('UGA', 'Uganda', '256', 9);
const ZMB = country('ZMB', 'Zambia', '260', 9);
const SLE = country('SLE', 'Sierra Leone', '232', 8);
const GHA = country('GHA', 'Ghana', '233', 9);

/** Provider, name, country, currency, ranges, decimals, deposit limits, payout limits where they differ, prompt. */
const ROWS: [string, string, PawapayCountry, string, RegExp, string, string, string, string][] = [
  ['MPESA_KEN', 'M-PESA', KEN, 'KES', /^[71]/, '0/2', '1-250000', '10-250000', ''],
  ['MTN_MOMO_BEN', 'MTN', BEN, 'XOF', /^(01)?(5[1-4]|6[1-9]|9[01679])/, '0', '1-2000000', '', 'revivable'],
  ['MOOV_BEN', 'Moov', BEN, 'XOF', /^(01)?(55|58|60|6[3-5]|68|9[4589])/, '0', '100-2000000', '', ''],
  ['MTN_MOMO_CIV', 'MTN', CIV, 'XOF', /^05/, '0', '1-2000000', '', '*133#'],
  ['ORANGE_CIV', 'Orange', CIV, 'XOF', /^07/, '0', '1-2000000', '', '#120#'],
  ['MTN_MOMO_CMR', 'MTN', CMR, 'XAF', /^6(7|5[0-4]|8[0-4])/, '0', '1-1000000', '', ''],
  ['ORANGE_CMR', 'Orange', CMR, 'XAF', /^6(9|5[5-9]|8[5-9])/, '0', '1-500000', '', ''],
  ['ORANGE_SEN', 'Orange', SEN, 'XOF', /^7[78]/, '0', '2-100000000', '1-200000', '#144#'],
  ['FREE_SEN', 'Free', SEN, 'XOF', /^76/, '0', '5-100000000', '1-200000', '#150#'],
  ['AIRTEL_TZA', 'Airtel', TZA, 'TZS', /^(68|69|78)/, '2', '100-3000000', '', 'revivable'],
  ['VODACOM_TZA', 'Vodacom', TZA, 'TZS', /^7[456]/, '0', '100-5000000', '', ''],
  ['TIGO_TZA', 'Tigo', TZA, 'TZS', /^(65|67|71|77)/, '0', '100-5000000', '1-5000000', ''],
  ['HALOTEL_TZA', 'Halotel', TZA, 'TZS', /^6[12]/, '0', '100-5000000', '', ''],
  ['MTN_MOMO_UGA', 'MTN', UGA, 'UGX', /^(3[19]|7[678])/, '2', '500-5000000', '', 'revivable'],
  ['AIRTEL_OAPI_UGA', 'Airtel', UGA, 'UGX', /^7[045]/, '0', '500-5000000', '', 'revivable'],
  ['MTN_MOMO_ZMB', 'MTN', ZMB, 'ZMW', /^[97]6/, '2', '1-20000', '', 'revivable'],
  ['AIRTEL_OAPI_ZMB', 'Airtel', ZMB, 'ZMW', /^[97]7/, '2', '1-20000', '', ''],
  ['ORANGE_SLE', 'Orange', SLE, 'SLE', /^(7[1-9])/, '2', '1-15000', '', '#144#'],
  ['MTN_MOMO_GHA', 'MTN', GHA, 'GHS', /^(24|25|5[3459])/, '2', '1-15000', '', 'revivable'],
  ['VODAFONE_GHA', 'Telecel', GHA, 'GHS', /^[25]0/, '2', '1-15000', '', 'revivable'],
  ['AIRTELTIGO_GHA', 'AT', GHA, 'GHS', /^(26|27|56|57)/, '2', '1-10000', '', ''],
];

export const PAWAPAY_PROVIDERS: readonly PawapayProvider[] = ROWS.map(
  ([provider, displayName, where, currency, ranges, decimals, deposit, payout, prompt]) => {
    const [depositDecimals = '0', payoutDecimals = depositDecimals] = decimals.split('/');
    return {
      provider,
      displayName,
      country: where,
      currency,
      ranges,
      dial: /\d/.test(prompt) ? prompt : null,
      revivable: prompt === 'revivable',
      deposit: limits(deposit, depositDecimals),
      payout: limits(payout || deposit, payoutDecimals),
    };
  },
);

function limits(range: string, decimals: string): PawapayLimits {
  const [min = '', max = ''] = range.split('-');
  return { decimals: decimals === '2' ? 2 : 0, min: readMoney(min) ?? 0n, max: readMoney(max) ?? 0n };
}

export const providerOf = (code: unknown) => PAWAPAY_PROVIDERS.find(({ provider }) => provider === code);

/** A refund follows the rules of payouts. */
export const limitsOf = (provider: PawapayProvider, kind: PawapayKind) =>
  kind === 'deposit' ? provider.deposit : provider.payout;

/** Whether the number has the dial code and the length of this country. */
export function isNumberOf({ dialCode, digits }: PawapayCountry, phoneNumber: string): boolean {
  return phoneNumber.startsWith(dialCode) && digits.includes(phoneNumber.length - dialCode.length);
}

/** The providers whose ranges hold this number: more than one where ranges are shared. */
export function predictProviders(phoneNumber: string): PawapayProvider[] {
  return PAWAPAY_PROVIDERS.filter(
    ({ country: where, ranges }) =>
      isNumberOf(where, phoneNumber) && ranges.test(phoneNumber.slice(where.dialCode.length)),
  );
}
