// Swahili: float with operators.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';

export const float: Pick<ConsoleMessages, 'float'> = {
  float: {
    title: 'Float',
    source: 'Chanzo',
    sources: { operator: 'mtandao', ledger: 'leja yetu', unknown: 'haijulikani' },
    low: 'Ni kidogo chini ya',
    lowHint: 'Ikipungua chini ya hapo wasimamizi wanapata barua pepe. Tupu: hakuna anayefuatilia float hii.',
    stop: 'Simama kwenye',
    stopHint: 'Hakuna malipo yanayoshusha float chini ya hapo. Yanasubiri.',
    account: 'Akaunti inayolipa',
    accountHint: 'Kama mtandao unavyoiita. Tupu: ile ya kawaida.',
    shared: 'Makusanyo yanaingia kwenye akaunti hiyo hiyo',
    lastsUntil: 'Inatosha hadi karibu',
    lastsLong: 'Inatosha kwa zaidi ya wiki mbili',
    waiting: 'Malipo yanayosubiri',
    watch: 'Fuatilia float hii',
    watchText: 'Malipo ambayo float haitoshi yatasubiri, ya zamani kwanza, badala ya kukataliwa.',
    noCurrency: 'Chagua sarafu ya muunganisho huu.',
    isLow: (connection, currency) => `Float ya ${currency} ya ${connection} ni ndogo`,
    waits: (connection, payouts) => `Malipo yanayosubiri float kwenye ${connection}: ${payouts}`,
    payoutWaits: 'Inasubiri float tangu',
    payoutWaitsText:
      'Akaunti kwenye mtandao haina pesa za kutosha sasa. Hakuna kilichotumwa. Unaweza kughairi malipo haya.',
    mail: ({ connection, currency, level, end, waiting, url }) => ({
      subject: `Float inapungua: ${connection}, ${currency}`.slice(0, 150),
      text: paragraphs(
        `Float ya ${currency} ya ${connection} ni ${level}.`,
        ...(end === null ? [] : [`Kwa kasi ya wiki nne zilizopita inatosha hadi karibu ${end} UTC.`]),
        ...(waiting === 0 ? [] : [`Malipo yanayoisubiri: ${waiting}.`]),
        `Ongeza pesa kwenye akaunti ya mtandao: ${url}`,
      ),
    }),
  },
};
