// The merchant's server: takes callbacks, verifies each signature and keeps what it was sent.

import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Receiver {
  readonly url: string;
  /** The secret of the integration, once there is one. */
  expect(secret: string): void;
  /** Whether this event came, with a right signature. */
  has(type: string, ref: string): boolean;
  /** Collections whose success came, oldest first, each once. */
  takePaid(): string | undefined;
  /** Callbacks that did not verify. */
  forged(): number;
  /** Facts that were sent under two ids. */
  doubled(): number;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  let key = Buffer.alloc(0);
  let forged = 0;
  /** The id of each fact, by type and reference. */
  const facts = new Map<string, Set<string>>();
  const paid: string[] = [];

  async function take(request: IncomingMessage): Promise<void> {
    const body = await buffer(request);
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers;
    const signed = createHmac('sha256', key)
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
    if (ids.size === 0 && type === 'collection.success') paid.push(data.ref);
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
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`,
    expect(secret) {
      key = Buffer.from(secret.replace('whsec_', ''), 'base64');
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
