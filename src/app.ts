// Every HTTP route, one line a module.

import { createArrivalLog, listArrivals, recordArrival } from './callbacks/arrivals.ts';
import { callbackRoutes } from './callbacks/routes.ts';
import { checkoutRoutes } from './checkout/routes.ts';
import { consoleRoutes } from './console/routes.ts';
import { docsRoutes } from './docs/routes.ts';
import { callbackSecrets } from './holders/integrations.ts';
import { keepRequestLog } from './holders/request-log.ts';
import { holderRoutes } from './holders/routes.ts';
import { linkRoutes } from './links/routes.ts';
import { paymentRoutes } from './payments/routes.ts';
import type { Reader } from './platform/db.ts';
import { type Backlogs, healthRoutes } from './platform/health.ts';
import { createHttpServer, type HttpServer } from './platform/http.ts';
import { arrivalRoutes } from './sandbox/phone-arrivals.ts';
import { phoneRoutes } from './sandbox/phone-routes.ts';
import type { Services } from './services.ts';

/** A backlog is counted up to here: beyond it the exact number helps nobody. */
const MAX_COUNTED = 100_000;

/** What waits for a background job, one line a queue: shown by /readyz and /metrics. */
function backlogsOf({ ctx }: Services): Backlogs {
  return {
    payments: (reader) => countDue(reader, 'payment_jobs', ctx.clock.now()),
    operator_callbacks: (reader) => countDue(reader, 'operator_inbox', ctx.clock.now()),
    callbacks: (reader) => countDue(reader, 'callback_deliveries', ctx.clock.now()),
  };
}

async function countDue(reader: Reader, table: string, now: Date): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from (select 1 from ${table} where due_at <= $1 limit ${MAX_COUNTED}) as due`,
    [now],
  );
  return Number(row?.count ?? 0);
}

export function createApp(services: Services): HttpServer {
  const { ctx, payments } = services;
  const app = createHttpServer(ctx);
  // First: it collects the routes that follow.
  docsRoutes(app, ctx);
  healthRoutes(app, ctx, backlogsOf(services));
  holderRoutes(app, ctx);
  paymentRoutes(app, ctx, payments);
  linkRoutes(app, ctx);
  callbackRoutes(app, ctx);
  checkoutRoutes(app, ctx, payments.engine);
  consoleRoutes(app, { ...services, requestLog: keepRequestLog(app, ctx) });
  if (services.operator) phoneRoutes(app, ctx, services.operator.phone);
  const arrived = createArrivalLog();
  arrivalRoutes(app, ctx, {
    record: (request) => recordArrival(ctx, arrived, (id) => callbackSecrets(ctx, id), request),
    list: (after) => listArrivals(arrived, after),
  });
  return app;
}

/** What a process answers that only does background work. */
export function createWorkerApp(services: Services): HttpServer {
  const app = createHttpServer(services.ctx);
  healthRoutes(app, services.ctx, backlogsOf(services));
  return app;
}
