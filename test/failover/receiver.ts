// The merchants' servers: take callbacks, verify each signature and keep what they were sent. One listens for all of them.

import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

const PATH = '/callbacks/';

export interface Receiver {
  /** Where this merchant takes callbacks. */
  urlOf(merchant: number): string;
  /** The secret of the merchant's integration, once there is one. */
  expect(merchant: number, secret: string): void;
  /** Whether this event came, with a right signature. */
  has(type: string, ref: string): boolean;
  /** Collections whose success came, oldest first, each once. */
  takePaid(): { merchant: number; ref: string } | undefined;
  /** Callbacks that did not verify. */
  forged(): number;
  /** Facts that were sent under two ids. */
  doubled(): number;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const keys = new Map<number, Buffer>();
  let forged = 0;
  /** The id of each fact, by type and reference. */
  const facts = new Map<string, Set<string>>();
  const paid: { merchant: number; ref: string }[] = [];

  async function take(request: IncomingMessage): Promise<void> {
    const body = await buffer(request);
    const merchant = Number(request.url?.slice(PATH.length));
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers;
    const signed = createHmac('sha256', keys.get(merchant) ?? '')
      .update(`${String(id)}.${String(timestamp)}.`)
      .update(body);
    if (
      !String(signature)
        .split(' ')
        .includes(`v1,${signed.digest('base64')}`)
    ) {
      forged++;
      return;
    }
    const { type, data } = JSON.parse(body.toString('utf8')) as { type: string; data: { ref: string } };
    const fact = `${type} ${data.ref}`;
    const ids = facts.get(fact) ?? new Set();
    if (ids.size === 0 && type === 'collection.success') paid.push({ merchant, ref: data.ref });
    facts.set(fact, ids.add(String(id)));
  }

  const server = createServer((request, response) => {
    take(request).then(
      () => response.writeHead(200).end(),
      () => response.writeHead(400).end(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    urlOf: (merchant) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}${merchant}`,
    expect(merchant, secret) {
      keys.set(merchant, Buffer.from(secret.replace('whsec_', ''), 'base64'));
    },
    has: (type, ref) => facts.has(`${type} ${ref}`),
    takePaid: () => paid.shift(),
    forged: () => forged,
    doubled: () => [...facts.values()].filter((ids) => ids.size > 1).length,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
