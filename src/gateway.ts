// The gateway put together: catalogue, rails, the pretend operator, the engine that moves payments and the deliverer that
// tells of them. The server makes one per process; tests make one per world and drive its passes by hand.

import { createDeliverer, type Deliverer } from './callbacks/deliver.ts';
import { createCallbackHousekeeping } from './callbacks/housekeeping.ts';
import { loadCatalog } from './catalog/catalog.ts';
import { callbackSecrets } from './holders/integrations.ts';
import { extendChain } from './ledger/chain.ts';
import { settleLinks } from './links/links.ts';
import { createCollectionDesk } from './payments/accept.ts';
import type { PaymentsContext } from './payments/context.ts';
import { createPaymentEngine } from './payments/engine.ts';
import { createOperatorIntake } from './payments/operator-callbacks.ts';
import type { PaymentDesk } from './payments/routes.ts';
import { publicUrl } from './platform/config.ts';
import type { Context } from './platform/context.ts';
import type { Job } from './platform/jobs.ts';
import { createOutbound, type OutboundOptions } from './platform/outbound.ts';
import { createRails } from './rails/registry.ts';
import { createPretendOperator, type PretendOperator, type PretendOperatorOptions } from './sandbox/operator.ts';

const CHAIN_IDLE_MS = { shortest: 1_000, longest: 10_000 };

export type GatewayOptions = {
  operator?: PretendOperatorOptions;
  outbound?: Partial<OutboundOptions>;
  /** Longest exchange with an operator, where a test is in a hurry. */
  railTimeoutMs?: number;
  callbackTimeoutMs?: number;
};

export type Gateway = {
  readonly ctx: PaymentsContext;
  readonly desk: PaymentDesk;
  readonly deliverer: Deliverer;
  /** Null in live mode. */
  readonly operator: PretendOperator | null;
  /** Background work; worker.ts runs it. */
  readonly jobs: Job[];
  /** Finishes what is under way; what had not begun is left for the next start. */
  stop(): Promise<void>;
};

export async function createGateway(base: Context, options: GatewayOptions = {}): Promise<Gateway> {
  const { config } = base;
  const operator =
    config.mode === 'sandbox'
      ? createPretendOperator(base, { gatewayUrl: `http://127.0.0.1:${config.port}`, ...options.operator })
      : null;
  await operator?.listen();
  const outbound = createOutbound({
    mode: config.mode,
    allowedPorts: config.callbackAllowedPorts,
    allowedRanges: config.callbackAllowedRanges,
    ownOrigin: publicUrl(config),
    ...options.outbound,
  });
  const rails = createRails(base, {
    sandboxOperatorUrl: () => operator?.url() ?? null,
    ...(options.railTimeoutMs === undefined ? {} : { timeoutMs: options.railTimeoutMs }),
  });
  const deliverer = createDeliverer(base, {
    outbound,
    secretsOf: (integrationId) => callbackSecrets(base, integrationId),
    ...(options.callbackTimeoutMs === undefined ? {} : { timeoutMs: options.callbackTimeoutMs }),
  });
  const ctx: PaymentsContext = {
    ...base,
    catalog: loadCatalog(config.catalogFile),
    rails,
    settledHooks: [settleLinks],
    tellEvents: (events) => deliverer.deliverFresh(events),
    refuseCallbackUrl: (url) => outbound.checkUrl(url),
  };
  const engine = createPaymentEngine(ctx);
  const intake = createOperatorIntake(ctx);
  const jobs: Job[] = [
    { name: 'payments', pass: () => engine.pass(), onHungry: (wake) => engine.onHungry(wake) },
    { name: 'operator_callbacks', pass: () => intake.pass() },
    deliverer,
    createCallbackHousekeeping(base),
    { name: 'ledger_chain', pass: () => extendChain(base), idleMs: CHAIN_IDLE_MS },
  ];
  return {
    ctx,
    desk: { engine, collections: createCollectionDesk(ctx, engine), intake },
    deliverer,
    operator,
    jobs,
    async stop() {
      await engine.stop();
      await intake.idle();
      await deliverer.stop();
      await operator?.close();
      await rails.close();
      await outbound.close();
    },
  };
}
