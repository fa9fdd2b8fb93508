// SMS and USSD prompts of the test phone, in French for numbers of French-speaking countries.

import { formatMoney } from '../platform/money.ts';
import type { SandboxPayment } from './payments-table.ts';

const FRENCH_DIAL_CODES = ['221', '225', '229', '237'];

/** What a text is about: a payment or a refund. */
type SmsSubject = Pick<SandboxPayment, 'msisdn' | 'amount' | 'currency' | 'merchantName' | 'receipt'> & {
  dialCode?: string | null;
};

type SmsTexts = {
  prompt(about: SmsSubject, money: string): string;
  dial(about: SmsSubject, money: string): string;
  paid(about: SmsSubject, money: string): string;
  received(about: SmsSubject, money: string): string;
  returned(about: SmsSubject, money: string): string;
  refunded(about: SmsSubject, money: string): string;
};

const ENGLISH: SmsTexts = {
  prompt: ({ merchantName }, money) => `Do you want to pay ${money} to ${merchantName}? Enter your PIN to confirm.`,
  dial: ({ merchantName, dialCode }, money) =>
    `${merchantName} asks you to pay ${money}. Dial ${dialCode} and enter your PIN to confirm.`,
  paid: ({ merchantName, receipt }, money) => `${receipt} confirmed. You paid ${money} to ${merchantName}.`,
  received: ({ merchantName, receipt }, money) => `${receipt} confirmed. You received ${money} from ${merchantName}.`,
  returned: ({ merchantName, receipt }, money) =>
    `${receipt} was reversed. ${money} from ${merchantName} is back in your wallet.`,
  refunded: ({ merchantName, receipt }, money) =>
    `${receipt} confirmed. You received ${money} back from ${merchantName}.`,
};

const FRENCH: SmsTexts = {
  prompt: ({ merchantName }, money) => `Payer ${money} à ${merchantName} ? Entrez votre code PIN pour confirmer.`,
  dial: ({ merchantName, dialCode }, money) =>
    `${merchantName} vous demande de payer ${money}. Composez le ${dialCode} et entrez votre code PIN pour confirmer.`,
  paid: ({ merchantName, receipt }, money) => `${receipt} confirmé. Vous avez payé ${money} à ${merchantName}.`,
  received: ({ merchantName, receipt }, money) => `${receipt} confirmé. Vous avez reçu ${money} de ${merchantName}.`,
  returned: ({ merchantName, receipt }, money) =>
    `${receipt} a été annulé. ${money} de ${merchantName} sont de retour sur votre compte.`,
  refunded: ({ merchantName, receipt }, money) => `${receipt} confirmé. ${merchantName} vous a remboursé ${money}.`,
};

export function smsText(what: keyof SmsTexts, about: SmsSubject): string {
  const isFrench = FRENCH_DIAL_CODES.some((code) => about.msisdn.startsWith(code));
  return (isFrench ? FRENCH : ENGLISH)[what](about, formatMoney(about.amount, about.currency, isFrench ? 'fr' : 'en'));
}
