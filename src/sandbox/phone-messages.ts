// The texts of a test phone: French for numbers of countries that speak it, English for all others.

import type { Country } from '../catalog/catalog.ts';
import { withFrenchSpaces } from '../platform/french-spaces.ts';
import type { PhonePrompt } from './test-phone.ts';

export type PhoneMessages = {
  language: 'en' | 'fr';
  switchOn: string;
  switchOff: string;
  isOff: string;
  pin: string;
  pinHint: string;
  expire: string;
  send: string;
  cancel: string;
  ignore: string;
  dial: string;
  call: string;
  inbox: string;
  empty: string;
  pay: string;
  payTo: string;
  reference: string;
  amount: string;
  states: Record<PhonePrompt['state'], string>;
};

const ENGLISH: PhoneMessages = {
  language: 'en',
  switchOn: 'Turn on',
  switchOff: 'Turn off',
  isOff: 'The phone is off. Prompts sent now are lost; SMS arrive when it is on again.',
  pin: 'PIN',
  pinHint: 'Any four digits approve; 0000 is wrong.',
  expire: 'Let it expire',
  send: 'Send',
  cancel: 'Cancel',
  ignore: 'Ignore',
  dial: 'Dial a code',
  call: 'Call',
  inbox: 'Messages',
  empty: 'No messages yet.',
  pay: 'Send money',
  payTo: 'To (till, business or account number)',
  reference: 'Reference',
  amount: 'Amount',
  states: {
    dial: 'dial the code',
    prompt: 'waiting for the PIN',
    undelivered: 'not delivered: the phone was off',
    ignored: 'ignored',
    instructions: 'waiting for your transfer',
    approved: 'paid',
    wrong_pin: 'wrong PIN',
    cancelled: 'cancelled',
    expired: 'expired',
  },
};

const FRENCH: PhoneMessages = withFrenchSpaces({
  language: 'fr',
  switchOn: 'Allumer',
  switchOff: 'Éteindre',
  isOff:
    'Le téléphone est éteint. Les demandes envoyées maintenant sont perdues ; les SMS arrivent quand il est rallumé.',
  pin: 'Code PIN',
  pinHint: 'Quatre chiffres au choix approuvent ; 0000 est incorrect.',
  expire: 'Laisser expirer',
  send: 'Envoyer',
  cancel: 'Annuler',
  ignore: 'Ignorer',
  dial: 'Composer un code',
  call: 'Appeler',
  inbox: 'Messages',
  empty: 'Aucun message pour le moment.',
  pay: 'Envoyer de l’argent',
  payTo: 'À (numéro de caisse, de commerce ou de compte)',
  reference: 'Référence',
  amount: 'Montant',
  states: {
    dial: 'composez le code',
    prompt: 'en attente du code PIN',
    undelivered: 'non reçu : le téléphone était éteint',
    ignored: 'ignoré',
    instructions: 'en attente de votre envoi',
    approved: 'payé',
    wrong_pin: 'code PIN incorrect',
    cancelled: 'annulé',
    expired: 'expiré',
  },
});

export function messagesFor(country: Country | null): PhoneMessages {
  return country?.languages[0] === 'fr' ? FRENCH : ENGLISH;
}
