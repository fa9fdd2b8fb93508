// The load: collections, payouts and refunds that begin on a schedule, whether or not earlier ones were answered. Each is repeated
// with its own key until the gateway has said what became of it.

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { PATHS } from '../client.ts';
import { hiddenFieldsOf } from '../console-harness.ts';
import { atRate } from '../overload/requests.ts';
import { signBody } from '../shop.ts';
import { CURRENCY, type Merchant } from './merchant.ts';
import type { Receiver } from './receiver.ts';
import type { Answer, Requests } from './requests.ts';

const COUNTRY = 11;
const PAYER = '256772123000';
/** The request did not arrive in time, or there were too many: nothing was done. */
const NOT_NOW: readonly number[] = [408, 429];
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 20_000;
/** After the end of the schedule, for those that have no answer yet. */
const LAST_TRIES_MS = 120_000;

export type Kind = 'collection' | 'payout' | 'refund';
export const KINDS: readonly Kind[] = ['collection', 'payout', 'refund'];
export type Rates = Record<Kind, number>;

/** `reference` is in the row of its transaction. `ref` is null where the answer did not name it. */
export type Operation = {
  kind: Kind;
  reference: string;
  ref: string | null;
  acknowledgedAt: number | null;
  tries: number;
  /** What the gateway said, where that was a refusal. */
  refused: string | null;
};

export interface Load {
  readonly operations: readonly Operation[];
  /** Ends the schedule, and waits for what is under way. */
  stop(): Promise<void>;
  /** Ends everything at once. */
  abort(): void;
}

type Parts = {
  merchants: readonly Merchant[];
  requests: Requests;
  receiver: Receiver;
  /** Counts payouts over all loads of a run: no two of them may look like a repetition. */
  nextPayout: () => number;
};

type Actor = { merchant: Merchant; requests: Requests };

export function startLoad(parts: Parts, rates: Rates): Load {
  const operations: Operation[] = [];
  const schedule = new AbortController();
  const patience = new AbortController();
  const begin = (kind: Kind): Operation => {
    const operation = { kind, reference: `${kind}-${randomUUID()}`, ref: null, acknowledgedAt: null };
    const begun: Operation = { ...operation, tries: 0, refused: null };
    operations.push(begun);
    return begun;
  };
  const ofMerchant = (index: number): Actor => {
    const merchant = parts.merchants[index % parts.merchants.length];
    if (!merchant) throw new Error('there is no merchant');
    return { merchant, requests: parts.requests };
  };
  const works: Record<Kind, (index: number) => Promise<void>> = {
    collection: (index) => collect(ofMerchant(index), begin('collection'), patience.signal),
    payout: (index) => payOut(ofMerchant(index), begin('payout'), parts.nextPayout(), patience.signal),
    async refund() {
      const paid = parts.receiver.takePaid();
      if (paid) await refund(ofMerchant(paid.merchant), begin('refund'), paid.ref, patience.signal);
    },
  };
  const running = Promise.all(
    KINDS.filter((kind) => rates[kind] > 0).map((kind) => atRate(rates[kind], schedule.signal, works[kind])),
  );
  return {
    operations,
    abort() {
      schedule.abort();
      patience.abort();
    },
    async stop() {
      schedule.abort();
      const timer = setTimeout(() => patience.abort(), LAST_TRIES_MS);
      await running;
      clearTimeout(timer);
    },
  };
}

async function collect(actor: Actor, operation: Operation, patience: AbortSignal): Promise<void> {
  const { reference } = operation;
  const params = { amount: 1000, mobile: PAYER, country_id: COUNTRY, currency: CURRENCY };
  await repeat(operation, patience, () =>
    signed(actor, PATHS.collect, { ...params, third_party_reference_1: reference }, reference),
  );
}

async function refund(actor: Actor, operation: Operation, paid: string, patience: AbortSignal): Promise<void> {
  const { reference } = operation;
  const params = {
    id: paid,
    amount: 100,
    third_party_reference_1: reference,
    callback_url: actor.merchant.callbackUrl,
  };
  await repeat(operation, patience, () => signed(actor, PATHS.refund, params, reference));
}

function signed(
  { merchant, requests }: Actor,
  path: string,
  params: Record<string, string | number>,
  key: string,
): Promise<Answer> {
  const body = JSON.stringify(signBody(merchant.shop, Date.now(), params));
  return requests.post(path, body, { 'content-type': 'application/json', 'idempotency-key': key });
}

/** As a person in the console: the form, then the page that shows it once more, confirmed. The form counts once. */
async function payOut(actor: Actor, operation: Operation, number: number, patience: AbortSignal): Promise<void> {
  const { reference } = operation;
  const mobile = `25677${String(1000 + (number % 9000))}000`;
  const amount = String(500 + Math.floor(number / 9000));
  const fields = { amount, currency: CURRENCY, mobile, invoice_no: reference, once: randomUUID() };
  const shown = await untilAnswered(operation, patience, () => send(actor, fields));
  if (!shown) return;
  const confirmed = hiddenFieldsOf(shown.body);
  if (shown.status !== 200 || !confirmed.shown) {
    operation.refused = `${shown.status} for the form`;
    return;
  }
  await repeat(operation, patience, () => send(actor, confirmed));
}

function send({ merchant, requests }: Actor, fields: Record<string, string>): Promise<Answer> {
  const { cookie, csrf } = merchant;
  const body = new URLSearchParams({ csrf, ...fields }).toString();
  return requests.post('/console/payouts', body, { cookie, 'content-type': 'application/x-www-form-urlencoded' });
}

/** Until it is acknowledged or refused. */
async function repeat(operation: Operation, patience: AbortSignal, attempt: () => Promise<Answer>): Promise<void> {
  const answer = await untilAnswered(operation, patience, attempt);
  if (!answer) return;
  const ref = refIn(answer);
  if (ref === undefined) operation.refused = `${answer.status} ${answer.body.slice(0, 300)}`;
  else Object.assign(operation, { ref, acknowledgedAt: performance.now() });
}

/** The reference of what was made; null: it was made before, and the answer does not name it. Undefined: it was not made. */
function refIn({ status, body, location }: Answer): string | null | undefined {
  if (status === 200 && body.startsWith('{')) return (JSON.parse(body) as { data: { ref: string } }).data.ref;
  const [, ref] = /^\/console\/transactions\/([^/?]+)/.exec(location) ?? [];
  if (status === 303 && (ref || location.startsWith('/console/payouts'))) return ref ?? null;
  return undefined;
}

/** An answer other than "not now". Null: there was none until the patience ended. */
async function untilAnswered(
  operation: Operation,
  patience: AbortSignal,
  attempt: () => Promise<Answer>,
): Promise<Answer | null> {
  for (let pause = FIRST_PAUSE_MS; !patience.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    operation.tries++;
    const answer = await attempt();
    if (answer.status > 0 && answer.status < 500 && !NOT_NOW.includes(answer.status)) return answer;
    await wait(pause * (0.75 + Math.random() / 2));
  }
  return null;
}
