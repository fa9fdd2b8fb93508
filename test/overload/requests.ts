// Requests from a chosen address of this machine: 127.0.0.2 and the like are strangers to the gateway, as on the internet.

import { Agent, request } from 'node:http';

export type Answer = { status: number; body: string; headers: Record<string, string | string[] | undefined> };

export type Sender = {
  send(method: 'GET' | 'POST', path: string, body?: string | Buffer, headers?: Record<string, string>): Promise<Answer>;
  close(): void;
};

/** A connection that the gateway refuses counts as status 0. */
export function createSender(url: string, localAddress: string, maxSockets = 64): Sender {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, localAddress, maxSockets });
  return {
    send: (method, path, body = '', headers = {}) =>
      new Promise((resolve) => {
        const gone = () => resolve({ status: 0, body: '', headers: {} });
        const length = { 'content-length': String(Buffer.byteLength(body)) };
        const call = request(
          { agent, host: hostname, port, method, path, headers: { ...headers, ...length } },
          (answer) => {
            const chunks: Buffer[] = [];
            answer.on('data', (chunk: Buffer) => chunks.push(chunk));
            answer.on('error', gone);
            answer.on('end', () =>
              resolve({
                status: answer.statusCode ?? 0,
                body: Buffer.concat(chunks).toString('utf8'),
                headers: answer.headers,
              }),
            );
          },
        );
        call.on('error', gone);
        call.end(body);
      }),
    close: () => agent.destroy(),
  };
}

const MOST_BEHIND_MS = 100;

/** Starts `work` at a steady rate until the signal, whether or not the earlier ones have ended; then waits for them. */
export async function atRate(
  perSecond: number,
  signal: AbortSignal,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let due = performance.now();
  const open = new Set<Promise<unknown>>();
  for (let index = 0; !signal.aborted; index++) {
    const wait = due - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    if (signal.aborted) break;
    const running = work(index).finally(() => open.delete(running));
    open.add(running);
    // What a machine that stood still has missed is not sent all at once: that would be another rate.
    due = Math.max(due, performance.now() - MOST_BEHIND_MS) + 1000 / perSecond;
  }
  await Promise.all(open);
}
