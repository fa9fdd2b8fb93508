// The operators that the contract of rails is tried on: each rail, its simulator, and the account that both sides know.

import { AIRTEL_MONEY_SIMULATOR_SETTINGS, createAirtelMoneySimulator } from '../../simulators/airtel-money.ts';
import { createDarajaSimulator } from '../../simulators/daraja.ts';
import { DARAJA_SIMULATOR_SETTINGS } from '../../simulators/daraja-options.ts';
import type { CreateSimulator } from '../../simulators/frame.ts';
import { createMtnMomoSimulator } from '../../simulators/mtn-momo.ts';
import { createOrangeMoneySimulator } from '../../simulators/orange-money.ts';
import { createPawapaySimulator, PAWAPAY_SIMULATOR_SETTINGS } from '../../simulators/pawapay.ts';
import { createPaystackSimulator } from '../../simulators/paystack.ts';
import { airtelMoneyRail } from '../../src/rails/airtel-money.ts';
import type { RailDefinition } from '../../src/rails/connection.ts';
import { darajaRail } from '../../src/rails/daraja.ts';
import { mtnMomoRail } from '../../src/rails/mtn-momo.ts';
import { orangeMoneyRail } from '../../src/rails/orange-money.ts';
import { pawapayRail } from '../../src/rails/pawapay.ts';
import { paystackRail } from '../../src/rails/paystack.ts';

export type OperatorUnderTest = {
  /** Of its connection, and in reports. */
  readonly name: string;
  readonly rail: RailDefinition;
  readonly createSimulator: CreateSimulator;
  /** What the simulator is started with, beside its defaults. */
  readonly simulatorSettings: Record<string, string>;
  /** What the connection is made with, beside its defaults for simulators. */
  readonly connectionValues: Record<string, string>;
  /** The method that is tried. */
  readonly method: string;
  /** The payer, and the payee of payouts. */
  readonly msisdn: string;
  /** The field that says how a collection stands. Under another name, no payment succeeds. Null: several messages say it. */
  readonly statusField: string | null;
  /** Cases in which the operator says that nothing happened, and nobody else says otherwise. */
  readonly unknowable?: readonly string[];
  /** The simulator's action that tells where callbacks go; without it each request says so. */
  readonly registerAction?: string;
};

/** How long a payment that was told as failed takes to succeed, in real seconds. */
const LATE_SECONDS = '0.15';

/** No time of the day: receipts have one in them, and this must not be found there by chance. */
const PIN = '9876';

const setting = (settings: Record<string, string>, name: string) => settings[name] ?? '';

export const OPERATORS: readonly OperatorUnderTest[] = [
  {
    name: 'pawapay',
    rail: pawapayRail,
    createSimulator: createPawapaySimulator,
    simulatorSettings: {
      lateSuccessSeconds: LATE_SECONDS,
      promptSeconds: '0.3',
      callbackRetrySeconds: '0.1',
      callbackRetryMinutes: '0.02',
    },
    connectionValues: {
      api_token: setting(PAWAPAY_SIMULATOR_SETTINGS, 'apiToken'),
      signed_callbacks: 'yes',
    },
    method: 'MTN_MOMO_UGA',
    msisdn: '256772345678',
    statusField: 'status',
    registerAction: 'set_callbacks',
  },
  {
    name: 'mtn-momo',
    rail: mtnMomoRail,
    createSimulator: createMtnMomoSimulator,
    simulatorSettings: { lateSeconds: LATE_SECONDS },
    connectionValues: {},
    method: 'MTN_MOMO_UGA',
    msisdn: '256772345678',
    statusField: 'status',
  },
  {
    name: 'airtel-money',
    rail: airtelMoneyRail,
    createSimulator: createAirtelMoneySimulator,
    simulatorSettings: { lateSeconds: LATE_SECONDS, pin: PIN },
    connectionValues: { client_id: setting(AIRTEL_MONEY_SIMULATOR_SETTINGS, 'clientId'), pin: PIN },
    method: 'AIRTEL_OAPI_UGA',
    msisdn: '256752604392',
    // Answers have `status`, callbacks `status_code`, both in here.
    statusField: 'transaction',
    registerAction: 'register_callback',
  },
  {
    name: 'daraja',
    rail: darajaRail,
    createSimulator: createDarajaSimulator,
    simulatorSettings: { lateSeconds: LATE_SECONDS, sameAmountSeconds: '0' },
    connectionValues: {
      consumer_key: setting(DARAJA_SIMULATOR_SETTINGS, 'consumerKey'),
      consumer_secret: setting(DARAJA_SIMULATOR_SETTINGS, 'consumerSecret'),
      passkey: setting(DARAJA_SIMULATOR_SETTINGS, 'passkey'),
      shortcode: setting(DARAJA_SIMULATOR_SETTINGS, 'shortCode'),
      paybill_number: setting(DARAJA_SIMULATOR_SETTINGS, 'shortCode'),
      till_number: setting(DARAJA_SIMULATOR_SETTINGS, 'tillNumber'),
      payout_shortcode: setting(DARAJA_SIMULATOR_SETTINGS, 'b2cShortCode'),
      initiator_name: setting(DARAJA_SIMULATOR_SETTINGS, 'initiatorName'),
      initiator_password: setting(DARAJA_SIMULATOR_SETTINGS, 'initiatorPassword'),
      pull_number: '254722000000',
      certificate: setting(DARAJA_SIMULATOR_SETTINGS, 'certificate'),
    },
    method: 'MPESA_KEN',
    msisdn: '254712345678',
    // The result of the prompt, the confirmation and the list of payments.
    statusField: null,
  },
  {
    name: 'paystack',
    rail: paystackRail,
    createSimulator: createPaystackSimulator,
    simulatorSettings: {
      lateSuccessSeconds: LATE_SECONDS,
      promptSeconds: '0.3',
      webhookRetrySeconds: '0.1',
      webhookRetryHourSeconds: '0.2',
    },
    connectionValues: {},
    method: 'MTN_MOMO_GHA',
    msisdn: '233241234567',
    statusField: 'status',
    registerAction: 'set_webhook',
  },
  orange('web_payment', 'ORANGE_CIV', '2250734567890'),
  orange('cameroon', 'ORANGE_CMR', '237693456789'),
  orange('sonatel', 'ORANGE_SEN', '221773456789'),
];

/** Orange is three operators that share a name. */
function orange(family: string, method: string, msisdn: string): OperatorUnderTest {
  return {
    name: `orange-${family.replace('_', '-')}`,
    rail: orangeMoneyRail,
    createSimulator: createOrangeMoneySimulator,
    simulatorSettings: {
      lateSuccessSeconds: LATE_SECONDS,
      sonatelRetrySeconds: '0.05',
      // Nobody pays on a page, or by a QR code, whose address the operator told nobody.
      payerOpensPage: 'when_opened',
      // Where a cash-in that arrives twice is paid twice, no gateway can prevent it. Sonatel's documents do not say.
      sonatelRepeats: 'refused',
      cameroonPin: PIN,
      sonatelPin: PIN,
    },
    connectionValues: { interface: family, channel_pin: PIN },
    method,
    msisdn,
    statusField: 'status',
  };
}
