// SMS and USSD prompts of the test phone, in French for numbers of French-speaking countries.

import { formatAmount } from '../platform/money.ts';
import type { SandboxPayment } from './payments-table.ts';

const FRENCH_DIAL_CODES = ['221', '225', '229', '237'];

type SmsTexts = {
  prompt(payment: SandboxPayment, money: string): string;
  dial(payment: SandboxPayment, money: string): string;
  paid(payment: SandboxPayment, money: string): string;
  received(payment: SandboxPayment, money: string): string;
  returned(payment: SandboxPayment, money: string): string;
};

const ENGLISH: SmsTexts = {
  prompt: ({ merchantName }, money) => `Pay ${money} to ${merchantName}? Enter your PIN to confirm.`,
  dial: ({ merchantName, dialCode }, money) =>
    `${merchantName} asks you to pay ${money}. Dial ${dialCode} and enter your PIN to confirm.`,
  paid: ({ merchantName, receipt }, money) => `${receipt} confirmed. You paid ${money} to ${merchantName}.`,
  received: ({ merchantName, receipt }, money) => `${receipt} confirmed. You received ${money} from ${merchantName}.`,
  returned: ({ merchantName, receipt }, money) =>
    `${receipt} was reversed. ${money} from ${merchantName} is back in your wallet.`,
};

const FRENCH: SmsTexts = {
  prompt: ({ merchantName }, money) => `Payer ${money} à ${merchantName} ? Entrez votre code PIN pour confirmer.`,
  dial: ({ merchantName, dialCode }, money) =>
    `${merchantName} vous demande de payer ${money}. Composez le ${dialCode} et entrez votre code PIN pour confirmer.`,
  paid: ({ merchantName, receipt }, money) => `${receipt} confirmé. Vous avez payé ${money} à ${merchantName}.`,
  received: ({ merchantName, receipt }, money) => `${receipt} confirmé. Vous avez reçu ${money} de ${merchantName}.`,
  returned: ({ merchantName, receipt }, money) =>
    `${receipt} a été annulé. ${money} de ${merchantName} sont de retour sur votre compte.`,
};

export function smsText(what: keyof SmsTexts, payment: SandboxPayment): string {
  const texts = FRENCH_DIAL_CODES.some((code) => payment.msisdn.startsWith(code)) ? FRENCH : ENGLISH;
  return texts[what](payment, `${payment.currency} ${formatAmount(payment.amount)}`);
}
