// For the tests of simulators: a receiver of callbacks, and a wait for something to become true.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export type ReceivedCallback = {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  text: string;
};

export interface CallbackInbox {
  readonly url: string;
  readonly received: ReceivedCallback[];
  /** What the next callbacks are answered with, in this order; 200 afterwards. */
  readonly statuses: number[];
  close(): Promise<void>;
}

export async function openCallbackInbox(): Promise<CallbackInbox> {
  const received: ReceivedCallback[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      received.push({ method, path, headers, text: Buffer.concat(chunks).toString('utf8') });
      response.writeHead(statuses.shift() ?? 200).end('{}');
    });
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    statuses,
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}

/** Waits until `read` gives something; fails after ten seconds with what was waited for. */
export async function eventually<T>(
  what: string,
  read: () => T | null | undefined | false | Promise<T | null | undefined | false>,
): Promise<T> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const value = await read();
    if (value !== null && value !== undefined && value !== false) return value;
    await pause(10);
  }
  throw new Error(`waited for ${what}`);
}
