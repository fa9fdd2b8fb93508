// Swahili: balances and debts.

import type { ConsoleMessages } from '../en.ts';

export const balances: Pick<ConsoleMessages, 'balances' | 'debts'> = {
  balances: {
    lead:
      'Pochi moja kwa kila sarafu. Pesa zilizotengwa ni za malipo yanayotumwa au kurudishwa; ' +
      'zilizozuiliwa ni akiba yako na mizozo iliyo wazi.',
    none: 'Bado hakuna pochi',
    noneText: 'Pochi hufunguliwa kwa malipo ya kwanza yaliyofanikiwa ya sarafu yake.',
    wallet: 'pochi',
    available: 'Zilizopo',
    reserved: 'Zilizotengwa',
    held: 'Zilizozuiliwa',
    heldText: (amount: string, day: string) => `${amount} ya akiba yako inaachiliwa siku kwa siku hadi ${day}.`,
    pending: 'Zinazosubiri',
    payOut: 'Tuma pesa',
    statement: 'Taarifa ya akaunti',
    title: (currency) => `Taarifa ya akaunti ya ${currency}`,
    onDay: 'Salio mwisho wa siku (UTC)',
    change: 'Badiliko',
    balance: 'Salio',
    noEntries: 'Bado hakuna maingizo',
    notFound: 'Hakuna pochi kama hiyo kwenye akaunti hii.',
    statements: {
      title: 'Pakua taarifa ya akaunti',
      text: (zone) => `Salio la mwanzo, kila ingizo na ada yake, jumla na salio la mwisho. Siku ni za saa za ${zone}.`,
      period: 'Kipindi',
      periods: { month: 'Mwezi huu', 'last-month': 'Mwezi uliopita', year: 'Mwaka huu', 'last-year': 'Mwaka uliopita' },
      custom: 'Tarehe nyingine',
      from: 'Siku ya kwanza',
      to: 'Siku ya mwisho',
      format: 'Faili',
      download: 'Pakua',
      wrongDays: 'Chagua siku ya kwanza na siku ya mwisho isiyo kabla yake, zisizozidi miaka kumi.',
      tooLong: (format, most, lines) =>
        `Faili la ${format} lina mistari isiyozidi ${most}, na kipindi hiki kina ${lines}. Chagua siku chache, au CSV.`,
      monthly: 'Taarifa za kila mwezi',
      monthlyText:
        'Hutolewa mwezi unapoisha na hazibadilishwi. Alama (SHA-256) inaonyesha kuwa faili la CSV ni lile tulilotoa.',
      month: 'Mwezi',
      lines: 'Mistari',
      net: 'Baada ya ada',
      fingerprint: 'Alama',
    },
    topUp: 'Ongeza pesa za majaribio',
    topUpInvalid: 'Chagua sarafu na uandike kiasi, kwa mfano 1000.',
  },
  debts: {
    owed: (amount) => `Unadaiwa ${amount}`,
    owes: (amount) => `Anadaiwa ${amount}`,
    text: 'Pesa zilichukuliwa tena baada ya kutoka kwenye pochi yako. Deni litalipwa kutoka kwa pesa zinazofuata kuingia.',
    since: 'Tangu',
    days: (count) => (count === 0 ? 'chini ya siku moja' : `siku ${count}`),
    cases: 'Ona linatokana na nini',
    adminLead: 'Wafanyabiashara wanaodaiwa na mfumo, deni la zamani kwanza. Pesa zinazofuata kuingia zitalilipa.',
    none: 'Hakuna madeni',
    noneText: 'Deni hutokea mtandao unapochukua tena pesa ambazo tayari zimetoka kwenye pochi.',
    age: 'Umri',
    money: { amount: 'Deni', settled: 'Iliyolipwa hadi sasa', open: 'Bado inadaiwa' },
  },
};
