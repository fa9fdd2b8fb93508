// English: the home page.

import { plural } from './plural.ts';

export const home = {
  home: {
    title: (holder: string) => `Hello, ${holder}`,
    notActive: 'This account is suspended or closed. Its API requests are rejected and no money leaves it.',
    today: 'Today (UTC)',
    noneToday: 'No payments yet today.',
    collected: (count: number) => `from ${plural(count, 'payment', 'payments')}`,
    paidOut: (count: number) => plural(count, 'payout', 'payouts'),
    givenBackCount: (count: number) => `given back in ${plural(count, 'payment', 'payments')}`,
    returnedCount: (count: number) => `${plural(count, 'payout', 'payouts')} returned`,
    money: 'Money per day',
    moneyText: 'Money counts on the day it was posted (UTC). What is given back later does not change an earlier day.',
    collectedMoney: 'Collected',
    givenBack: 'Given back',
    paidOutMoney: 'Paid out',
    returned: 'Payouts returned',
    attention: 'Needs attention',
    noAttention: 'Nothing needs your attention.',
    casesOpen: (count: number) => `${plural(count, 'case needs', 'cases need')} a decision`,
    callbacksFailing: (origin: string, waiting: number) => `Callbacks to ${origin} are failing (${waiting} waiting)`,
    callbacksPaused: (count: number) =>
      `${plural(count, 'callback URL', 'callback URLs')} answered 410 Gone: callbacks are paused`,
    approvals: (count: number) => `${plural(count, 'payout or list needs', 'payouts or lists need')} approval`,
    refundApprovals: (count: number) => `${plural(count, 'refund needs', 'refunds need')} approval`,
    debt: (amount: string) => `You owe ${amount}. It is paid from the next money that comes in`,
    firstIntegration: 'Create your first integration to use the API',
    lowFloat: (available: string, average: string) =>
      `Low float: ${available} available, payouts average ${average} a day`,
    testPayment: 'Try a test payment',
    testPaymentText:
      'Approve it on the test phone. Numbers that end in 000 succeed automatically; 001 fails for insufficient funds.',
    testPaymentNumber: 'Leave empty to use an example number.',
    testPaymentButton: 'Create test payment',
    volume: 'Collections per day',
    rate: 'Success rate',
    good: 'succeeded',
    bad: 'failed or expired',
    open: 'in progress',
    numbers: 'Chart data',
    recent: 'Recent transactions',
  },
};
