// The simulated operator and the built-in receiver in a process of their own. sandbox-process.ts says what to do.

import { checkReceived } from './callbacks/check-received.ts';
import { callbackSecrets } from './holders/integrations.ts';
import { createContext } from './open-context.ts';
import { localUrl } from './platform/config.ts';
import { createLogger } from './platform/log.ts';
import { createReceivedCallbacks } from './sandbox/received-callbacks.ts';
import { createSimulatedOperator } from './sandbox/simulated-operator.ts';
import type { SandboxNotice, SandboxOrder } from './sandbox-process.ts';

const POOL_SIZE = 4;

const tell = (notice: SandboxNotice) => process.connected && process.send?.(notice);

/** The log of the gateway has its warnings; it has nothing else to say. */
const createWarnings = () =>
  createLogger('warn', {
    write(text) {
      const { level: _, time: __, msg, ...line } = JSON.parse(text) as Record<string, unknown>;
      tell({ warned: { line, message: String(msg) } });
    },
  });

async function open({ config, databaseUrl, port }: Extract<SandboxOrder, { open: object }>['open']) {
  const settings = { ...config, databasePoolSize: POOL_SIZE };
  const ctx = await createContext(settings, databaseUrl, createWarnings());
  const received = createReceivedCallbacks(ctx.clock, (request) =>
    checkReceived(ctx, (id) => callbackSecrets(ctx, id), request),
  );
  const gatewayUrl = localUrl(config);
  const operator = createSimulatedOperator(ctx, { gatewayUrl, port, received });
  const stopVault = ctx.vault.watch();
  tell({ port: Number(new URL(await operator.listen()).port) });
  return {
    start: () => operator.start(),
    async close() {
      stopVault();
      await operator.close();
      await ctx.db.close();
    },
  };
}

export function serveSandbox(): void {
  let opening: ReturnType<typeof open> | null = null;
  process.on('message', (order: SandboxOrder) => {
    if ('start' in order) void opening?.then((opened) => opened.start());
    else {
      opening = open(order.open);
      opening.catch((error: unknown) => tell({ failed: error instanceof Error ? error.message : String(error) }));
    }
  });
  // The gateway decides when this process ends: a signal to the whole group must not end it before payments under way have.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.once('disconnect', () => {
    const closed = opening?.then((opened) => opened.close());
    void Promise.resolve(closed).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
