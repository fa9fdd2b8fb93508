// An HTTP server that answers from a script, for tests of rails: it keeps what was sent and says what the test tells it to.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SentRequest = {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
  /** The body as JSON; null when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at any member.
  json: any;
};

export type ScriptedAnswer = { status?: number; body: object | string; headers?: Record<string, string> };
type Script = (request: SentRequest) => ScriptedAnswer | 'cut';

export type ScriptedOperator = AsyncDisposable & {
  readonly url: string;
  readonly requests: SentRequest[];
  /** The answer to every request from now on; 'cut' closes the connection without one. */
  answer(script: Script | ScriptedAnswer | 'cut'): void;
};

export async function startScriptedOperator(): Promise<ScriptedOperator> {
  const requests: SentRequest[] = [];
  let script: Script = () => ({ status: 500, body: 'no script' });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const sent = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, text };
      const received: SentRequest = { ...sent, json: parse(text) };
      requests.push(received);
      const answer = script(received);
      if (answer === 'cut') return void request.socket.destroy();
      const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer(given) {
      script = typeof given === 'function' ? given : () => given;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
