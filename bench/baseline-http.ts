// H: what Fastify alone does with the same body: stock JSON parser, the HMAC over the canonical body, an answer of the
// same size, no database. A process of its own.

import { createHmac, createSecretKey } from 'node:crypto';
import canonicalize from 'canonicalize';
import { fastify } from 'fastify';

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
app.post('/accept', (request, reply) => {
  const { signature, ...signed } = request.body as { signature: string };
  const expected = createHmac('sha256', key)
    .update(canonicalize(signed) ?? '')
    .digest('hex');
  return expected === signature ? reply.send(answer) : reply.code(403).send({ success: false });
});
await app.listen({ port: 0, host: '127.0.0.1' });
const address = app.server.address();
process.send?.({ port: typeof address === 'object' && address ? address.port : 0 });
