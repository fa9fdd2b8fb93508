// English: notifications by mail.

import { paragraphs } from '../paragraphs.ts';
import { plural } from './plural.ts';

type MailFacts = { kind: string; holder: string; lines: string[]; url: string };
type SummaryFacts = { day: string; succeeded: number; failed: number; money: string[] };

const SUBJECTS: Record<string, string> = {
  daily_summary: 'Yesterday',
  payout_failed: 'A payout failed',
  receiver_down: 'Callbacks are failing',
  case_opened: 'A payment needs review',
  low_float: 'Balance is running low',
  statement_ready: 'A statement is ready',
};

const FACTS: Record<string, string> = {
  collected: 'Collected',
  given_back: 'Refunded',
  paid_out: 'Paid out',
  returned: 'Returned payouts',
};

export const notifications = {
  notifications: {
    title: 'Notifications',
    lead: (email: string, holder: string) => `What we send to ${email} about ${holder}.`,
    noMail: 'This gateway has no mail server, so nothing is sent. An administrator sets one with SMTP_URL.',
    kinds: {
      daily_summary: 'A summary of the day before, every morning',
      payout_failed: 'Payouts that failed',
      receiver_down: 'Callback URLs that have not answered for 15 minutes',
      case_opened: 'Payments that need review',
      low_float: 'A balance that does not cover an average day of payouts',
      statement_ready: 'The statement of each month, when it is ready',
    },
    mail: ({ kind, holder, lines, url }: MailFacts) => ({
      subject: `${SUBJECTS[kind] ?? kind}: ${holder}`.slice(0, 150),
      text: paragraphs(lines.join('\n'), url, `Choose what you receive: ${url}/notifications`),
    }),
    payoutFailed: (amount: string, payee: string, ref: string) =>
      `${amount} to ${payee} failed. The money is back in your balance. ${ref}`,
    receiverDown: (origin: string, waiting: number) =>
      `${origin} does not answer. ${plural(waiting, 'callback is', 'callbacks are')} waiting and will be sent again.`,
    caseOpened: (kind: string) => `A payment needs review: ${kind}.`,
    lowFloat: (available: string, average: string) => `${available} is available. An average day pays out ${average}.`,
    statementReady: (month: string, currency: string, closing: string) =>
      `The ${currency} statement of ${month} is ready under Balances. Closing balance: ${closing}.`,
    summary: ({ day, succeeded, failed, money }: SummaryFacts) =>
      [`${day}: ${plural(succeeded, 'payment', 'payments')} succeeded, ${failed} failed or expired.`, ...money].join(
        '\n',
      ),
    summaryMoney: (fact: string, amount: string, count: number) => `${FACTS[fact] ?? fact}: ${amount} (${count})`,
  },
};
