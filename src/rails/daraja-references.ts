// The references that payers see and type. A prompt shows one that nobody has to type; for a pay bill the payer types ours; a
// till takes none, so its payments are told by the number that pays, as far as Safaricom shows it.

import { hash } from 'node:crypto';
import { field, textOf } from './reading.ts';

const TYPED_LENGTH = 10;
const TYPED = /^\d{10}$/;
/** The alphabet of our references: digits and capitals without I, L, O and U. */
const SHOWN_BY_PROMPT = /^[0-9A-HJKMNP-TV-Z]{12}$/;
const MAX_TYPED_TEXT = 100;

/** At most twelve letters and digits: the end of our reference, which people can search for. */
export const promptReferenceOf = (reference: string) => reference.slice(-12);

/** Ten digits, because a phone shows its number keys first. */
export function typedReferenceOf(reference: string): string {
  const number = BigInt(`0x${hash('sha256', reference, 'hex').slice(0, 24)}`);
  return String(number % 10n ** BigInt(TYPED_LENGTH)).padStart(TYPED_LENGTH, '0');
}

/** The digits that every masked form shows: the first four and the last three (2547*****126). */
export function maskedNumberOf(msisdn: string): string {
  const [, start, end] = /^(\d{4})[\d* ]*(\d{3})$/.exec(msisdn.trim()) ?? [];
  return start === undefined ? '' : `${start}*****${end}`;
}

/** What a payment to the till or pay bill is matched by. `isPrompt`: it has the form of a reference that a prompt shows. */
export function accountReferenceOf(message: unknown): { reference: string; isPrompt: boolean } {
  const written = textOf(field(message, 'BillRefNumber')) ?? '';
  const isTill = textOf(field(message, 'TransactionType'))?.toLowerCase() === 'buy goods';
  const typed = normalised(written);
  if (TYPED.test(typed)) return { reference: typed, isPrompt: false };
  const capitals = written.toUpperCase();
  if (SHOWN_BY_PROMPT.test(capitals)) return { reference: capitals, isPrompt: true };
  if (isTill || written === '')
    return { reference: maskedNumberOf(textOf(field(message, 'MSISDN')) ?? ''), isPrompt: false };
  // As typed, without characters that cannot be seen: people read it in the case.
  return { reference: written.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, MAX_TYPED_TEXT), isPrompt: false };
}

/** Payers type blanks, and letters that look like digits. */
function normalised(written: string): string {
  return written
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
}
