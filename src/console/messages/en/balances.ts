// English: balances and debts.

import { plural } from './plural.ts';

export const balances = {
  balances: {
    lead:
      'One wallet per currency. Reserved money belongs to payouts and refunds in progress; ' +
      'held money is your reserve and open disputes.',
    none: 'No wallets yet',
    noneText: 'A wallet is created with the first successful payment in its currency.',
    wallet: 'wallet',
    available: 'Available',
    reserved: 'Reserved',
    held: 'Held',
    heldText: (amount: string, day: string) => `${amount} of your reserve is released until ${day}, day by day.`,
    pending: 'Pending',
    payOut: 'Pay out',
    statement: 'Statement',
    title: (currency: string) => `${currency} statement`,
    onDay: 'Balance at the end of a day (UTC)',
    change: 'Change',
    balance: 'Balance',
    noEntries: 'No entries yet',
    notFound: 'There is no such wallet in this account.',
    statements: {
      title: 'Download a statement',
      text: (zone: string) =>
        `Opening balance, every line with its fee, totals and closing balance. Days are those of ${zone}.`,
      period: 'Period',
      periods: { month: 'This month', 'last-month': 'Last month', year: 'This year', 'last-year': 'Last year' },
      custom: 'Other dates',
      from: 'First day',
      to: 'Last day',
      format: 'File',
      download: 'Download',
      wrongDays: 'Choose a first day and a last day that is not before it, at most ten years apart.',
      tooLong: (format: string, most: string, lines: string) =>
        `A ${format} file has at most ${most} lines, and this period has ${lines}. Choose fewer days, or CSV.`,
      monthly: 'Monthly statements',
      monthlyText:
        'Made when the month is over, and never changed. The fingerprint (SHA-256) shows that a CSV file is the one we made.',
      month: 'Month',
      lines: 'Lines',
      net: 'Net',
      fingerprint: 'Fingerprint',
    },
    topUp: 'Add test money',
    topUpInvalid: 'Choose a currency and enter an amount, for example 1000.',
  },
  debts: {
    owed: (amount: string) => `You owe ${amount}`,
    owes: (amount: string) => `Owes ${amount}`,
    text: 'Money was taken back after it had left your wallet. The debt is paid from the next money that comes in.',
    since: 'Since',
    days: (count: number) => (count === 0 ? 'less than a day' : plural(count, 'day', 'days')),
    cases: 'See what it is made of',
    adminLead: 'Merchants that owe the gateway money, the oldest debt first. The next money that comes in pays it.',
    none: 'No debts',
    noneText: 'A debt arises when an operator takes money back that has already left the wallet.',
    age: 'Age',
    money: { amount: 'Debt', settled: 'Paid back so far', open: 'Still owed' },
  },
};
