// H: what Fastify alone does with the same body: stock JSON parser, the HMAC over the canonical body, an answer of the
// same size, no database. With the address of a database it also writes the rows of one accept, one statement a request.
// A process of its own.

import { createHash, createHmac, createSecretKey, randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import { fastify } from 'fastify';
import pg from 'pg';

const CONNECTIONS = 16;
const INSERT = `
  with spent as (
    insert into spent_signatures (signed_at, signature) values (date_trunc('second', now()), $1)
  ), accepted as (
    insert into transactions (holder_id, id, integration_id, direction, status, amount, fee, currency, country_id, method, rail,
      msisdn, detail, reference_1, callback_url, verification, created_at, updated_at)
    values (1 + floor(random() * 1000)::int, uuidv7(), 1, 'collection', 'pending', 100000, 1000, 'UGX', 11, 'MTN_MOMO_UGA', 'sandbox',
      '256772123000', 'Collection from 256772123000 by MTN MoMo', 'order-1', 'http://127.0.0.1:8080/cb/1', 'prompt', now(), now())
    returning holder_id, id
  )
  insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
  select holder_id, id, 'query', now() + interval '30 s', now() from accepted`;

const key = createSecretKey(Buffer.from('bench-secret'));
const answer = {
  success: true,
  message:
    "A verification token has been sent to the customer's mobile number. Please verify to proceed with the payment.",
  data: {
    ref: 'TX_01KJPWD6M0E5FSGSBN8HNJE88P',
    status: 'pending',
    amount: 1000,
    fee: 10,
    currency: 'UGX',
    mobile: '256772123000',
    country_id: 11,
    payment_method_type: 'MTN_MOMO_UGA',
    third_party_reference_1: 'order-1',
    third_party_reference_2: null,
    verification: {
      method: 'prompt',
      instructions:
        'A prompt from MTN MoMo appears on the phone; enter the PIN to approve. ' +
        'No prompt? Dial *165#, then choose 8, 3, 1 and enter your PIN.',
      expires_at: '2026-03-02T09:10:00.000000Z',
    },
  },
};

const app = fastify({ logger: false });
const url = process.argv[2] ?? '';
const pool = url === '' ? null : new pg.Pool({ connectionString: url, max: CONNECTIONS });
app.post('/accept', async (request, reply) => {
  const { signature, ...signed } = request.body as { signature: string };
  const expected = createHmac('sha256', key)
    .update(canonicalize(signed) ?? '')
    .digest('hex');
  if (expected !== signature) return reply.code(403).send({ success: false });
  await pool?.query({
    name: 'accept',
    text: INSERT,
    values: [createHash('sha256').update(signature).update(randomUUID()).digest()],
  });
  return reply.send(answer);
});
await app.listen({ port: 0, host: '127.0.0.1' });
const address = app.server.address();
process.send?.({ port: typeof address === 'object' && address ? address.port : 0 });
