// What an operator says, checked before it reaches the database. A rail may let anything through: a value that cannot be
// stored or believed is named here, so that it is set aside alone and does not hold back what arrived with it.

import type { CallbackReading, Observation, OperatorBalance, PayerStep, PayInstructions } from '../rails/rail.ts';

/** In hundredths. No operator moves as much, and every amount up to here is exact wherever it is shown. */
export const MAX_REPORTED_AMOUNT = 2n ** 53n;
const MAX_IDENTIFIER = 128;
const MAX_MESSAGE = 500;
/** Beyond them a date has no four-digit year, and no instruction of an operator is meant. */
const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2200, 0, 1);
const DIAL_CODE = /^[*#\d]{2,40}$/;
const DIAL_FOR_CODE = /^(?:[*#\d]|PIN){2,40}$/;
const MAX_LINK = 2_048;
const PAGE_SCHEMES: ReadonlySet<string> = new Set(['https:', 'http:']);
const SCRIPT_SCHEMES: ReadonlySet<string> = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:']);
const STATES: ReadonlySet<string> = new Set(['pending', 'succeeded', 'failed', 'reversed', 'unknown']);
/** Control and invisible characters: two texts that look the same would be different. */
const UNSEEN = /[\p{Cc}\p{Cf}]/u;
const CONTROL_IN_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;
const CONTROL_PICTURES = 0x2400;

/** `error` says which value cannot be used, and why. */
export type Checked<T> = { value: T; error: null } | { value: null; error: string };

/** The observation as it may be stored: comments cut, blank receipts null. */
export function checkObservation(observation: Observation): Checked<Observation> {
  const error = errorOf(observation);
  return error === null ? { value: cleaned(observation), error } : { value: null, error };
}

type PaymentReceived = CallbackReading & { kind: 'payment_received' };

export function checkPayment(payment: PaymentReceived): Checked<PaymentReceived> {
  const error =
    identifierError('receipt', payment.receipt) ??
    identifierError('account reference', payment.accountReference) ??
    identifierError('payer', payment.payer) ??
    amountError(payment.amount) ??
    currencyError(payment.currency) ??
    (payment.receipt.trim() === '' ? 'the receipt is empty' : null);
  return error === null ? { value: { ...payment, receipt: payment.receipt.trim() }, error } : { value: null, error };
}

type PaymentAsked = CallbackReading & { kind: 'validation' };

/** What is wrong with a payment that a payer is about to send; null: nothing. */
export function validationError({ accountReference, amount, currency }: PaymentAsked): string | null {
  return identifierError('account reference', accountReference) ?? amountError(amount) ?? currencyError(currency);
}

/** What is wrong with a balance; null: nothing. It may be below zero. */
export function balanceError({ account, currency, available }: OperatorBalance): string | null {
  const magnitude = available < 0n ? -available : available;
  return (
    identifierError('account', account) ??
    currencyError(currency) ??
    (magnitude > MAX_REPORTED_AMOUNT ? 'the balance is larger than any' : null)
  );
}

/** What is wrong with the reference that a message is about; null: nothing. */
export function referenceError(reference: string): string | null {
  return identifierError('reference', reference) ?? (reference === '' ? 'the reference is empty' : null);
}

/** Text that PostgreSQL can store and a person can read: control characters become their pictures, NUL is ␀. */
export function visibleText(text: string): string {
  return text
    .toWellFormed()
    .replace(CONTROL_IN_TEXT, (character) => String.fromCharCode(CONTROL_PICTURES + character.charCodeAt(0)));
}

function errorOf(observation: Observation): string | null {
  if (!STATES.has(observation.state)) return 'the state is not known';
  return (
    ('receipt' in observation ? identifierError('receipt', observation.receipt) : null) ??
    ('railReference' in observation ? identifierError('reference', observation.railReference) : null) ??
    ('amount' in observation ? amountError(observation.amount) : null) ??
    ('currency' in observation ? currencyError(observation.currency) : null) ??
    ('failureCode' in observation ? identifierError('failure code', observation.failureCode) : null) ??
    (observation.state === 'pending' && observation.step ? stepError(observation.step) : null)
  );
}

function stepError(step: PayerStep): string | null {
  switch (step.kind) {
    case 'prompt':
      return null;
    case 'code':
      return step.dial === undefined || DIAL_FOR_CODE.test(step.dial) ? null : 'the code to dial is not valid';
    case 'dial':
      return DIAL_CODE.test(step.code) ? null : 'the code to dial is not valid';
    case 'redirect':
    case 'deep_link':
      return linkError(step.url, step.kind === 'redirect') ?? momentError(step.expiresAt);
    case 'qr':
      return (
        (isLinkText(step.content) ? null : 'the content of the QR code is not valid') ??
        step.links
          .map(({ url, name }) => identifierError('name of a link', name) ?? linkError(url, false))
          .find(Boolean) ??
        momentError(step.expiresAt)
      );
    case 'transfer':
      return instructionsError(step);
    default:
      return 'the step of the payer is not known';
  }
}

function instructionsError({ payTo, accountReference, expiresAt }: PayInstructions): string | null {
  return (
    identifierError('account reference', accountReference) ??
    identifierError('number to pay to', payTo.number) ??
    identifierError('name to pay to', payTo.name) ??
    identifierError('bank to pay to', payTo.bank) ??
    momentError(expiresAt)
  );
}

/** Links are shown to payers. One of an app has a scheme of its own; a script is never one. */
function linkError(url: string, isPage: boolean): string | null {
  if (!isLinkText(url) || !URL.canParse(url)) return 'the link is not valid';
  const { protocol } = new URL(url);
  return (isPage ? PAGE_SCHEMES.has(protocol) : !SCRIPT_SCHEMES.has(protocol)) ? null : 'the link has a wrong scheme';
}

function isLinkText(text: unknown): boolean {
  return (
    typeof text === 'string' && text.length > 0 && text.length <= MAX_LINK && !UNSEEN.test(text) && text.isWellFormed()
  );
}

function momentError(moment: Date | null): string | null {
  const millis = moment === null ? EARLIEST : moment.getTime();
  return millis >= EARLIEST && millis < LATEST ? null : 'the date of expiry is not valid';
}

function identifierError(name: string, text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  if (typeof text !== 'string') return `the ${name} is not a text`;
  if (text.length > MAX_IDENTIFIER) return `the ${name} is longer than ${MAX_IDENTIFIER} characters`;
  return UNSEEN.test(text) || !text.isWellFormed() ? `the ${name} has characters that cannot be stored` : null;
}

function amountError(amount: bigint | undefined): string | null {
  if (amount === undefined) return null;
  if (typeof amount !== 'bigint') return 'the amount is not a number of hundredths';
  if (amount <= 0n) return 'the amount is not above zero';
  return amount > MAX_REPORTED_AMOUNT ? 'the amount is larger than any payment' : null;
}

function currencyError(currency: string | undefined): string | null {
  return currency === undefined || /^[A-Z]{3}$/.test(currency) ? null : 'the currency is not three capital letters';
}

function cleaned(observation: Observation): Observation {
  switch (observation.state) {
    case 'succeeded':
      return { ...observation, receipt: receiptOrNull(observation.receipt) };
    case 'reversed':
      return { ...observation, ...comments(observation), receipt: receiptOrNull(observation.receipt) };
    case 'failed':
      return { ...observation, ...comments(observation) };
    case 'unknown':
      return { ...observation, reason: comment(observation.reason) };
    case 'pending':
      return observation.step ? { ...observation, step: cleanedStep(observation.step) } : observation;
  }
}

function cleanedStep(step: PayerStep): PayerStep {
  return 'text' in step && step.text !== null ? { ...step, text: comment(step.text).trim() || null } : step;
}

/** Spaces around a receipt are not part of it. An empty one is none: otherwise two payments without one would share it. */
function receiptOrNull(receipt: string | null): string | null {
  return receipt?.trim() || null;
}

function comments({ rawCode, message }: { rawCode: string; message: string }): { rawCode: string; message: string } {
  return { rawCode: comment(rawCode), message: comment(message) };
}

function comment(text: string): string {
  return visibleText(String(text).slice(0, MAX_MESSAGE));
}
