// An operator for tests of one rail: it answers each request as the test says, and keeps what was sent.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ScriptedRequest = {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
};
/** Null cuts the connection without an answer. */
export type ScriptedAnswer = { status: number; body: object | string } | null;
export type Script = (request: ScriptedRequest) => ScriptedAnswer;

export interface ScriptedOperator {
  readonly url: string;
  readonly requests: ScriptedRequest[];
  /** Replaces what is answered from now on. */
  answer(script: Script): void;
  close(): Promise<void>;
}

export async function startScriptedOperator(first: Script): Promise<ScriptedOperator> {
  let script = first;
  const requests: ScriptedRequest[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const request = { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers, text };
      requests.push(request);
      const answer = script(request);
      if (answer === null) return response.destroy();
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      return response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (next) => {
      script = next;
    },
    close: () =>
      new Promise((closed) => {
        server.closeAllConnections();
        server.close(() => closed());
      }),
  };
}
