// A whole gateway for one test: its own database, a virtual clock, the simulated operator on loopback, and every route on a
// real port. Background passes run when the test calls `settle`, which repeats them until there is nothing left to do.

import type { Logger } from 'pino';
import { createApp } from '../src/app.ts';
import type { Environment } from '../src/platform/config.ts';
import type { HttpServer } from '../src/platform/http.ts';
import { createServices, type Services, type ServicesOptions } from '../src/services.ts';
import { createTestContext, type TestContext } from './harness.ts';
import { reservePort } from './ports.ts';

const MAX_ROUNDS = 200;

export type TestGateway = {
  readonly ctx: TestContext & Services['ctx'];
  readonly services: Services;
  readonly app: HttpServer;
  readonly url: string;
  /** Runs every pass until there is nothing left to do at this moment of the clock. */
  settle(): Promise<void>;
  /** Moves the clock, then settles. */
  advance(milliseconds: number): Promise<void>;
  close(): Promise<void>;
};

export async function createTestGateway(
  settings: Environment = {},
  options: ServicesOptions = {},
  prepare: (app: HttpServer) => void = () => undefined,
  log?: Logger,
): Promise<TestGateway> {
  // Links and operator callbacks carry the port, so it must be known before the gateway is made.
  const port = await reservePort();
  const context = await createTestContext({
    PORT: String(port),
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
    ...settings,
  });
  const base = log ? { ...context, log } : context;
  const services = await createServices(base, options).catch(async (error: unknown) => {
    // A connection left open would keep the whole test file from ending.
    await base.close();
    throw error;
  });
  const app = createApp(services);
  prepare(app);
  await app.listen({ port, host: '127.0.0.1' });

  async function settle(): Promise<void> {
    // Work handed over by a request may still be on its way.
    await services.payments.engine.idle();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      let handled = await services.payments.engine.pass();
      await services.payments.engine.idle();
      handled += (await services.operator?.runDueOutcomes()) ?? 0;
      handled += await services.payments.inbox.pass();
      await services.payments.inbox.idle();
      handled += await services.deliverer.pass();
      await services.deliverer.idle();
      if (handled === 0) return;
    }
    throw new Error(`still not settled after ${MAX_ROUNDS} rounds`);
  }

  return {
    ctx: { ...base, ...services.ctx, clock: base.clock, databaseTime: base.databaseTime },
    services,
    app,
    url: `http://127.0.0.1:${port}`,
    settle,
    async advance(milliseconds) {
      base.clock.advance(milliseconds);
      await settle();
    },
    async close() {
      await app.close();
      await services.stop();
      await base.close();
    },
  };
}
