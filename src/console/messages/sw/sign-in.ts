// Swahili: sign-in, sign-up, invitations and proofs of identity.

import type { ConsoleMessages } from '../en.ts';

type SignIn = Pick<ConsoleMessages, 'signIn' | 'code' | 'loginLink' | 'signUp' | 'invitation' | 'confirm' | 'proof'>;

export const signIn: SignIn = {
  signIn: {
    title: 'Ingia',
    button: 'Ingia',
    incorrect: 'Barua pepe au nenosiri si sahihi.',
    noPassword: 'Bado huna nenosiri? Msimamizi wa mfumo anaweza kutengeneza kiungo cha mara moja:',
    expired: 'Muda wa kuingia umeisha. Tafadhali ingia tena.',
    tooMany:
      'Nenosiri limekosewa mara nyingi mno kwa anwani hii au kutoka mtandao huu. ' +
      'Subiri, au tumia kiungo cha kuingia: bado kinafanya kazi.',
    mailLink: 'Nitumie kiungo cha kuingia kwa barua pepe',
  },
  code: {
    title: 'Uthibitishaji wa hatua mbili',
    label: 'Msimbo wa tarakimu sita',
    hint: 'Kutoka kwenye programu yako ya uthibitishaji. Kila msimbo hutumika mara moja.',
    incorrect: 'Msimbo huu si sahihi au ulishatumika. Subiri msimbo unaofuata.',
  },
  loginLink: {
    title: 'Ingia kwa kiungo hiki',
    text: 'Kiungo hiki hutumika mara moja. Unaingia kama:',
    expiredTitle: 'Kiungo hiki hakifanyi kazi tena',
    expired: 'Kilishatumika au kimepita dakika 30.',
    fromHost: 'Msimamizi wa mfumo anaweza kutengeneza kiungo kipya:',
  },
  signUp: {
    title: 'Fungua akaunti',
    lead: 'Akaunti ina pesa zako, miunganisho yako na timu yako.',
    business: 'Jina la biashara',
    button: 'Fungua akaunti',
    taken: 'Barua pepe hii tayari inatumika.',
    expired: 'Kiungo hiki kilishatumika, au kimepita siku moja. Tafadhali jisajili tena.',
  },
  invitation: {
    title: 'Umealikwa',
    text: (by, holder, role) => `${by} amekualika kujiunga na ${holder}. Jukumu lako: ${role}.`,
    byHost: 'Msimamizi wa mfumo huu',
    accept: 'Kubali mwaliko',
    expired: 'Mwaliko huu ulishatumika, umeondolewa, au muda wake umeisha.',
    adminText: 'Umealikwa kusimamia mfumo huu: wafanyabiashara wote, ukaguzi wote na leja.',
    unproven: (email) =>
      `${email} ina akaunti ambayo anwani yake haijathibitishwa na mtu, kwa hiyo kiungo hiki hakiwezi kutumika bado. ` +
      'Mwombe msimamizi wa mfumo kiungo cha kuingia, ingia nacho, kisha fungua mwaliko huu tena:',
    takesOver:
      'Kuna akaunti yenye anwani yako ambayo haijathibitishwa na mtu. Ukiendelea, nenosiri lake, hatua yake ya pili ' +
      'na vifaa vyake vilivyoingia vitaondolewa, na akaunti itakuwa yako. Inaweza kuona biashara hizi:',
    signInFirst: (email) => `${email} tayari ina akaunti. Ingia ili kukubali mwaliko.`,
  },
  confirm: {
    title: 'Thibitisha kuwa ni wewe',
    lead: 'Hii inahitajika kwa API key na kutuma pesa. Hutaulizwa tena kwa dakika kumi.',
    thenSent: 'Baada ya hapo, hatua yako ya mwisho itafanyika.',
    incorrect: 'Nenosiri si sahihi.',
    factorFirst: 'Pesa halisi zinahitaji uthibitishaji wa hatua mbili. Uwashe ili kuendelea.',
    freshLink: 'Huna nenosiri. Ingia tena kwa kiungo kipya cha mara moja, kisha weka nenosiri ukipenda.',
  },
  proof: {
    lead: 'Uthibitishaji wa hatua mbili huwashwa kwa nenosiri lako, au ndani ya dakika kumi baada ya kuingia kwa kiungo.',
    freshLink: 'Huna nenosiri. Ingia tena kwa kiungo kipya cha kuingia.',
  },
};
