// Swahili: notifications by mail.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';

const SUBJECTS: Record<string, string> = {
  daily_summary: 'Jana',
  payout_failed: 'Kutuma pesa kumeshindikana',
  receiver_down: 'Callback hazifiki',
  case_opened: 'Malipo yanahitaji ukaguzi',
  low_float: 'Salio linapungua',
  statement_ready: 'Taarifa ya akaunti iko tayari',
};

const FACTS: Record<string, string> = {
  collected: 'Zilizoingia',
  given_back: 'Zilizorudishwa',
  paid_out: 'Zilizotumwa',
  returned: 'Zilizotumwa zikarudi',
};

export const notifications: Pick<ConsoleMessages, 'notifications'> = {
  notifications: {
    title: 'Arifa',
    lead: (email, holder) => `Tunayotuma kwa ${email} kuhusu ${holder}.`,
    noMail: 'Mfumo huu hauna seva ya barua pepe, kwa hiyo hakuna kinachotumwa. Msimamizi anaiweka kwa SMTP_URL.',
    kinds: {
      daily_summary: 'Muhtasari wa jana, kila asubuhi',
      payout_failed: 'Kutuma pesa kulikoshindikana',
      receiver_down: 'Callback URL ambazo hazijajibu kwa dakika 15',
      case_opened: 'Malipo yanayohitaji ukaguzi',
      low_float: 'Salio lisilotosha malipo ya siku ya wastani',
      statement_ready: 'Taarifa ya akaunti ya kila mwezi, ikiwa tayari',
    },
    mail: ({ kind, holder, lines, url }) => ({
      subject: `${SUBJECTS[kind] ?? kind}: ${holder}`.slice(0, 150),
      text: paragraphs(lines.join('\n'), url, `Chagua unachopokea: ${url}/notifications`),
    }),
    payoutFailed: (amount, payee, ref) =>
      `Kutuma ${amount} kwa ${payee} kumeshindikana. Pesa zimerudi kwenye salio lako. ${ref}`,
    receiverDown: (origin, waiting) => `${origin} haijibu. Callback ${waiting} zinasubiri na zitatumwa tena.`,
    caseOpened: (kind) => `Malipo yanahitaji ukaguzi: ${kind}.`,
    lowFloat: (available, average) => `Zipo ${available}. Kwa wastani unatuma ${average} kwa siku.`,
    statementReady: (month, currency, closing) =>
      `Taarifa ya akaunti ya ${currency} ya ${month} iko tayari kwenye Salio. Salio la mwisho: ${closing}.`,
    summary: ({ day, succeeded, failed, money }) =>
      [`${day}: malipo ${succeeded} yamefanikiwa, ${failed} yameshindikana au muda umeisha.`, ...money].join('\n'),
    summaryMoney: (fact, amount, count) => `${FACTS[fact] ?? fact}: ${amount} (${count})`,
  },
};
