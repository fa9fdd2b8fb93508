// What a careful team would write with graphile-worker: one job a callback, signed and sent with keep-alive, jobs fetched and
// completed in batches. bench/peers.ts copies this file beside the installed package and starts it: node peer-callbacks.mjs
// DATABASE_URL RECEIVER_URL SECRET COUNT. It prints "ready" when the jobs are stored, and starts when it reads a line.

import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import { makeWorkerUtils, run } from 'graphile-worker';

const [connectionString, receiver, secret, count] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');

const utils = await makeWorkerUtils({ connectionString });
await utils.migrate();
const jobs = Array.from({ length: Number(count) }, (_, index) => ({
  identifier: 'callback',
  payload: {
    id: `evt_${index}`,
    type: 'collection.success',
    data: { ref: `PEER_${index}`, amount: 1_000, currency: 'UGX' },
  },
}));
for (let from = 0; from < jobs.length; from += 1_000) await utils.addJobs(jobs.slice(from, from + 1_000));
await utils.release();

process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
await run({
  connectionString,
  concurrency: 64,
  taskList: { callback },
  preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
});

function callback(payload) {
  const body = JSON.stringify(payload);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', key).update(`${payload.id}.${timestamp}.${body}`).digest('base64');
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'webhook-id': payload.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  return new Promise((resolve, reject) => {
    const sent = request(receiver, { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.once('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(`${answer.statusCode}`))));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
