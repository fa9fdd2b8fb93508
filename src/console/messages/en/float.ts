// English: float with operators.

import { paragraphs } from '../paragraphs.ts';
import { plural } from './plural.ts';

type FloatMail = {
  connection: string;
  currency: string;
  level: string;
  end: string | null;
  waiting: number;
  url: string;
};

export const float = {
  float: {
    title: 'Float',
    source: 'Known from',
    sources: { operator: 'the operator', ledger: 'our ledger', unknown: 'not known' },
    low: 'Low from',
    lowHint: 'Below it the administrators get a mail. Empty: nobody watches this float.',
    stop: 'Stop at',
    stopHint: 'No payout takes the float below it. It waits instead.',
    account: 'Account that pays out',
    accountHint: 'As the operator names it. Empty: the usual one.',
    shared: 'Collections arrive on the same account',
    lastsUntil: 'Lasts until about',
    lastsLong: 'Lasts for more than two weeks',
    waiting: 'Waiting payouts',
    watch: 'Watch this float',
    watchText: 'Payouts then wait when the float does not cover them, the oldest first, instead of being refused.',
    noCurrency: 'Choose a currency of this connection.',
    isLow: (connection: string, currency: string) => `The ${currency} float of ${connection} is low`,
    waits: (connection: string, payouts: number) =>
      `${plural(payouts, 'payout waits', 'payouts wait')} for float at ${connection}`,
    payoutWaits: 'Waiting for float since',
    payoutWaitsText:
      'The account with the operator does not hold enough now. Nothing was sent. You can cancel the payout.',
    mail: ({ connection, currency, level, end, waiting, url }: FloatMail) => ({
      subject: `Float is running low: ${connection}, ${currency}`.slice(0, 150),
      text: paragraphs(
        `The ${currency} float of ${connection} is ${level}.`,
        ...(end === null ? [] : [`At the pace of the last four weeks it lasts until about ${end} UTC.`]),
        ...(waiting === 0 ? [] : [`${plural(waiting, 'payout waits', 'payouts wait')} for it.`]),
        `Top up the account with the operator: ${url}`,
      ),
    }),
  },
};
