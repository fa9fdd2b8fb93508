// What a stranger does in tests: raw sockets from an address of its own. Every address of 127.0.0.0/8 is this machine, so
// limits by address act on 127.0.0.2 as they do on the internet; 127.0.0.1 is exempt from them.

import { connect, type Socket } from 'node:net';

export const STRANGER = '127.0.0.2';

export type RawAnswer = { socket: Socket; text: () => string; closed: Promise<string> };

/** Sends raw bytes from this address. `closed` resolves with what came back when the gateway ends the connection. */
export function sendRaw(url: string, text: string | Buffer, localAddress = STRANGER): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    const closed = new Promise<string>((end) => socket.once('close', () => end(answer)));
    const sent = { socket, text: () => answer, closed };
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    // A connection that the gateway refuses is reset; the answer says what came before.
    socket.on('error', () => resolve(sent));
    socket.once('connect', () => socket.write(text, () => resolve(sent)));
  });
}

/** One request, answered in full. */
export async function askRaw(url: string, head: string, body: string | Buffer = '', from = STRANGER): Promise<string> {
  const bytes = Buffer.from(body);
  const length = bytes.length > 0 ? `Content-Length: ${bytes.length}\r\n` : '';
  const { closed } = await sendRaw(
    url,
    Buffer.concat([Buffer.from(`${head}\r\n${length}Connection: close\r\n\r\n`), bytes]),
    from,
  );
  return closed;
}

/** The status of a raw answer; 0 when the connection ended without one. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}
