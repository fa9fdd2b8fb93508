// The built-in catalogue. Edit it here, or override parts with a JSON file (CATALOG_FILE): the file is an RFC 7396
// merge patch of this object, so { "methods": { "MTN_MOMO_UGA": { "collection": { "min": 1000 } } } } is one.
// Operators change their limits and decimals; a comment marks each value that is only assumed.

import type { CatalogDocument, FeeDocument, TermsDocument } from './document.ts';

const ONE_PERCENT: FeeDocument = { basisPoints: 100 };

/** Decimals, smallest and largest amount, at the standard fee. */
function terms(decimals: number, min: number, max: number, fee = ONE_PERCENT): TermsDocument {
  return { decimals, min, max, fee };
}

const WHOLE_SHILLINGS = { decimalsReason: 'M-PESA moves whole shillings when a customer pays.' };

/** The countries table for payment links, as the specification prints it. */
const paymentLinks: CatalogDocument['paymentLinks'] = {
  1: {
    country: 'KE',
    name: 'Kenya',
    dialCode: '254',
    currency: 'KES',
    methods: ['MPESA_TILL_KEN', 'MPESA_PAYBILL_KEN', 'PESALINK_KEN', 'MPESA_KEN'],
  },
  2: { country: 'BJ', name: 'Benin', dialCode: '229', currency: 'XOF', methods: ['MTN_MOMO_BEN'] },
  3: {
    country: 'CI',
    name: "Cote D'Ivoire",
    dialCode: '225',
    currency: 'XOF',
    methods: ['MTN_MOMO_CIV', 'ORANGE_CIV'],
  },
  4: { country: 'CM', name: 'Cameroon', dialCode: '237', currency: 'XAF', methods: ['MTN_MOMO_CMR', 'ORANGE_CMR'] },
  9: { country: 'SN', name: 'Senegal', dialCode: '221', currency: 'XOF', methods: ['ORANGE_SEN', 'FREE_SEN'] },
  10: {
    country: 'TZ',
    name: 'Tanzania',
    dialCode: '255',
    currency: 'TZS',
    methods: ['AIRTEL_TZA', 'TIGO_TZA', 'HALOTEL_TZA'],
  },
  11: { country: 'UG', name: 'Uganda', dialCode: '256', currency: 'UGX', methods: ['MTN_MOMO_UGA', 'AIRTEL_OAPI_UGA'] },
  12: { country: 'ZM', name: 'Zambia', dialCode: '260', currency: 'ZMW', methods: ['MTN_MOMO_ZMB', 'AIRTEL_OAPI_ZMB'] },
  13: { country: 'SL', name: 'Sierra Leone', dialCode: '232', currency: 'SLE', methods: ['ORANGE_SLE'] },
  16: {
    country: 'GH',
    name: 'Ghana',
    dialCode: '233',
    currency: 'GHS',
    methods: ['MTN_MOMO_GHA', 'VODAFONE_GHA', 'AIRTELTIGO_GHA'],
  },
  17: { country: 'NG', name: 'Nigeria', dialCode: '234', currency: 'NGN', methods: ['BANK_NGA'] },
};

/**
 * The countries table for collections, as the specification prints it; extraColumn is its column without a
 * header. Another table than the one above: set apiCollections to open a country that is "Not Supported".
 */
const collections: CatalogDocument['collections'] = {
  1: {
    country: 'KE',
    name: 'Kenya',
    dialCode: '254',
    currency: 'KES',
    methods: ['MPESA_KEN'],
    extraColumn: '',
    apiCollections: true,
  },
  2: {
    country: 'BJ',
    name: 'Benin',
    dialCode: '229',
    currency: 'XOF',
    methods: ['MTN_MOMO_BEN', 'MOOV_BEN'],
    extraColumn: 'Not Supported',
    apiCollections: false,
  },
  3: {
    country: 'CI',
    name: "Cote D'Ivoire",
    dialCode: '225',
    currency: 'XOF',
    methods: ['MTN_MOMO_CIV', 'ORANGE_CIV'],
    extraColumn: 'Not Supported',
    apiCollections: false,
  },
  4: {
    country: 'CM',
    name: 'Cameroon',
    dialCode: '237',
    currency: 'XAF',
    methods: ['MTN_MOMO_CMR', 'ORANGE_CMR'],
    extraColumn: 'Not Supported',
    apiCollections: false,
  },
  9: {
    country: 'SN',
    name: 'Senegal',
    dialCode: '221',
    currency: 'XOF',
    methods: ['ORANGE_SEN', 'FREE_SEN'],
    extraColumn: 'Not Supported',
    apiCollections: false,
  },
  10: {
    country: 'TZ',
    name: 'Tanzania',
    dialCode: '255',
    currency: 'TZS',
    methods: ['AIRTEL_TZA', 'TIGO_TZA', 'HALOTEL_TZA', 'VODACOM_TZA'],
    extraColumn: '2 dp for one named operator',
    apiCollections: true,
  },
  11: {
    country: 'UG',
    name: 'Uganda',
    dialCode: '256',
    currency: 'UGX',
    methods: ['MTN_MOMO_UGA', 'AIRTEL_OAPI_UGA'],
    extraColumn: '2 dp for one named operator',
    apiCollections: true,
  },
  12: {
    country: 'ZM',
    name: 'Zambia',
    dialCode: '260',
    currency: 'ZMW',
    methods: ['MTN_MOMO_ZMB', 'AIRTEL_OAPI_ZMB'],
    extraColumn: '2 dp',
    apiCollections: true,
  },
  13: {
    country: 'SL',
    name: 'Sierra Leone',
    dialCode: '232',
    currency: 'SLE',
    methods: ['ORANGE_SLE'],
    extraColumn: '2 dp',
    apiCollections: true,
  },
};

/**
 * What the two tables do not say. `mobile` is the whole national number, the same set that libphonenumber calls
 * mobile (a test compares them); otherPrefixes are operators outside the catalogue, so that they predict nothing.
 */
const countries: CatalogDocument['countries'] = {
  KE: {
    id: 1,
    name: 'Kenya',
    dialCode: '254',
    currency: 'KES',
    languages: ['en', 'sw'],
    trunk: '0',
    mobile: '(?:1(?:0[0-8]|[18]\\d|2[014]|3[05-9]|4[0-6])|7\\d\\d)\\d{6}',
    // Airtel, Telkom, Equitel.
    otherPrefixes: ['73', '75', '78', '761', '762', '10', '77', '120', '763', '764', '765', '766', '124', '744', '747'],
    example: '254712345678',
  },
  BJ: {
    id: 2,
    name: 'Benin',
    dialCode: '229',
    currency: 'XOF',
    languages: ['fr'],
    trunk: '',
    mobile: '01(?:2[5-9]|[4-69]\\d)\\d{6}',
    // Until November 2024 numbers had eight digits; some people and systems still use them.
    formerPlan: { digits: 8, add: '01' },
    // Celtiis.
    otherPrefixes: ['0128', '014', '0192', '0193'],
    example: '2290197123456',
  },
  CI: {
    id: 3,
    name: "Cote D'Ivoire",
    dialCode: '225',
    currency: 'XOF',
    languages: ['fr'],
    trunk: '',
    mobile: '0[157]\\d{8}',
    // Moov.
    otherPrefixes: ['01'],
    example: '2250712345678',
  },
  CM: {
    id: 4,
    name: 'Cameroon',
    dialCode: '237',
    currency: 'XAF',
    languages: ['fr', 'en'],
    trunk: '',
    mobile: '(?:24[23]|6(?:[25-9]\\d|4[0-2]))\\d{6}',
    // Nexttel, Camtel.
    otherPrefixes: ['66', '684', '685', '62', '24'],
    example: '237670123456',
  },
  SN: {
    id: 9,
    name: 'Senegal',
    dialCode: '221',
    currency: 'XOF',
    languages: ['fr'],
    trunk: '',
    mobile: '7(?:[015-8]\\d|21|90)\\d{6}',
    // Expresso, Promobile.
    otherPrefixes: ['70', '75'],
    example: '221771234567',
  },
  TZ: {
    id: 10,
    name: 'Tanzania',
    dialCode: '255',
    currency: 'TZS',
    languages: ['sw', 'en'],
    trunk: '0',
    mobile: '(?:6[0-35-9]|7\\d)\\d{7}',
    // TTCL.
    otherPrefixes: ['73'],
    example: '255781234567',
  },
  UG: {
    id: 11,
    name: 'Uganda',
    dialCode: '256',
    currency: 'UGX',
    languages: ['en', 'sw'],
    trunk: '0',
    mobile: '7(?:28|34)0\\d{5}|7(?:[014-8]\\d|2[01467]|3[0-267]|9[0-589])\\d{6}',
    // UTL, Lyca, Africell; 7240 is a part of 724.
    otherPrefixes: ['71', '721', '726', '727', '798', '799', '7240'],
    example: '256772123456',
  },
  ZM: {
    id: 12,
    name: 'Zambia',
    dialCode: '260',
    currency: 'ZMW',
    languages: ['en'],
    trunk: '0',
    mobile: '(?:[59][5-8]|7[5-9])\\d{7}',
    // Zamtel, Beeline.
    otherPrefixes: ['95', '75', '55', '98', '78', '58'],
    example: '260961234567',
  },
  SL: {
    id: 13,
    name: 'Sierra Leone',
    dialCode: '232',
    currency: 'SLE',
    languages: ['en'],
    trunk: '0',
    mobile: '(?:25|3[0-5]|66|7\\d|8[08]|9[09])\\d{6}',
    // Africell, QCell, Sierratel.
    otherPrefixes: ['30', '33', '70', '77', '8', '9', '31', '32', '34', '35', '25'],
    example: '23276123456',
  },
  GH: {
    id: 16,
    name: 'Ghana',
    dialCode: '233',
    currency: 'GHS',
    languages: ['en'],
    trunk: '0',
    mobile: '(?:2(?:[0346-9]\\d|5[67])|5(?:[03-7]\\d|9[1-9]))\\d{6}',
    otherPrefixes: [],
    example: '233241234567',
  },
  NG: {
    id: 17,
    name: 'Nigeria',
    dialCode: '234',
    currency: 'NGN',
    languages: ['en'],
    trunk: '0',
    mobile: '(?:702[0-24-9]|819[01])\\d{6}|(?:7(?:0[13-9]|[12]\\d)|8(?:0[1-9]|1[0-8])|9(?:0[1-9]|1[0-6]))\\d{7}',
    // Payers use their bank: no mobile operator is in the catalogue, so no number predicts one.
    otherPrefixes: [],
    example: '2348031234567',
  },
};

/** Colours of the test phone's screen and of its text, per brand. */
const brands: CatalogDocument['brands'] = {
  MTN: { background: '#FFCC00', text: '#00364D' },
  ORANGE: { background: '#FF7900', text: '#000000' },
  AIRTEL: { background: '#D40000', text: '#FFFFFF' },
  MPESA: { background: '#007A37', text: '#FFFFFF' },
  MOOV: { background: '#005CA9', text: '#FFFFFF' },
  YAS: { background: '#16328C', text: '#FFE600' },
  HALOPESA: { background: '#F26722', text: '#000000' },
  VODACOM: { background: '#D00000', text: '#FFFFFF' },
  TELECEL: { background: '#D20028', text: '#FFFFFF' },
  AT: { background: '#0033A0', text: '#FFFFFF' },
  BANK: { background: '#1F3A5F', text: '#FFFFFF' },
};

const methods: CatalogDocument['methods'] = {
  // ── Kenya ──────────────────────────────────────────────────────────────────────────────────────────
  MPESA_KEN: {
    name: 'M-PESA',
    aliases: ['Safaricom', 'Safaricom M-PESA', 'Mobile Money', 'M-PESA send money', 'MPS'],
    brand: 'MPESA',
    type: 'send money',
    country: 'KE',
    // The currency has two decimals and payouts take them; a payment by a customer does not.
    collection: { ...terms(0, 1, 250_000), ...WHOLE_SHILLINGS },
    payout: terms(2, 10, 250_000),
    verification: 'prompt',
    dial: [],
    prefixes: ['70', '71', '72', '74', '757', '758', '759', '768', '769', '79', '11', '14', '18'],
    example: '254712345678',
  },
  MPESA_TILL_KEN: {
    name: 'M-PESA till number',
    aliases: ['till', 'Buy Goods', 'Lipa na M-PESA', 'M-PESA till'],
    brand: 'MPESA',
    type: 'till number',
    country: 'KE',
    // Assumed: the limits of M-PESA itself.
    collection: { ...terms(0, 1, 250_000), ...WHOLE_SHILLINGS },
    verification: 'instructions',
    dial: [],
    prefixes: [],
  },
  MPESA_PAYBILL_KEN: {
    name: 'M-PESA pay bill',
    aliases: ['PayBill', 'M-PESA PayBill'],
    brand: 'MPESA',
    type: 'pay bill',
    country: 'KE',
    // Assumed: the limits of M-PESA itself.
    collection: { ...terms(0, 1, 250_000), ...WHOLE_SHILLINGS },
    verification: 'instructions',
    dial: [],
    prefixes: [],
  },
  PESALINK_KEN: {
    name: 'Bank transfer (Pesalink)',
    aliases: ['Pesalink', 'bank'],
    brand: 'BANK',
    type: 'bank transfer',
    country: 'KE',
    // Assumed: Pesalink moves less than a million shillings at a time.
    collection: terms(2, 10, 999_999),
    payout: terms(2, 10, 999_999),
    verification: 'instructions',
    dial: [],
    prefixes: [],
  },

  // ── Benin ──────────────────────────────────────────────────────────────────────────────────────────
  MTN_MOMO_BEN: {
    name: 'MTN MoMo',
    aliases: ['MTN', 'MoMo', 'MTN Mobile Money', 'MTN Money'],
    brand: 'MTN',
    type: 'mobile operator',
    country: 'BJ',
    collection: terms(0, 1, 2_000_000),
    payout: terms(0, 1, 2_000_000),
    verification: 'prompt',
    dial: ['*840#', '8', '2', '1'],
    prefixes: ['0142', '0146', '015', '0161', '0162', '0166', '0167', '0169', '0190', '0191', '0196', '0197'],
    example: '2290197123456',
  },
  MOOV_BEN: {
    name: 'Moov Money',
    aliases: ['Moov', 'Moov Africa', 'Flooz'],
    brand: 'MOOV',
    type: 'mobile operator',
    country: 'BJ',
    collection: terms(0, 100, 2_000_000),
    payout: terms(0, 100, 2_000_000),
    verification: 'prompt',
    dial: [],
    prefixes: ['0145', '0155', '0158', '0160', '0163', '0164', '0165', '0168', '0194', '0195', '0198', '0199'],
    example: '2290195123456',
  },

  // ── Cote D'Ivoire: the payer often has to dial to get the prompt ──────────────────────────────
  MTN_MOMO_CIV: {
    name: 'MTN MoMo',
    aliases: ['MTN', 'MoMo', 'MTN Mobile Money', 'MTN Money'],
    brand: 'MTN',
    type: 'mobile operator',
    country: 'CI',
    collection: terms(0, 1, 2_000_000),
    payout: terms(0, 1, 2_000_000),
    verification: 'prompt',
    dial: ['*133#', '1', '1'],
    prefixes: ['05'],
    example: '2250512345678',
  },
  ORANGE_CIV: {
    name: 'Orange Money',
    aliases: ['Orange', 'OM'],
    brand: 'ORANGE',
    type: 'mobile operator',
    country: 'CI',
    collection: terms(0, 1, 2_000_000),
    payout: terms(0, 1, 2_000_000),
    verification: 'prompt',
    dial: ['#120#'],
    prefixes: ['07'],
    example: '2250712345678',
  },

  // ── Cameroon ───────────────────────────────────────────────────────────────────────────────────────
  MTN_MOMO_CMR: {
    name: 'MTN MoMo',
    aliases: ['MTN', 'MoMo', 'MTN Mobile Money', 'MTN Money'],
    brand: 'MTN',
    type: 'mobile operator',
    country: 'CM',
    collection: terms(0, 1, 1_000_000),
    payout: terms(0, 1, 1_000_000),
    verification: 'prompt',
    dial: ['*126#'],
    prefixes: ['650', '651', '652', '653', '654', '67', '680', '681', '682', '683'],
    example: '237670123456',
  },
  ORANGE_CMR: {
    name: 'Orange Money',
    aliases: ['Orange', 'OM'],
    brand: 'ORANGE',
    type: 'mobile operator',
    country: 'CM',
    collection: terms(0, 1, 500_000),
    payout: terms(0, 1, 500_000),
    verification: 'prompt',
    dial: ['#150*50#'],
    prefixes: ['64', '655', '656', '657', '658', '659', '686', '687', '688', '689', '69'],
    example: '237690123456',
  },

  // ── Senegal ────────────────────────────────────────────────────────────────────────────────────────
  ORANGE_SEN: {
    name: 'Orange Money',
    aliases: ['Orange', 'OM', 'Max It', 'Sonatel'],
    brand: 'ORANGE',
    type: 'mobile operator',
    country: 'SN',
    collection: terms(0, 2, 100_000_000),
    payout: terms(0, 1, 200_000),
    // The operator of the specification's short-code flow: an SMS gives the code; dialling it shows the PIN prompt.
    verification: 'shortcode',
    dial: ['#144#'],
    prefixes: ['71', '77', '78'],
    example: '221771234567',
  },
  FREE_SEN: {
    name: 'Mixx by Yas',
    aliases: ['Yas', 'Mixx', 'Free', 'Free Money', 'Free Senegal', 'Tigo', 'Tigo Cash'],
    brand: 'YAS',
    type: 'mobile operator',
    country: 'SN',
    collection: terms(0, 5, 100_000_000),
    payout: terms(0, 1, 200_000),
    verification: 'prompt',
    dial: ['#150#'],
    prefixes: ['76'],
    example: '221761234567',
  },

  // ── Tanzania: Airtel is the one operator with two decimals ────────────────────────────────────────────
  AIRTEL_TZA: {
    name: 'Airtel Money',
    aliases: ['Airtel'],
    brand: 'AIRTEL',
    type: 'mobile operator',
    country: 'TZ',
    collection: terms(2, 100, 3_000_000),
    payout: terms(2, 100, 3_000_000),
    verification: 'prompt',
    dial: ['*150*60#', '7', '#', '11', '1'],
    prefixes: ['66', '68', '69', '78'],
    example: '255781234567',
  },
  TIGO_TZA: {
    name: 'Mixx by Yas',
    aliases: ['Yas', 'Mixx', 'Tigo', 'Tigo Pesa'],
    brand: 'YAS',
    type: 'mobile operator',
    country: 'TZ',
    collection: terms(0, 100, 5_000_000),
    payout: terms(0, 1, 5_000_000),
    verification: 'prompt',
    dial: [],
    prefixes: ['65', '67', '70', '71', '77'],
    example: '255711234567',
  },
  HALOTEL_TZA: {
    name: 'HaloPesa',
    aliases: ['Halotel', 'Halo', 'Halo Pesa', 'Viettel'],
    brand: 'HALOPESA',
    type: 'mobile operator',
    country: 'TZ',
    collection: terms(0, 100, 5_000_000),
    payout: terms(0, 100, 5_000_000),
    verification: 'prompt',
    dial: [],
    prefixes: ['61', '62', '63'],
    example: '255621234567',
  },
  VODACOM_TZA: {
    name: 'Vodacom M-Pesa',
    aliases: ['Vodacom', 'M-Pesa', 'Voda'],
    brand: 'VODACOM',
    type: 'mobile operator',
    country: 'TZ',
    // Assumed: no published limits; those of its neighbours.
    collection: terms(0, 100, 5_000_000),
    payout: terms(0, 100, 5_000_000),
    verification: 'prompt',
    dial: [],
    prefixes: ['72', '74', '75', '76', '79'],
    example: '255741234567',
  },

  // ── Uganda: MTN is the one operator with two decimals ─────────────────────────────────────────────────
  MTN_MOMO_UGA: {
    name: 'MTN MoMo',
    aliases: ['MTN', 'MoMo', 'MTN Mobile Money', 'MTN Money'],
    brand: 'MTN',
    type: 'mobile operator',
    country: 'UG',
    collection: terms(2, 500, 5_000_000),
    payout: terms(2, 500, 5_000_000),
    verification: 'prompt',
    dial: ['*165#', '8', '3', '1'],
    prefixes: ['76', '77', '78', '790', '791', '792', '793', '794', '737', '724'],
    example: '256772123456',
  },
  AIRTEL_OAPI_UGA: {
    name: 'Airtel Money',
    aliases: ['Airtel'],
    brand: 'AIRTEL',
    type: 'mobile operator',
    country: 'UG',
    collection: terms(0, 500, 5_000_000),
    payout: terms(0, 500, 5_000_000),
    verification: 'prompt',
    dial: ['*185#', '10', '6', '2', '1'],
    prefixes: ['70', '74', '75', '730', '731', '795'],
    example: '256701234567',
  },

  // ── Zambia ─────────────────────────────────────────────────────────────────────────────────────────
  MTN_MOMO_ZMB: {
    name: 'MTN MoMo',
    aliases: ['MTN', 'MoMo', 'MTN Mobile Money', 'MTN Money'],
    brand: 'MTN',
    type: 'mobile operator',
    country: 'ZM',
    collection: terms(2, 1, 20_000),
    payout: terms(2, 1, 20_000),
    verification: 'prompt',
    dial: ['*115#'],
    prefixes: ['96', '76', '56'],
    example: '260961234567',
  },
  AIRTEL_OAPI_ZMB: {
    name: 'Airtel Money',
    aliases: ['Airtel'],
    brand: 'AIRTEL',
    type: 'mobile operator',
    country: 'ZM',
    collection: terms(2, 1, 20_000),
    payout: terms(2, 1, 20_000),
    verification: 'prompt',
    dial: [],
    prefixes: ['97', '77', '57'],
    example: '260971234567',
  },

  // ── Sierra Leone ───────────────────────────────────────────────────────────────────────────────────
  ORANGE_SLE: {
    name: 'Orange Money',
    aliases: ['Orange', 'OM', 'Mobile Money'],
    brand: 'ORANGE',
    type: 'mobile operator',
    country: 'SL',
    collection: terms(2, 1, 15_000),
    payout: terms(2, 1, 15_000),
    verification: 'prompt',
    dial: ['#144#'],
    // All of 7x but 70 and 77, which are Africell's.
    prefixes: ['7'],
    example: '23276123456',
  },

  // ── Ghana ──────────────────────────────────────────────────────────────────────────────────────────
  MTN_MOMO_GHA: {
    name: 'MTN MoMo',
    aliases: ['MTN', 'MoMo', 'MTN Mobile Money', 'MTN Money'],
    brand: 'MTN',
    type: 'mobile operator',
    country: 'GH',
    collection: terms(2, 1, 15_000),
    payout: terms(2, 1, 15_000),
    verification: 'prompt',
    dial: ['*170#', '6', '3', '1'],
    prefixes: ['24', '25', '53', '54', '55', '59'],
    example: '233241234567',
  },
  VODAFONE_GHA: {
    name: 'Telecel Cash',
    aliases: ['Telecel', 'Vodafone', 'Vodafone Cash', 'VOD'],
    brand: 'TELECEL',
    type: 'mobile operator',
    country: 'GH',
    collection: terms(2, 1, 15_000),
    payout: terms(2, 1, 15_000),
    // Telecel gives the payer a token to type back instead of asking for the PIN.
    verification: 'otp',
    dial: ['*110#', '4', '8'],
    prefixes: ['20', '50'],
    example: '233201234567',
  },
  AIRTELTIGO_GHA: {
    name: 'AT Money',
    aliases: ['AT', 'AirtelTigo', 'AirtelTigo Money', 'Airtel', 'Tigo', 'ATL'],
    brand: 'AT',
    type: 'mobile operator',
    country: 'GH',
    collection: terms(2, 1, 10_000),
    payout: terms(2, 1, 10_000),
    verification: 'prompt',
    dial: [],
    prefixes: ['26', '27', '56', '57', '23'],
    example: '233261234567',
  },

  // ── Nigeria ────────────────────────────────────────────────────────────────────────────────────────
  BANK_NGA: {
    name: 'Bank transfer',
    aliases: ['bank transfer', 'transfer', 'virtual account'],
    brand: 'BANK',
    type: 'bank',
    country: 'NG',
    // Assumed limits; the fee is capped, as is usual for transfers there.
    collection: terms(2, 100, 10_000_000, { basisPoints: 100, max: 2_000 }),
    payout: terms(2, 100, 10_000_000, { basisPoints: 100, max: 2_000 }),
    verification: 'instructions',
    dial: [],
    prefixes: [],
  },
};

export const BUILT_IN: CatalogDocument = { paymentLinks, collections, countries, brands, methods };
