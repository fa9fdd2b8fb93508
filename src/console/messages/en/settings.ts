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
  },
};
