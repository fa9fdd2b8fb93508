// What pawaPay's answers and callbacks say. Deposits, payouts and refunds have one form and differ in the name of their id.

import type { Exchange } from './exchange.ts';
import { failureCode, refusalCode } from './pawapay-codes.ts';
import type { CallbackReading, MoneyDirection, Observation, PayerStep } from './rail.ts';
import { currencyOf, field, firstOf, moneyOf, proseOf, readJson, textOf } from './reading.ts';
import { referenceOfUuid4, uuid4Of } from './wire-ids.ts';

/** How pawaPay names each direction in paths and members. */
export const RESOURCES: Readonly<Record<MoneyDirection, { path: string; id: string }>> = {
  collection: { path: '/v2/deposits', id: 'depositId' },
  payout: { path: '/v2/payouts', id: 'payoutId' },
  refund: { path: '/v2/refunds', id: 'refundId' },
};

/** Statuses with which a request was refused before anything was taken. */
const REFUSING_STATUSES = new Set([400, 401, 403]);
const UNFINISHED = new Set(['ACCEPTED', 'ENQUEUED', 'PROCESSING', 'SUBMITTED', 'IN_RECONCILIATION']);

/** `uuid`: our reference on pawaPay's wire. */
export type PawapayId = { direction: MoneyDirection; uuid: string };

const unknown = (reason: string): Observation => ({ state: 'unknown', reason });

/** The answer to a request that moves money. */
export function readSubmission(answer: Exchange, { direction, uuid }: PawapayId, step: PayerStep | null): Observation {
  if (!answer.answered) return unknown(answer.reason);
  const body = readJson(answer.body);
  const status = field(body, 'status');
  const id = textOf(field(body, RESOURCES[direction].id));
  // A refusal may come without the id.
  if (id !== null && id.toLowerCase() !== uuid) return unknown('the answer is about something else');
  if (answer.status === 200 && status === 'ACCEPTED' && id !== null)
    return { state: 'pending', railReference: uuid, ...(step ? { step } : {}) };
  // What became of the first one is for a query to tell.
  if (answer.status === 200 && status === 'DUPLICATE_IGNORED') return unknown('the operator has this id already');
  if (REFUSING_STATUSES.has(answer.status) || (answer.status === 200 && status === 'REJECTED'))
    return readRefusal(body, direction);
  return unknown(`the operator answered ${answer.status}`);
}

function readRefusal(body: unknown, direction: MoneyDirection): Observation {
  const { code: rawCode, message } = reasonOf(body);
  const code = refusalCode(rawCode, direction);
  // A page of a proxy, an error inside pawaPay, or a code of tomorrow: a query tells whether anything was taken.
  if (code === null) return unknown(`the operator refused with the code "${rawCode}"`);
  // Only an id that was accepted is taken: one that was refused can be sent again.
  const isFree = direction === 'payout' && code === 'FLOAT_INSUFFICIENT';
  return { state: 'failed', failureCode: code, rawCode, message, ...(isFree ? { notTaken: true } : {}) };
}

/** The answer to a query. */
export function readStatus(answer: Exchange, subject: PawapayId): Observation {
  if (!answer.answered) return unknown(answer.reason);
  const body = readJson(answer.body);
  const status = field(body, 'status');
  // A 404 without these words may be a proxy's.
  if (status === 'NOT_FOUND' && field(body, 'failureReason') === undefined && [200, 404].includes(answer.status))
    return { state: 'unknown', reason: 'the operator does not know the id', definitelyNotFound: true };
  if (answer.status !== 200) return unknown(`the operator answered ${answer.status}`);
  const data = field(body, 'data');
  const id = textOf(field(data, RESOURCES[subject.direction].id));
  if (status !== 'FOUND' || id?.toLowerCase() !== subject.uuid) return unknown('the answer is not valid');
  return readResource(data, subject);
}

/** A deposit, payout or refund as queries and callbacks show it. */
function readResource(data: unknown, { direction, uuid }: PawapayId): Observation {
  const status = textOf(field(data, 'status')) ?? '';
  if (UNFINISHED.has(status)) return { state: 'pending', railReference: uuid };
  if (status === 'COMPLETED') {
    const amount = moneyOf(field(data, 'amount'));
    const currency = currencyOf(field(data, 'currency'));
    if (amount === null || currency === null) return unknown('the amount is not valid');
    const receipt = textOf(field(data, 'providerTransactionId'));
    return { state: 'succeeded', receipt, railReference: uuid, amount, currency };
  }
  if (status === 'FAILED') {
    const { code: rawCode, message } = reasonOf(data);
    return {
      state: 'failed',
      failureCode: failureCode(rawCode, direction),
      rawCode,
      message,
      railReference: uuid,
    };
  }
  return unknown('the operator sent an unknown status');
}

export function reasonOf(value: unknown): { code: string; message: string } {
  const reason = field(value, 'failureReason');
  return { code: textOf(field(reason, 'failureCode')) ?? '', message: proseOf(field(reason, 'failureMessage')) };
}

/** A callback whose sender pawaPay's signature proves (`proof`), or that is only a reason to ask (`hint`). */
export function readCallbackBody(text: string, worth: 'proof' | 'hint'): CallbackReading {
  const body = readJson(text);
  const subject = subjectOf(body);
  if (subject === null) return unreadable('the callback carries no id', worth);
  const reference = referenceOf(body, subject);
  if (reference === null) return unreadable('the id is not a UUID', worth);
  const observation = readResource(body, subject);
  // Progress of redirects; it could come after the end, and undoes nothing.
  if (observation.state === 'pending') return { kind: 'nothing', reason: 'the callback reports progress' };
  if (worth === 'hint') return { kind: 'hint', reference };
  if (field(body, 'status') === 'COMPLETED' && observation.state === 'unknown')
    return unreadable(observation.reason, worth);
  if (observation.state === 'unknown') return { kind: 'hint', reference };
  return { kind: 'proof', reference, direction: subject.direction, observation };
}

function subjectOf(body: unknown): PawapayId | null {
  for (const direction of ['collection', 'payout', 'refund'] as const) {
    const id = textOf(field(body, RESOURCES[direction].id));
    if (id !== null) return { direction, uuid: id.toLowerCase() };
  }
  return null;
}

/** The version of our UUID is lost on the wire; a payout may be a refund, which the metadata of our request tells. */
function referenceOf(body: unknown, { direction, uuid }: PawapayId): string | null {
  const named = textOf(firstOf(field(body, 'metadata'), 'ref')) ?? textOf(field(body, 'clientReferenceId')) ?? '';
  if (/^(?:TX|RF)_/.test(named) && isUuidOf(uuid, named)) return named;
  return referenceOfUuid4(uuid, direction === 'refund' ? 'RF' : 'TX');
}

function isUuidOf(uuid: string, reference: string): boolean {
  try {
    return uuid4Of(reference) === uuid;
  } catch {
    return false;
  }
}

function unreadable(reason: string, worth: 'proof' | 'hint'): CallbackReading {
  return worth === 'proof' ? { kind: 'rejected', reason, authenticated: true } : { kind: 'rejected', reason };
}
