// The merchant whose payments must not suffer: signed collections at a steady rate, from one address.

import { PATHS } from '../client.ts';
import { type Shop, signBody } from '../shop.ts';
import { atRate, type Sender } from './requests.ts';

export const MERCHANT_ADDRESS = '127.0.9.1';

/** What came back: how long each took in milliseconds, and how many were answered with each other status. */
export type Served = { times: number[]; refused: Record<string, number> };

export async function collect(
  sender: Sender,
  shop: Pick<Shop, 'clientId' | 'title' | 'secretKey'>,
  options: { perSecond: number; millis: () => number; signal: AbortSignal },
): Promise<Served> {
  const served: Served = { times: [], refused: {} };
  await atRate(options.perSecond, options.signal, async (index) => {
    // Numbers that end in 000 are approved at once and have no limit of prompts.
    const mobile = `25677${String(2_000 + (index % 7_000)).padStart(4, '0')}000`;
    const params = { amount: 1_000, mobile, country_id: 11, currency: 'UGX', payment_method_type: 'MTN' };
    const body = JSON.stringify(signBody(shop, options.millis(), params));
    const started = performance.now();
    const { status, body: answer } = await sender.send('POST', PATHS.collect, body, {
      'content-type': 'application/json',
    });
    if (status === 200) served.times.push(performance.now() - started);
    else {
      const what = `${status} ${/"code":"(\w+)"/.exec(answer)?.[1] ?? ''}`.trim();
      served.refused[what] = (served.refused[what] ?? 0) + 1;
    }
  });
  return served;
}

export function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
