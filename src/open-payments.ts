// The context of payments: the catalogue, the rails and the hooks between modules. The server and the commands that
// move money both build it here, so that both apply the same rules.

import type { RecordedEvent } from './callbacks/events.ts';
import { loadCatalog } from './catalog/catalog.ts';
import { reverseLinks, settleLinks } from './links/links.ts';
import type { PaymentsContext } from './payments/context.ts';
import { isLoopback } from './platform/addresses.ts';
import { type Config, publicUrl } from './platform/config.ts';
import type { Context } from './platform/context.ts';
import { createOutbound, type Outbound, type OutboundOptions } from './platform/outbound.ts';
import { createWorkSignal } from './platform/work-signal.ts';
import type { RailDefinition } from './rails/connection.ts';
import { createRails, type LiveRails } from './rails/registry.ts';
import { CALLBACKS_PATH } from './sandbox/received-callbacks.ts';

type PaymentsOptions = {
  /** Where the simulated operator listens; null where none runs in this process. */
  sandboxOperatorUrl: () => string | null;
  /** Called with the events of a commit. Without a deliverer in this process it does nothing: the rows are due. */
  sendCallbacksNow: (events: RecordedEvent[]) => void;
  outbound?: Partial<OutboundOptions> | undefined;
  /** Ports of this machine that callbacks never go to, besides the gateway's own. */
  ownPorts?: readonly number[];
  /** Where the built-in receiver listens besides the gateway's own port. */
  receiverPort?: number | undefined;
  railTimeoutMs?: number | undefined;
  /** Other rails than those of the registry, in tests. */
  railDefinitions?: readonly RailDefinition[] | undefined;
};

type OpenPayments = { ctx: PaymentsContext; outbound: Outbound; rails: LiveRails; close(): Promise<void> };

/** What requests to addresses that somebody else chose may reach. */
export function outboundOptions(
  config: Config,
  { ownPorts = [], receiverPort }: Pick<PaymentsOptions, 'ownPorts' | 'receiverPort'> = {},
): OutboundOptions {
  return {
    mode: config.mode,
    allowedPorts: config.callbackAllowedPorts,
    allowedRanges: config.callbackAllowedRanges,
    ownOrigin: publicUrl(config),
    thisMachine: {
      isOpen: isLoopback(config.host) && !config.allowSignUp,
      ownPorts: [config.port, ...ownPorts],
      receiver: { port: config.port, path: CALLBACKS_PATH, listensOn: receiverPort ?? config.port },
    },
  };
}

/** Resolves when the connections are open. */
export async function openPayments(base: Context, options: PaymentsOptions): Promise<OpenPayments> {
  const { config } = base;
  const outbound = createOutbound({ ...outboundOptions(config, options), ...options.outbound });
  const rails = createRails(base, {
    sandboxOperatorUrl: options.sandboxOperatorUrl,
    ...(options.railTimeoutMs === undefined ? {} : { timeoutMs: options.railTimeoutMs }),
    ...(options.railDefinitions === undefined ? {} : { definitions: options.railDefinitions }),
  });
  const signal = createWorkSignal(base);
  // A process may start before its database: it then opens the connections as soon as it can read them.
  await rails.refresh().catch((error: unknown) => base.log.warn({ err: error }, 'the connections are not open yet'));
  const ctx: PaymentsContext = {
    ...base,
    catalog: loadCatalog(config.catalogFile),
    rails,
    onCollectionsSettled: [settleLinks(base)],
    onCollectionsReversed: [reverseLinks],
    sendCallbacksNow(events) {
      try {
        options.sendCallbacksNow(events);
      } catch (error) {
        // Their commit is done, so its caller must not see an error. The rows are due, and the next pass sends them.
        base.log.warn({ err: error }, 'callbacks were not sent at once');
      }
    },
    tellOthers: signal.tell,
    checkCallbackUrl: (url) => outbound.checkUrl(url),
  };
  return {
    ctx,
    outbound,
    rails,
    async close() {
      await signal.idle();
      await rails.close();
      await outbound.close();
    },
  };
}
