// A merchant's requests to whatever gateways are in rotation, without a pause: collections, their status, the balance, refunds. A
// request is sent once; every answer other than 200 counts as failed.

import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import { startReceiver, type TestReceiver } from '../callback-harness.ts';
import { PATHS, textOf } from '../client.ts';
import { signBody } from '../shop.ts';
import type { Gateway } from './versions.ts';

const LANES = 4;
const PAUSE_MS = 20;
const SETTLED_PAUSE_MS = 200;
const MAX_SETTLE_MS = 120_000;
/** Every n-th collection is given back. */
const REFUND_EVERY = 10;

export type Merchant = { clientId: string; title: string; secretKey: string };

export type Traffic = {
  /** Gateways that get requests. */
  readonly rotation: Gateway[];
  readonly sent: Map<string, number>;
  readonly failures: string[];
  /** Takes a gateway out of rotation and waits for its last answer. */
  drain(gateway: Gateway): Promise<void>;
  /** Stops sending and waits until every accepted payment has its end and its callback. */
  finish(): Promise<{ collections: number; refunds: number; callbacks: number; doubled: number }>;
};

export async function startTraffic(merchant: Merchant, rotation: Gateway[]): Promise<Traffic> {
  const receiver = await startReceiver();
  const run = {
    merchant,
    rotation,
    receiver,
    sent: new Map<string, number>(),
    failures: [] as string[],
    turn: 0,
    numbers: 0,
  };
  const refs = { collections: [] as string[], refunds: [] as string[] };
  let stopped = false;
  const lanes = Array.from({ length: LANES }, async () => {
    while (!stopped) {
      await buy(run, refs);
      await pause(PAUSE_MS);
    }
  });
  return {
    rotation,
    sent: run.sent,
    failures: run.failures,
    async drain(gateway) {
      rotation.splice(rotation.indexOf(gateway), 1);
      while (gateway.inFlight > 0) await pause(PAUSE_MS);
    },
    async finish() {
      stopped = true;
      await Promise.all(lanes);
      for (const ref of refs.collections) await settled(run, ref, 'payin');
      const callbacks = await collectCallbacks(receiver, refs.collections.length);
      await receiver.close();
      return { collections: refs.collections.length, refunds: refs.refunds.length, ...callbacks };
    },
  };
}

type Run = {
  merchant: Merchant;
  rotation: Gateway[];
  receiver: TestReceiver;
  sent: Map<string, number>;
  failures: string[];
  turn: number;
  numbers: number;
};

/** One customer: a collection, its status, the balance; sometimes the money is given back. */
async function buy(run: Run, refs: { collections: string[]; refunds: string[] }): Promise<void> {
  // Three prefixes of one operator; a number comes again only after thirty thousand payments.
  const mobile = `2567${60_000 + (run.numbers++ % 30_000)}000`;
  const collection = await request(run, PATHS.collect, {
    amount: 1_000,
    country_id: 11,
    currency: 'UGX',
    mobile,
    callback_url: run.receiver.url,
  });
  if (!collection) return;
  const ref = textOf(collection.ref);
  refs.collections.push(ref);
  await request(run, PATHS.statusV3, { id: ref, type: 'payin' });
  await request(run, PATHS.balance, { currency: 'UGX' });
  if (refs.collections.length % REFUND_EVERY !== 0 || !(await settled(run, ref, 'payin'))) return;
  const refund = await request(run, PATHS.refund, { id: ref, amount: 100 });
  if (refund) refs.refunds.push(textOf(refund.ref));
}

/** Null: it failed, and is in the list. */
async function request(run: Run, path: string, params: JsonObject): Promise<JsonObject | null> {
  const gateway = run.rotation[run.turn++ % run.rotation.length];
  if (!gateway) throw new Error('no gateway is in rotation');
  run.sent.set(gateway.version.name, (run.sent.get(gateway.version.name) ?? 0) + 1);
  gateway.inFlight++;
  try {
    const answer = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(signBody(run.merchant, Date.now(), params)),
    });
    const text = await answer.text();
    if (answer.status === 200) return (JSON.parse(text) as { data: JsonObject }).data;
    run.failures.push(`${gateway.version.name}, ${path}: ${answer.status} ${text}`);
  } catch (error) {
    run.failures.push(`${gateway.version.name}, ${path}: ${String(error)}`);
  } finally {
    gateway.inFlight--;
  }
  return null;
}

async function settled(run: Run, ref: string, type: string): Promise<boolean> {
  for (let waited = 0; waited < MAX_SETTLE_MS; waited += SETTLED_PAUSE_MS) {
    const record = await request(run, PATHS.statusV3, { id: ref, type });
    if (record?.status === 'success') return true;
    if (record === null) return false;
    await pause(SETTLED_PAUSE_MS);
  }
  run.failures.push(`${ref} has no end`);
  return false;
}

/** Callbacks of collections that succeeded: how many payments have one, and how many came again. */
async function collectCallbacks(
  { received }: TestReceiver,
  wanted: number,
): Promise<{ callbacks: number; doubled: number }> {
  const ids = () => received.filter(({ body }) => String(body).includes('collection.success')).map(({ id }) => id);
  for (let waited = 0; waited < MAX_SETTLE_MS && new Set(ids()).size < wanted; waited += SETTLED_PAUSE_MS)
    await pause(SETTLED_PAUSE_MS);
  const all = ids();
  return { callbacks: new Set(all).size, doubled: all.length - new Set(all).size };
}
