// The pages in the order in which one reads them, with the sentence that describes each: the menu, the overview, next and
// previous. Search also finds a page by its keywords, which are words that people use and the page does not.

import { anchorOf } from './markdown.ts';

export type DocsPage = {
  /** Its address. */
  path: string;
  title: string;
  description: string;
  keywords?: string;
  /** Shown in the menu only while one of them, or their page, is read. */
  children?: readonly DocsPage[];
};
export type DocsGroup = { title: string; icon: string; pages: readonly DocsPage[] };

const START: readonly DocsPage[] = [
  {
    path: '/docs/quickstart',
    title: 'Quickstart',
    description: 'From a fresh clone to a paid collection and its callback in five minutes.',
    keywords: 'install start begin first payment hello',
  },
  {
    path: '/docs/sandbox',
    title: 'Sandbox',
    description: 'Test numbers, the test phone, test money and the callback receiver.',
    keywords: 'test mode testing fake simulator',
  },
];

const INTEGRATE: readonly DocsPage[] = [
  {
    path: '/docs/signing',
    title: 'Signing requests',
    description: 'How a request is signed, with programs in six languages and test vectors.',
    keywords: 'hmac signature authentication sha256 envelope curl php python java',
  },
  {
    path: '/docs/keys',
    title: 'Keys, scopes and tokens',
    description: 'Several API keys for one integration, what each may do, and how to rotate them.',
    keywords: 'api key secret credential permission rotate revoke bearer',
  },
  {
    path: '/docs/collections',
    title: 'Collections',
    description: 'Ask a customer’s mobile wallet for money: countries, amounts, verification, status.',
    keywords: 'stk push payin charge collect mobile money',
  },
  {
    path: '/docs/refunds',
    title: 'Refunds',
    description: 'Return all or part of a collection through the API, and what happens to the money.',
    keywords: 'refund money back reversal chargeback',
  },
  {
    path: '/docs/payment-links',
    title: 'Payment links',
    description: 'Hosted payment pages: create, share, list, and the receipts of the payers.',
    keywords: 'checkout hosted page invoice qr receipt',
  },
  {
    path: '/docs/callbacks',
    title: 'Callbacks',
    description: 'Signed events on your server: verify, answer, retries, and the event feed.',
    keywords: 'webhook notification event whsec endpoint',
  },
  {
    path: '/docs/sdk',
    title: 'TypeScript client',
    description: 'A client without dependencies that signs, retries and verifies for you.',
    keywords: 'sdk library npm javascript node package',
  },
];

const MERCHANTS: readonly DocsPage[] = [
  {
    path: '/docs/merchants/payment-links',
    title: 'Get paid by link',
    description: 'Make a link, share it by WhatsApp, SMS or QR code, and see who paid.',
    keywords: 'whatsapp qr counter invoice share',
  },
  {
    path: '/docs/merchants/refunds',
    title: 'Refund a payment',
    description: 'Return all or part of a payment, and what your customer sees.',
    keywords: 'refund money back reverse return customer',
  },
  {
    path: '/docs/merchants/payouts',
    title: 'Payouts and salary lists',
    description: 'Send money to one person or to a whole list, with a review before it leaves.',
    keywords: 'salary wages bulk csv list supplier disbursement b2c send money',
  },
  {
    path: '/docs/merchants/statements',
    title: 'Statements and exports',
    description: 'Every movement of a wallet, and any list as a CSV file for a spreadsheet.',
    keywords: 'csv excel spreadsheet export download report balance',
  },
  {
    path: '/docs/merchants/lost-payments',
    title: 'A payment nobody can find',
    description: 'A customer paid and nothing happened: find the payment by its SMS.',
    keywords: 'lost missing sms receipt find search support customer paid suspense',
  },
  {
    path: '/docs/merchants/roles',
    title: 'Roles, approvals and sign-in',
    description: 'Who may do what, when a second person approves, and two-step verification.',
    keywords: '2fa two-factor otp authenticator passkey password team invite permission recovery code login',
  },
  {
    path: '/docs/merchants/notifications',
    title: 'Notifications',
    description: 'Which e-mails each person receives, and how to change that.',
    keywords: 'email mail alert summary sms',
  },
  {
    path: '/docs/merchants/month-end',
    title: 'Month end',
    description: 'A short list for closing the month: balances, statement, open items.',
    keywords: 'accounting reconcile reconciliation bookkeeping tax close',
  },
];

const OPERATORS: readonly DocsPage[] = [
  {
    path: '/docs/rails/daraja',
    title: 'M-PESA (Daraja)',
    description: 'M-PESA in Kenya through Safaricom’s Daraja.',
    keywords: 'mpesa safaricom stk paybill till lipa',
  },
  {
    path: '/docs/rails/mtn-momo',
    title: 'MTN MoMo',
    description: 'MTN Mobile Money, by MTN’s Open API.',
    keywords: 'mtn momo mobile money',
  },
  {
    path: '/docs/rails/airtel-money',
    title: 'Airtel Money',
    description: 'Airtel Money, by Airtel Africa’s Open API.',
    keywords: 'airtel',
  },
  {
    path: '/docs/rails/orange-money',
    title: 'Orange Money',
    description: 'Orange Money in West and Central Africa.',
    keywords: 'orange sonatel',
  },
  {
    path: '/docs/rails/pawapay',
    title: 'pawaPay',
    description: 'Many operators through one contract with pawaPay.',
    keywords: 'aggregator pawapay',
  },
  {
    path: '/docs/rails/paystack',
    title: 'Paystack',
    description: 'Banks, cards and mobile money through Paystack.',
    keywords: 'card bank nigeria ghana paystack',
  },
  {
    path: '/docs/adding-a-rail',
    title: 'Add an operator',
    description: 'What a connector to a new operator must do, and how it is tested.',
    keywords: 'connector rail develop',
  },
];

const RUN: readonly DocsPage[] = [
  {
    path: '/docs/going-live',
    title: 'Going live',
    description: 'From the sandbox to real money: a checklist with commands.',
    keywords: 'production live deploy launch https',
  },
  {
    path: '/docs/rails',
    title: 'Operators',
    description: 'Connect M-PESA, MTN, Airtel, Orange, pawaPay or Paystack, and which methods each has.',
    keywords: 'mpesa mobile network connection route rail',
    children: OPERATORS,
  },
  {
    path: '/docs/reconciliation',
    title: 'Reconciliation',
    description: 'Import statements of operators and compare them with your books.',
    keywords: 'statement import csv xlsx reconcile operator mapping',
  },
  {
    path: '/docs/float',
    title: 'Float',
    description: 'What operators hold for payouts, when it runs dry, and payouts that wait for it.',
    keywords: 'float balance payout queue low threshold forecast alert top up liquidity',
  },
  {
    path: '/docs/operating',
    title: 'Operating',
    description: 'Backups, upgrades, monitoring, reviews, keys, and what to do when something fails.',
    keywords: 'backup restore upgrade monitor alert prometheus grafana docker 2fa admin',
  },
  {
    path: '/docs/sharding',
    title: 'Several database servers',
    description: 'Spread payments over the servers of a Citus cluster, and what very large volumes would take.',
    keywords: 'citus shard sharding scale distribute cluster partition coordinator worker',
  },
  {
    path: '/docs/more-than-one-machine',
    title: 'More than one machine',
    description:
      'A database that fails over, gateways on several machines, backups, and what happens when one is lost.',
    keywords:
      'cluster failover high availability patroni etcd haproxy kubernetes docker compose systemd pgbackrest standby replica',
  },
  {
    path: '/docs/daily-close',
    title: 'Daily close',
    description: 'Compare operators’ statements with the ledger, work through breaks, and sign a day.',
    keywords: 'reconciliation statement break settlement finance margin',
  },
  {
    path: '/docs/settlement',
    title: 'Settlement',
    description: 'Operators to our bank, wallets to the banks and phones of merchants, confirmed by two people.',
    keywords: 'settlement bank transfer sweep payout schedule withdraw destination',
  },
  {
    path: '/docs/configuration',
    title: 'Configuration',
    description: 'Every setting with its meaning and default.',
    keywords: 'environment variable env setting smtp port',
  },
  {
    path: '/docs/performance',
    title: 'Performance',
    description: 'How fast it is, on which machine, and how to measure it yourself.',
    keywords: 'speed benchmark latency throughput',
    children: [
      {
        path: '/docs/performance-history',
        title: 'Earlier measurements',
        description: 'What was changed for speed, what was found, and what older versions did.',
        keywords: 'speed benchmark profile before after',
      },
    ],
  },
  {
    path: '/docs/conformance',
    title: 'Conformance',
    description: 'Each rule of the specification, with the test that holds it.',
  },
  {
    path: '/docs/architecture',
    title: 'Architecture',
    description: 'The modules, what each may import, and the rules of the code.',
  },
  {
    path: '/docs/design',
    title: 'Design',
    description: 'Type, colour, numbers and words of every page.',
  },
  {
    path: '/docs/decisions',
    title: 'Decisions',
    description: 'Design decisions: the context, the choice and its cost.',
  },
  {
    path: '/docs/changelog',
    title: 'Changelog',
    description: 'What changed, version by version.',
    keywords: 'release version news',
  },
];

/** `tags` are the groups of the API's operations. */
export function listContents(tags: readonly { name: string; description: string }[]): DocsGroup[] {
  const operations = tags.map(({ name, description }) => ({ path: referencePath(name), title: name, description }));
  const reference: DocsPage[] = [
    {
      path: '/docs/reference',
      title: 'All operations',
      description: 'Every operation on one page, with its address and what it needs.',
      keywords: 'endpoint rest openapi api reference',
    },
    ...operations,
    {
      path: '/docs/errors',
      title: 'Errors',
      description: 'The format of an error, and each code with its cause and what to do.',
      keywords: 'error code status 400 403 429 problem',
    },
  ];
  return [
    { title: 'Start', icon: 'play', pages: START },
    { title: 'Integrate', icon: 'code', pages: INTEGRATE },
    { title: 'API reference', icon: 'file-text', pages: reference },
    { title: 'For merchants', icon: 'store', pages: MERCHANTS },
    { title: 'Run it', icon: 'database', pages: RUN },
  ];
}

/** The page of a group of operations. */
export function referencePath(tag: string): string {
  return `/docs/reference/${anchorOf(tag)}`;
}

/** Every page once, in the order of reading. */
export function listPages(groups: readonly DocsGroup[]): DocsPage[] {
  return groups.flatMap(({ pages }) => pages).flatMap((page) => [page, ...(page.children ?? [])]);
}
