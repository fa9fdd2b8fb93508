// A simulated Orange Money: three APIs that have nothing but the name in common, on one port. Web Payment of the group (a page),
// the core API of Cameroon (a prompt) and Sonatel in Senegal (QR codes, payers' codes, cash-ins).

import type { CreateSimulator } from './frame.ts';
import { createMerchantFloat } from './merchant-float.ts';
import { createOperatorReceipts } from './operator-receipts.ts';
import { createOrangeCameroon } from './orange-money-cameroon.ts';
import { createOrangeSonatel } from './orange-money-sonatel.ts';
import { createOrangeWeb, type OrangeTools } from './orange-money-web.ts';
import { refusing } from './refusal.ts';

export const ORANGE_MONEY_SIMULATOR_SETTINGS: Record<string, string> = {
  // One application for the three, so that a connection needs no other keys when it changes its interface.
  webClientId: 'qk3vT8Lw0sYc5RzN',
  webClientSecret: 'b7Xf2Jm9Pq4Ht6Ae',
  webMerchantKey: 'a1f4c8e2',
  webTokenSeconds: '7776000',
  /** How long a web payment is PENDING after the payer confirmed. */
  processingSeconds: '0.05',

  cameroonConsumerKey: 'qk3vT8Lw0sYc5RzN',
  cameroonConsumerSecret: 'b7Xf2Jm9Pq4Ht6Ae',
  cameroonApiUser: 'simbi-shop',
  cameroonApiPassword: 'e9Hd4Ty6',
  cameroonChannelMsisdn: '691301143',
  cameroonPin: '2222',
  /** The life of a token when it is first given; asked again the same token comes with what is left. */
  cameroonTokenSeconds: '2496',
  cameroonOrderIdLength: '20',
  /** The notification has its fields at the top (`flat`) or in `data`. */
  cameroonNotification: 'flat',
  /** How long a payToken may wait for its payment. */
  payTokenSeconds: '600',

  sonatelClientId: 'qk3vT8Lw0sYc5RzN',
  sonatelClientSecret: 'b7Xf2Jm9Pq4Ht6Ae',
  sonatelMerchantCode: '123456',
  sonatelRetailerMsisdn: '691301143',
  sonatelPin: '2222',
  sonatelTokenSeconds: '299',
  /** Which calls the account may make: `merchant`, `retailer` or `both`. */
  sonatelAccount: 'both',
  /** What signs callbacks: `endpoint` (sonatelWebhookSecret) or the `apiKey` of the registration. */
  sonatelSigning: 'endpoint',
  sonatelWebhookSecret: 'c4a7d1e8f0b3c6a9d2e5f8b1c4a7d0e3',
  sonatelRetrySeconds: '60',
  sonatelAttempts: '5',
  /** How long a transaction is not in the list yet. */
  sonatelLagSeconds: '0',
  /** A cash-in with a reference that was used before: `paid` again or `refused`. */
  sonatelRepeats: 'paid',
  otpSeconds: '900',

  /** When the payer sees a page or QR code: `at_once`, or when somebody gets its address (`when_opened`). */
  payerOpensPage: 'at_once',
  /** How long a page or prompt waits for the payer. A QR code has its own validity. */
  promptSeconds: '600',
  /** The fault late_success: this long after it was told as expired, failed or an error. */
  lateSeconds: '60',
};

export const createOrangeMoneySimulator: CreateSimulator = (context, given) => {
  const settings = { ...ORANGE_MONEY_SIMULATOR_SETTINGS, ...given };
  const float = createMerchantFloat(context.book);
  const tools: OrangeTools = { context, settings, float, receipts: createOperatorReceipts(() => context.now()) };
  const sonatel = createOrangeSonatel(tools);
  const families = [createOrangeWeb(tools), createOrangeCameroon(tools), sonatel];
  const answer = (isDone: boolean) => (isDone ? { status: 200, body: { done: true } } : { status: 404, body: '' });
  return {
    routes: families.flatMap(({ routes }) => routes).map(refusing),
    notFound: () => ({ status: 404, body: { code: 60, message: 'Resource not found', description: '' } }),
    actions: {
      ...sonatel.actions,
      /** {"id"}: order_id, orderId or reference. */
      reverse: ({ id }) => answer(families.some((family) => family.reverse(String(id)))),
      forge: ({ id }) => answer(families.some((family) => family.forge(String(id)))),
      top_up: (body) => float.topUp(body),
    },
  };
};
