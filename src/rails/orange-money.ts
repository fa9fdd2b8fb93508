// The rail to Orange Money, which is three unrelated interfaces: the group's payment page (Côte d'Ivoire, Cameroon, Sierra
// Leone), the prompt of Orange Cameroon, and Sonatel in Senegal (QR code or the payer's code; payouts). A connection is an
// account at one of them.

import type { RailConnection, RailDefinition, RailSetting } from './connection.ts';
import { openOrangeCameroon } from './orange-cameroon.ts';
import { openSonatel } from './orange-sonatel.ts';
import { openOrangeWebPayment } from './orange-web-payment.ts';

const INTERFACES = ['web_payment', 'cameroon', 'sonatel'] as const;

const optional = (setting: Omit<RailSetting, 'optional'>): RailSetting => ({ ...setting, optional: true });

const SETTINGS: readonly RailSetting[] = [
  {
    name: 'interface',
    label: 'Interface',
    help: "web_payment: the group's payment page. cameroon: prompts of Orange Cameroon. sonatel: Senegal.",
    kind: 'choice',
    namesAccount: true,
    choices: INTERFACES,
    simulator: 'cameroon',
  },
  {
    name: 'client_id',
    label: 'Client ID',
    help: 'From your application on the developer portal. Cameroon calls it the consumer key.',
    kind: 'text',
    simulator: 'qk3vT8Lw0sYc5RzN',
  },
  {
    name: 'client_secret',
    label: 'Client secret',
    help: 'Shown beside the client ID. Cameroon calls it the consumer secret.',
    kind: 'secret',
    simulator: 'b7Xf2Jm9Pq4Ht6Ae',
  },
  optional({
    name: 'merchant_key',
    label: 'Merchant key (web_payment)',
    help: 'In the e-mail that confirmed your merchant account.',
    kind: 'secret',
    simulator: 'a1f4c8e2',
  }),
  optional({
    name: 'country_path',
    label: 'Country in the address (web_payment)',
    help: 'ci, cm or sl. The sandbox of Orange is always dev.',
    kind: 'choice',
    namesAccount: true,
    choices: ['ci', 'cm', 'sl'],
    simulator: 'ci',
  }),
  optional({
    name: 'api_user',
    label: 'API user (cameroon)',
    help: 'Given by Orange Cameroon with the API password.',
    kind: 'text',
    simulator: 'simbi-shop',
  }),
  optional({
    name: 'api_password',
    label: 'API password (cameroon)',
    help: 'Given by Orange Cameroon with the API user.',
    kind: 'secret',
    simulator: 'e9Hd4Ty6',
  }),
  optional({
    name: 'channel_number',
    label: 'Channel number (cameroon, sonatel payouts)',
    help: 'Your own Orange number that the money goes to or comes from: nine digits.',
    kind: 'text',
    namesAccount: true,
    pattern: /^\d{9}$/,
    patternHelp: 'nine digits',
    simulator: '691301143',
  }),
  optional({
    name: 'channel_pin',
    label: 'PIN of the channel number',
    help: 'The PIN of that number. Orange wants it with every payment.',
    kind: 'secret',
    simulator: '2222',
  }),
  optional({
    name: 'merchant_code',
    label: 'Merchant code (sonatel)',
    help: 'Six digits, as on your QR code.',
    kind: 'text',
    namesAccount: true,
    pattern: /^\d{6}$/,
    patternHelp: 'six digits',
    simulator: '123456',
  }),
  optional({
    name: 'collect_with',
    label: 'How payers pay (sonatel)',
    help: 'qr: they scan a code or open the app. code: they dial #144#391*PIN# and type the code they get.',
    kind: 'choice',
    choices: ['qr', 'code'],
    initial: 'qr',
  }),
  optional({
    name: 'callback_secret',
    label: 'Callback secret (sonatel)',
    help: 'The secret of your callback registration. Without it, callbacks only make us ask.',
    kind: 'secret',
    simulator: 'c4a7d1e8f0b3c6a9d2e5f8b1c4a7d0e3',
  }),
];

const OPEN = { web_payment: openOrangeWebPayment, cameroon: openOrangeCameroon, sonatel: openSonatel } as const;

export const orangeMoneyRail: RailDefinition = {
  name: 'orange-money',
  title: 'Orange Money',
  methods: ['ORANGE_CIV', 'ORANGE_CMR', 'ORANGE_SEN', 'ORANGE_SLE'],
  settings: SETTINGS,
  hosts: { sandbox: 'https://api.orange.com', production: 'https://api.orange.com' },
  simulatorPort: 4806,
  // The other interfaces name an address with each payment.
  accountsOf: ({ interface: chosen, merchant_code: code = '' }) => (chosen === 'sonatel' ? [code] : []),
  open(connection: RailConnection) {
    const { interface: chosen } = connection.settings;
    const name = INTERFACES.find((each) => each === chosen) ?? 'web_payment';
    return OPEN[name](orangeMoneyRail, connection);
  },
};
