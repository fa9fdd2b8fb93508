// For tests of callbacks: receivers on loopback whose answers a test sets, events to send, and a deliverer on the test's
// clock.

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDeliverer, type Deliverer, type DelivererOptions } from '../src/callbacks/deliver.ts';
import { type NewEvent, type RecordedEvent, recordEvents } from '../src/callbacks/events.ts';
import type { Context } from '../src/platform/context.ts';
import { createUuid } from '../src/platform/ids.ts';
import { createOutbound } from '../src/platform/outbound.ts';

export const HOLDER = 1n;
export const INTEGRATION = 1n;

export function createCallbackSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export type ReceivedCallback = { id: string; body: Buffer; headers: Record<string, string> };

export type TestReceiver = {
  url: string;
  port: number;
  received: ReceivedCallback[];
  /** How it answers; replaced at will. */
  answer(callback: ReceivedCallback, response: ServerResponse): void;
  mostAtOnce: number;
  close(): Promise<void>;
};

export async function startReceiver(answer?: TestReceiver['answer']): Promise<TestReceiver> {
  let underWay = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    receiver.mostAtOnce = Math.max(receiver.mostAtOnce, ++underWay);
    response.on('close', () => underWay--);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = request.headers as Record<string, string>;
      const callback = { id: headers['webhook-id'] ?? '', body: Buffer.concat(chunks), headers };
      receiver.received.push(callback);
      receiver.answer(callback, response);
    });
  });
  // A connection must not be closed just as the next callback comes.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: TestReceiver = {
    url: `http://127.0.0.1:${port}/callbacks`,
    port,
    received: [],
    mostAtOnce: 0,
    answer: answer ?? ((_, response) => void response.end()),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return receiver;
}

/** An event of a new transaction, unless told otherwise. */
export function newEvent(ctx: Context, url: string | null, overrides: Partial<NewEvent> = {}): NewEvent {
  return {
    holderId: HOLDER,
    integrationId: INTEGRATION,
    transactionId: createUuid(ctx.clock.millis()),
    type: 'collection.success',
    data: { ref: 'TX_1', amount: 25.5, name: 'Zoë "quote" ☂' },
    url,
    ...overrides,
  };
}

export function record(ctx: Context, events: NewEvent[], handOver = true): Promise<RecordedEvent[]> {
  return ctx.db.transaction((tx) => recordEvents(tx, events, ctx.clock.now(), handOver));
}

export type TestDeliverer = Deliverer & {
  /** Passes until nothing is due any more, everything sent and recorded. */
  drain(): Promise<number>;
  close(): Promise<void>;
};

export function startDeliverer(
  ctx: Context,
  options: Partial<DelivererOptions> & { secrets?: string[] } = {},
): TestDeliverer {
  const outbound = createOutbound({ mode: 'sandbox' });
  const secrets = options.secrets ?? [createCallbackSecret()];
  const deliverer = createDeliverer(ctx, {
    outbound,
    secretsOf: () => Promise.resolve(secrets),
    timeoutMs: 60_000,
    ...options,
  });
  return {
    ...deliverer,
    async drain() {
      let handled = 0;
      for (let passes = 0; passes < 10_000; passes++) {
        const count = await deliverer.pass();
        await deliverer.idle();
        if (count === 0) return handled;
        handled += count;
      }
      throw new Error('the backlog never ends');
    },
    close: () => outbound.close(),
  };
}
