// The words on the test phone: SMS and USSD prompts as operators write them, in French where the number is from a
// French-speaking country.

import { formatAmount } from '../platform/money.ts';
import type { SandboxPayment } from './payments-table.ts';

const FRENCH_DIAL_CODES = ['221', '225', '229', '237'];

type Wording = {
  prompt(payment: SandboxPayment, money: string): string;
  dial(payment: SandboxPayment, money: string): string;
  paid(payment: SandboxPayment, money: string): string;
  received(payment: SandboxPayment, money: string): string;
  returned(payment: SandboxPayment, money: string): string;
};

const ENGLISH: Wording = {
  prompt: ({ label }, money) => `Pay ${money} to ${label}? Enter your PIN to confirm.`,
  dial: ({ label, dialCode }, money) =>
    `${label} asks you to pay ${money}. Dial ${dialCode} and enter your PIN to confirm.`,
  paid: ({ label, receipt }, money) => `${receipt} confirmed. You paid ${money} to ${label}.`,
  received: ({ label, receipt }, money) => `${receipt} confirmed. You received ${money} from ${label}.`,
  returned: ({ label, receipt }, money) => `${receipt} was reversed. ${money} from ${label} is back in your wallet.`,
};

const FRENCH: Wording = {
  prompt: ({ label }, money) => `Payer ${money} à ${label} ? Entrez votre code PIN pour confirmer.`,
  dial: ({ label, dialCode }, money) =>
    `${label} vous demande de payer ${money}. Composez le ${dialCode} et entrez votre code PIN pour confirmer.`,
  paid: ({ label, receipt }, money) => `${receipt} confirmé. Vous avez payé ${money} à ${label}.`,
  received: ({ label, receipt }, money) => `${receipt} confirmé. Vous avez reçu ${money} de ${label}.`,
  returned: ({ label, receipt }, money) =>
    `${receipt} a été annulé. ${money} de ${label} sont de retour sur votre compte.`,
};

export function smsText(what: keyof Wording, payment: SandboxPayment): string {
  const wording = FRENCH_DIAL_CODES.some((code) => payment.msisdn.startsWith(code)) ? FRENCH : ENGLISH;
  return wording[what](payment, `${payment.currency} ${formatAmount(payment.amount)}`);
}
