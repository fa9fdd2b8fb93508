// Every simulator by the name of its rail, with the port that it listens on unless told otherwise.

import { AIRTEL_MONEY_SIMULATOR_SETTINGS, createAirtelMoneySimulator } from './airtel-money.ts';
import { createDarajaSimulator, DARAJA_SIMULATOR_SETTINGS } from './daraja.ts';
import type { CreateSimulator } from './frame.ts';
import { createMtnMomoSimulator, MTN_MOMO_SIMULATOR_SETTINGS } from './mtn-momo.ts';
import { createOrangeMoneySimulator, ORANGE_MONEY_SIMULATOR_SETTINGS } from './orange-money.ts';
import { createPawapaySimulator, PAWAPAY_SIMULATOR_SETTINGS } from './pawapay.ts';
import { createPaystackSimulator, PAYSTACK_SIMULATOR_SETTINGS } from './paystack.ts';

export type SimulatorEntry = {
  create: CreateSimulator;
  port: number;
  settings: Readonly<Record<string, string>>;
  /** The settings that a merchant is given as its credentials, by their names in `simbi rail add --set`. */
  credentials: Readonly<Record<string, string>>;
};

export const SIMULATORS: Readonly<Record<string, SimulatorEntry>> = {
  pawapay: {
    create: createPawapaySimulator,
    port: 4801,
    settings: PAWAPAY_SIMULATOR_SETTINGS,
    credentials: { api_token: 'apiToken' },
  },
  daraja: {
    create: createDarajaSimulator,
    port: 4802,
    settings: DARAJA_SIMULATOR_SETTINGS,
    credentials: {
      consumer_key: 'consumerKey',
      consumer_secret: 'consumerSecret',
      shortcode: 'shortCode',
      passkey: 'passkey',
      paybill_number: 'shortCode',
      till_number: 'tillNumber',
      payout_shortcode: 'b2cShortCode',
      initiator_name: 'initiatorName',
      initiator_password: 'initiatorPassword',
      certificate: 'certificate',
    },
  },
  'mtn-momo': {
    create: createMtnMomoSimulator,
    port: 4803,
    settings: MTN_MOMO_SIMULATOR_SETTINGS,
    credentials: {
      collection_subscription_key: 'collectionSubscriptionKey',
      collection_api_user: 'collectionApiUser',
      collection_api_key: 'collectionApiKey',
      disbursement_subscription_key: 'disbursementSubscriptionKey',
      disbursement_api_user: 'disbursementApiUser',
      disbursement_api_key: 'disbursementApiKey',
    },
  },
  paystack: {
    create: createPaystackSimulator,
    port: 4804,
    settings: PAYSTACK_SIMULATOR_SETTINGS,
    credentials: { secret_key: 'secretKey', xof_factor: 'xofFactor' },
  },
  'airtel-money': {
    create: createAirtelMoneySimulator,
    port: 4805,
    settings: AIRTEL_MONEY_SIMULATOR_SETTINGS,
    credentials: {
      client_id: 'clientId',
      client_secret: 'clientSecret',
      callback_key: 'callbackKey',
      pin: 'pin',
      pin_public_key: 'publicKey',
    },
  },
  'orange-money': {
    create: createOrangeMoneySimulator,
    port: 4806,
    settings: ORANGE_MONEY_SIMULATOR_SETTINGS,
    credentials: {
      client_id: 'webClientId',
      client_secret: 'webClientSecret',
      merchant_key: 'webMerchantKey',
      api_user: 'cameroonApiUser',
      api_password: 'cameroonApiPassword',
      channel_number: 'cameroonChannelMsisdn',
      channel_pin: 'cameroonPin',
      merchant_code: 'sonatelMerchantCode',
      callback_secret: 'sonatelWebhookSecret',
    },
  },
};

/** What a merchant enters to connect to this simulator. */
export function credentialsOf({ credentials, settings }: SimulatorEntry): Record<string, string> {
  return Object.fromEntries(Object.entries(credentials).map(([name, setting]) => [name, settings[setting] ?? '']));
}
