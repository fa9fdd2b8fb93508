// English: the settings of an account.

export const settings = {
  accountSettings: {
    lead: 'For everyone in this account.',
    business: 'Business',
    name: 'Business name',
    nameHint: 'Your team sees it. Payers see the name on the payment link.',
    timeZone: 'Time zone',
    timeZoneHint: 'Your days begin at midnight there. Figures of past days are counted again after a change.',
    timeZoneInvalid: 'Choose a time zone from the list.',
    ownerOnly: 'Only an owner can change this.',
    language: 'Language',
    languageText: 'For you, in this browser.',
    receiptTexts: {
      title: 'Receipts by SMS',
      text: 'After a payment the payer gets one SMS with the amount, your name and the address of the receipt.',
      label: 'Send a receipt by SMS',
      on: 'On',
      off: 'Off',
      reachesAll: 'It reaches the payers of every mobile money method you use.',
      reaches: (methods: string) => `It reaches payers of: ${methods}. Other operators cannot send it.`,
      reachesNone: 'None of your operators can send an SMS yet. MTN MoMo can.',
    },
  },
};
