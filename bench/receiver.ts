// The merchant's side: receives callbacks, verifies each signature, and remembers when each transaction's first one came.
// Runs as a process of its own; the parent asks for its tally over IPC.

import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';

const secrets: string[] = [];
const arrivals = new Map<string, number>();
let received = 0;
let forged = 0;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers;
    // The path names the integration, so that the right secret is used: /cb/<index>.
    const secret = secrets[Number(request.url?.slice(4) ?? 0)] ?? '';
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const expected = `v1,${createHmac('sha256', key)
      .update(`${String(id)}.${String(timestamp)}.`)
      .update(body)
      .digest('base64')}`;
    if (String(signature).split(' ').includes(expected)) {
      received++;
      const ref = /"ref":"([^"]+)"/.exec(body.toString('latin1'))?.[1] ?? '';
      if (!arrivals.has(ref)) arrivals.set(ref, Date.now());
    } else forged++;
    response.writeHead(200, { 'Content-Length': '0' }).end();
  });
});
server.keepAliveTimeout = 60_000;

process.on('message', (message: { secrets?: string[]; reset?: true; tally?: true; arrivals?: true }) => {
  if (message.secrets) secrets.push(...message.secrets);
  if (message.reset) {
    arrivals.clear();
    received = 0;
    forged = 0;
  }
  if (message.tally) process.send?.({ received, distinct: arrivals.size, forged });
  if (message.arrivals) process.send?.({ received, distinct: arrivals.size, forged, arrivals: [...arrivals] });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address ? address.port : 0 });
});
