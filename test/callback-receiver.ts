// Receives operator callbacks in place of the gateway; a test sets the status of its answers.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CallbackRequest } from '../src/rails/rail.ts';

export interface CallbackReceiver {
  readonly url: string;
  readonly received: CallbackRequest[];
  /** The status of the next answers. */
  answerWith(status: number): void;
  close(): Promise<void>;
}

export async function createCallbackReceiver(): Promise<CallbackReceiver> {
  const received: CallbackRequest[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const body = Buffer.concat(chunks);
      received.push({ method, host: headers.host ?? '', path: url, remoteAddress: null, headers, body });
      response.writeHead(status).end();
    });
  });
  // A connection must not be closed just as the next callback comes.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answerWith: (next) => {
      status = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
