// Every HTTP route, one line a module.

import { holderRoutes } from './holders/routes.ts';
import type { Context } from './platform/context.ts';
import { type Backlogs, healthRoutes } from './platform/health.ts';
import { createHttpServer, type HttpServer } from './platform/http.ts';

/** What waits for a background job, one line a queue: shown by /readyz and /metrics. */
const BACKLOGS: Backlogs = {};

export function createApp(ctx: Context): HttpServer {
  const app = createHttpServer(ctx);
  healthRoutes(app, ctx, BACKLOGS);
  holderRoutes(app, ctx);
  return app;
}

/** What a process answers that only does background work. */
export function createWorkerApp(ctx: Context): HttpServer {
  const app = createHttpServer(ctx);
  healthRoutes(app, ctx, BACKLOGS);
  return app;
}
