// One of several processes of the gateway. The supervisor says what to do; signals are its business, so they are ignored here.

import { setFlagsFromString } from 'node:v8';
import { exitCodeFor, systemSentence } from './commands/exit-codes.ts';
import { type Gateway, startGateway } from './gateway.ts';
import type { GatewayNotice, GatewayOrder, OpenOrder } from './gateway-process.ts';
import { migrateDatabase } from './open-context.ts';
import type { Context } from './platform/context.ts';
import { Problem } from './platform/errors.ts';
import { createLogger, openStandardLog } from './platform/log.ts';
import { V8_FLAGS } from './process-flags.ts';
import { joinSandbox } from './sandbox-process.ts';

/** Then a process reports its own metrics only. */
const METRICS_PATIENCE_MS = 3_000;

const tell = (notice: GatewayNotice) => void (process.connected && process.send?.(notice));

export function serveGateway(): void {
  const metrics = createMetricsExchange();
  let opening: ReturnType<typeof open> | null = null;
  process.on('message', (order: GatewayOrder) => {
    if ('open' in order) {
      opening = open(order.open, metrics);
      opening.catch(fail);
    } else if ('stop' in order)
      opening?.then(
        async ({ gateway, flush }) => {
          await gateway.stop(order.stop);
          flush();
          process.exit(0);
          // One that could not start says so, and ends by itself.
        },
        () => undefined,
      );
    else if ('collect' in order)
      opening?.then(({ gateway }) => metrics.report(gateway.ctx, order.collect)).catch(() => undefined);
    else metrics.arrived(order.metrics);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}

async function open(order: OpenOrder, metrics: MetricsExchange): Promise<{ gateway: Gateway; flush: () => void }> {
  setFlagsFromString(V8_FLAGS);
  const { config, database, sandboxPort } = order;
  const standardLog = openStandardLog();
  const log = createLogger(config.logLevel, standardLog, { process: order.number });
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception, exiting');
    process.exit(1);
  });
  // The supervisor has done it. But after an upgrade this process may be newer than the supervisor.
  await migrateDatabase({ ...database, close: async () => undefined }, (sentence) => log.info(sentence));
  const gateway = await startGateway({
    config,
    databaseUrl: database.url,
    log,
    openSandbox: () => Promise.resolve(sandboxPort === null ? null : joinSandbox(sandboxPort)),
    sampleLink: order.sampleLink,
    hasOthers: true,
    readMetrics: (ctx) => metrics.readAll(ctx),
  });
  tell({ ready: { url: gateway.url, demo: gateway.demo } });
  return { gateway, flush: () => standardLog.flushSync() };
}

function fail(error: unknown): void {
  const code = exitCodeFor(error);
  const sentence = systemSentence(error) ?? (error instanceof Error ? error.message : String(error));
  const cause = error instanceof Problem && error.cause instanceof Error ? `\nCause: ${error.cause.message}` : '';
  const stack = error instanceof Error ? error.stack : undefined;
  const exitCode = code ?? 1;
  const message = code === null ? `Internal error: ${stack ?? sentence}` : sentence + cause;
  // Sent before the end: an exit does not wait for the channel.
  process.send?.({ failed: { message, exitCode } } satisfies GatewayNotice, undefined, {}, () =>
    process.exit(exitCode),
  );
}

type MetricsExchange = ReturnType<typeof createMetricsExchange>;

/** Any process may be asked for the metrics of all; the supervisor collects them. */
function createMetricsExchange() {
  const waiting = new Map<number, (text: string) => void>();
  let last = 0;
  return {
    async report(ctx: Context, request: number): Promise<void> {
      tell({ collected: { request, metrics: await ctx.metrics.registry.getMetricsAsJSON() } });
    },
    arrived({ request, text }: { request: number; text: string }): void {
      waiting.get(request)?.(text);
      waiting.delete(request);
    },
    readAll(ctx: Context): Promise<string> {
      const request = ++last;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(request);
          ctx.metrics.registry.metrics().then(resolve, reject);
        }, METRICS_PATIENCE_MS);
        waiting.set(request, (text) => {
          clearTimeout(timer);
          resolve(text);
        });
        tell({ wantsMetrics: request });
      });
    },
  };
}
