// What a connection to Safaricom's Daraja is made of: the fields of its form, and how the rail reads them.

import { createRangeSet, isAddressOrRange } from '../platform/addresses.ts';
import type { RailConnection, RailSetting } from './connection.ts';

const SHORT_CODE = { pattern: /^\d{5,8}$/, patternHelp: 'five to eight digits' };
/** The addresses that Safaricom publishes for its callbacks. The list changes: this is only an extra fence. */
const PUBLISHED_ADDRESSES = [
  '196.201.214.200',
  '196.201.214.206',
  '196.201.214.207',
  '196.201.214.208',
  '196.201.213.114',
  '196.201.213.44',
  '196.201.212.127',
  '196.201.212.138',
  '196.201.212.129',
  '196.201.212.136',
  '196.201.212.74',
  '196.201.212.69',
];
/** The certificate of the simulator. Its key is public, so it protects nothing. */
const SIMULATOR_CERTIFICATE = [
  '-----BEGIN CERTIFICATE-----',
  'MIIDGTCCAgGgAwIBAgIUDuy/00+uqhCWWE31HodcMQPfbRYwDQYJKoZIhvcNAQEL',
  'BQAwGzEZMBcGA1UEAwwQZGFyYWphLXNpbXVsYXRvcjAgFw0yNjExMTUxODAzNTFa',
  'GA8yMTI2MTAyMjE4MDM1MVowGzEZMBcGA1UEAwwQZGFyYWphLXNpbXVsYXRvcjCC',
  'ASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAOfKZKxABTInFEUi+Ewa5F88',
  'wfeN9zR1onK4lmDZo/5CRp5JL2AbV1LyzXMk6Y2JY1RswQSM0dSdRVrNOYOc1c1J',
  'UKvKzGtgjePys2ouyOvmCgFvrnhMzgVb7zSyqKEdn4846AherBZrSkDle1m2YnZq',
  'p4lLqBj2DVM9WOIjCABSs5oSrYy7t2lEu0Ha25je4+wWcAuagIE5/cw1X9A9xVRG',
  'e+R9Daqn2N4YYrk2OGIf+YtOaK6fWHsQvGkqgx8OyA4lDFhP+mvCINwXivwTml2i',
  'tcR5ScclkXo2vRy2kKkh0FR8XuNmoRH2EsGXxX9/eo5eJdlIFWkr+bxvZajYla8C',
  'AwEAAaNTMFEwHQYDVR0OBBYEFL1uYRgcEJXxTlkl8hplUDYm/SdZMB8GA1UdIwQY',
  'MBaAFL1uYRgcEJXxTlkl8hplUDYm/SdZMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZI',
  'hvcNAQELBQADggEBANY+fkKweMB32m4L2CiLwh3t9JzDrfLE0vWPQ8UDX+S6I3ss',
  'gGzxkJPUKQ6L2cMFtTAdkmQiKKLwJ+gdANzVrDzAHy9NaE70NXYKZpmZwl26G5s6',
  'J0/yhljTNwTXSTpLRgBPKw+jAs6GLCCnEq/zTOrZLaHDL4UrPmCRQYdaEBeNWdlw',
  'tQimM3ZieyBwSmP0pNKslNkh6vemVIxDZLK84X/kKvResdGOvPcQM1IBQeBj3vJm',
  'PPR4JrH3rc1HJAzqfJEikGWOtvZ3b+PrznYdu9A/jmBnuM0HypWHi6RvB73cK2Z9',
  'h4o4j7tGMYjcwtToKNOROiAL9ja7rP17vNizIVM=',
  '-----END CERTIFICATE-----',
  '',
].join('\n');

export const DARAJA_SETTINGS: readonly RailSetting[] = [
  {
    name: 'consumer_key',
    label: 'Consumer key',
    help: 'On developer.safaricom.co.ke under My apps, of an app that has the products you use.',
    kind: 'secret',
    simulator: 'simulated-consumer-key',
  },
  {
    name: 'consumer_secret',
    label: 'Consumer secret',
    help: 'Beside the consumer key.',
    kind: 'secret',
    simulator: 'simulated-consumer-secret',
  },
  {
    name: 'shortcode',
    label: 'Short code for prompts',
    help: 'The pay bill that prompts collect for; for a till its store number (head office number).',
    kind: 'text',
    namesAccount: true,
    simulator: '174379',
    ...SHORT_CODE,
  },
  {
    name: 'prompt_account',
    label: 'Prompts collect to',
    help: 'Whether the short code for prompts is a pay bill or the store of a till.',
    kind: 'choice',
    namesAccount: true,
    choices: ['paybill', 'till'],
    initial: 'paybill',
  },
  {
    name: 'passkey',
    label: 'Passkey',
    help: 'Safaricom mails it when M-PESA Express goes live for the short code. Without it there are no prompts.',
    kind: 'secret',
    optional: true,
    simulator: 'simulated-passkey',
  },
  {
    name: 'paybill_number',
    label: 'Pay bill number',
    help: 'The pay bill that payers pay to from their own menu. Without it this method is not served.',
    kind: 'text',
    namesAccount: true,
    optional: true,
    simulator: '174379',
    ...SHORT_CODE,
  },
  {
    name: 'till_number',
    label: 'Till number',
    help: 'The till (Buy Goods) that payers pay to, by prompt or from their own menu.',
    kind: 'text',
    namesAccount: true,
    optional: true,
    simulator: '600585',
    ...SHORT_CODE,
  },
  {
    name: 'business_name',
    label: 'Name of the till or pay bill',
    help: 'As M-PESA shows it to payers, so that they recognise it. Without it they see the name of the merchant.',
    kind: 'text',
    optional: true,
  },
  {
    name: 'unanswered_validation',
    label: 'Payments that were not validated',
    help: 'What M-PESA does with a payment to the till or pay bill when this gateway does not answer in time.',
    kind: 'choice',
    choices: ['Cancelled', 'Completed'],
    initial: 'Cancelled',
  },
  {
    name: 'pull_number',
    label: 'Number for the Pull Transactions API',
    help: 'The Safaricom number that you nominated for it, as 254…. Without it payments whose message was lost are not looked up.',
    kind: 'text',
    optional: true,
    simulator: '254708374149',
    pattern: /^254\d{9}$/,
    patternHelp: '254 and nine digits',
  },
  {
    name: 'payout_shortcode',
    label: 'Short code for payouts',
    help: 'The B2C short code that payouts are paid from. Without it and the initiator there are no payouts.',
    kind: 'text',
    namesAccount: true,
    optional: true,
    simulator: '174379',
    ...SHORT_CODE,
  },
  {
    name: 'payout_command',
    label: 'Kind of payouts',
    help: 'The B2C command that Safaricom enabled for the short code.',
    kind: 'choice',
    choices: ['BusinessPayment', 'SalaryPayment', 'PromotionPayment'],
    initial: 'BusinessPayment',
  },
  {
    name: 'initiator_name',
    label: 'Initiator name',
    help: 'The API user on the M-PESA organisation portal, with roles for B2C, status, balance and reversal.',
    kind: 'text',
    optional: true,
    simulator: 'testapi',
  },
  {
    name: 'initiator_password',
    label: 'Initiator password',
    help: 'Of the API user. It ends after 90 days; Safaricom takes # & % $ in it, and neither brackets nor @.',
    kind: 'secret',
    optional: true,
    simulator: 'Simulated#2026',
  },
  {
    name: 'certificate',
    label: 'Certificate of Safaricom',
    help: 'ProductionCertificate.cer or SandboxCertificate.cer of the developer portal; the password is encrypted with it.',
    kind: 'pem',
    optional: true,
    simulator: SIMULATOR_CERTIFICATE,
  },
  {
    name: 'callback_ranges',
    label: 'Addresses of Safaricom',
    help: 'Callbacks from other addresses are not believed. Empty: any address.',
    kind: 'address_ranges',
    optional: true,
    initial: PUBLISHED_ADDRESSES.join(', '),
    simulator: '127.0.0.0/8, ::1',
  },
];

/** How an API user of the organisation signs payouts, reversals and questions. */
export type DarajaInitiator = { name: string; password: string; certificate: string };

export type DarajaAccount = {
  consumerKey: string;
  consumerSecret: string;
  shortcode: string;
  passkey: string | null;
  promptsToTill: boolean;
  paybill: string | null;
  till: string | null;
  businessName: string | null;
  unansweredValidation: string;
  pullNumber: string | null;
  payoutShortcode: string | null;
  payoutCommand: string;
  /** Null unless all three fields are set. */
  initiator: DarajaInitiator | null;
  /** No addresses are set: a callback may come from anywhere. */
  allowsAll: boolean;
  /** Whether a callback may come from this address. */
  allows(address: string | null): boolean;
};

export function readDarajaAccount({ settings }: Pick<RailConnection, 'settings'>): DarajaAccount {
  const text = (name: string) => settings[name]?.trim() ?? '';
  const optional = (name: string) => text(name) || null;
  const [name, password, certificate] = [text('initiator_name'), text('initiator_password'), text('certificate')];
  const isInitiator = name !== '' && password !== '' && certificate !== '';
  const ranges = text('callback_ranges')
    .split(/[\s,]+/)
    .filter(isAddressOrRange);
  const allowed = createRangeSet(ranges);
  return {
    consumerKey: text('consumer_key'),
    consumerSecret: text('consumer_secret'),
    shortcode: text('shortcode'),
    passkey: optional('passkey'),
    promptsToTill: text('prompt_account') === 'till',
    paybill: optional('paybill_number'),
    till: optional('till_number'),
    businessName: optional('business_name'),
    unansweredValidation: text('unanswered_validation') || 'Cancelled',
    pullNumber: optional('pull_number'),
    payoutShortcode: optional('payout_shortcode'),
    payoutCommand: text('payout_command') || 'BusinessPayment',
    initiator: isInitiator ? { name, password, certificate } : null,
    allowsAll: ranges.length === 0,
    allows: (address) => ranges.length === 0 || (address !== null && allowed.has(address)),
  };
}
