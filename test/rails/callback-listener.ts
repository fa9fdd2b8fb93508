// The address that a simulated operator calls back, with a rail behind it that reads what arrives.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CallbackReading, Rail } from '../../src/rails/rail.ts';

export type CallbackListener = AsyncDisposable & {
  readonly publicUrl: string;
  readonly readings: CallbackReading[];
  /** The rail that reads; without one every callback is refused. */
  rail: Rail | null;
};

export async function startCallbackListener(): Promise<CallbackListener> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const readings =
        listener.rail?.readCallback({
          method: request.method ?? '',
          host: request.headers.host ?? '',
          path: request.url ?? '',
          remoteAddress: request.socket.remoteAddress ?? null,
          headers: request.headers,
          body: Buffer.concat(chunks),
        }) ?? [];
      listener.readings.push(...readings);
      const isKept = readings.length > 0 && readings.every(({ kind }) => kind !== 'rejected');
      response.writeHead(isKept ? 200 : 401, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listener: CallbackListener = {
    publicUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    readings: [],
    rail: null,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return listener;
}
