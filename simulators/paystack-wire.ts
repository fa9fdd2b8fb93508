// How Paystack writes things: the envelope, refusals, amounts, phone numbers and ids.

import { createHash } from 'node:crypto';
import type { SimulatorAnswer } from './frame.ts';

export type PaystackJson = Record<string, unknown>;

export type PaystackSettings = Readonly<Record<string, string>>;

export const accepted = (message: string, data: unknown, more: PaystackJson = {}, status = 200): SimulatorAnswer => ({
  status,
  body: { status: true, message, data, ...more },
});

/** A refusal with type and code, as newer answers have them. */
export const refused = (
  message: string,
  code = 'invalid_params',
  status = 400,
  nextStep?: string,
): SimulatorAnswer => ({
  status,
  body: {
    status: false,
    message,
    meta: { nextStep: nextStep ?? 'Ensure that the parameters are right, and try again' },
    type: 'validation_error',
    code,
  },
});

/** Fields that are missing, unknown or of another type. Types: "text", "number", "object", "any"; with "?" optional. */
export function checkPaystackFields(body: PaystackJson | null, fields: Record<string, string>): SimulatorAnswer | null {
  if (body === null) return refused('Invalid JSON in the body of the request');
  for (const [name, type] of Object.entries(fields)) {
    const value = body[name];
    const isMissing = value === undefined || value === null || value === '';
    if (isMissing && !type.endsWith('?')) return refused(`${name} is required`, 'missing_params');
    if (!isMissing && !hasType(value, type.replace('?', ''))) return refused(`${name} is not valid`);
  }
  const unknown = Object.keys(body).find((name) => !(name in fields));
  return unknown === undefined ? null : refused(`${unknown} is not allowed`);
}

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'text':
      return typeof value === 'string';
    case 'object':
      return typeof value === 'object' && !Array.isArray(value);
    case 'amount':
      return (
        (typeof value === 'number' && Number.isSafeInteger(value)) || (typeof value === 'string' && /^\d+$/.test(value))
      );
    default:
      return true;
  }
}

/** Hundredths in one unit of the wire: 1, but 100 for francs where the setting says that they are sent whole. */
function factorOf(currency: string, settings: PaystackSettings): bigint {
  return currency === 'XOF' && settings.xofFactor === '1' ? 100n : 1n;
}

/** Hundredths of an amount that has the type of amounts; null when it is not positive. */
export function readSubunits(amount: unknown, currency: string, settings: PaystackSettings): bigint | null {
  const value = BigInt(amount as number | string) * factorOf(currency, settings);
  return value > 0n ? value : null;
}

export const writeSubunits = (amount: bigint, currency: string, settings: PaystackSettings) =>
  Number(amount / factorOf(currency, settings));

const PHONES: Readonly<Record<string, { form: RegExp; dialCode: string; digits: number }>> = {
  GHS: { form: /^0\d{9}$/, dialCode: '233', digits: 9 },
  KES: { form: /^(\+?254|0)[17]\d{8}$/, dialCode: '254', digits: 9 },
  XOF: { form: /^(\+?225)?0\d{9}$/, dialCode: '225', digits: 10 },
};

/** The number with its dial code; null when it is not one of this currency's country. */
export function readPhone(phone: unknown, currency: string): string | null {
  const rule = PHONES[currency];
  if (rule === undefined || typeof phone !== 'string' || !rule.form.test(phone)) return null;
  return `${rule.dialCode}${phone.slice(-rule.digits)}`;
}

export interface PaystackIds {
  /** Grows from one simulator to the next, so that no id comes twice. */
  number(): number;
  /** "RCP_gd9vgag7n5lr5ix" */
  code(prefix: string): string;
  /** The ten letters and digits of an M-PESA receipt. */
  receipt(): string;
}

export function createPaystackIds(now: () => number): PaystackIds {
  const start = Date.UTC(2025, 0, 1);
  let last = 0;
  const number = () => {
    last = Math.max(last + 1, (now() - start) * 100);
    return last;
  };
  const letters = (length: number) =>
    BigInt(`0x${createHash('sha256').update(String(number())).digest('hex')}`)
      .toString(36)
      .slice(0, length);
  return {
    number,
    code: (prefix) => `${prefix}_${letters(15)}`,
    receipt: () => number().toString(36).toUpperCase().padStart(10, 'S').slice(-10),
  };
}

export const paystackTime = (ms: number) => new Date(ms).toISOString();

/** Text, or nothing where the value is of another type. */
export const paystackText = (value: unknown) => (typeof value === 'string' ? value : '');
