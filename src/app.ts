// Every HTTP route, one line per module.

import { statementRoutes } from './books/merchant-statement-routes.ts';
import { countDueDeliveries } from './callbacks/endpoints.ts';
import { callbackRoutes } from './callbacks/routes.ts';
import { checkoutRoutes } from './checkout/routes.ts';
import { createDeveloperAccess } from './console/developer-access.ts';
import { consoleRoutes } from './console/routes.ts';
import { docsRoutes } from './docs/routes.ts';
import { problemPageFor } from './front/problem-page.ts';
import { frontRoutes } from './front/routes.ts';
import { countMails } from './holders/mail-queue.ts';
import { keepRequestLog } from './holders/request-log.ts';
import { holderRoutes } from './holders/routes.ts';
import { findLostHead } from './ledger/lost-history.ts';
import { linkRoutes } from './links/routes.ts';
import { countDueOperatorCallbacks } from './payments/operator-callbacks.ts';
import { countDuePayments } from './payments/payment-jobs.ts';
import { countQuarantined } from './payments/quarantine.ts';
import { operatorRoutes, paymentRoutes } from './payments/routes.ts';
import type { Context } from './platform/context.ts';
import { type Backlogs, type HealthOptions, healthRoutes } from './platform/health-routes.ts';
import { createHttpServer, type HttpServer } from './platform/http.ts';
import { decideSimulatorPrompt, listSimulatorPrompts } from './rails/simulators.ts';
import type { SampleShop } from './sample-shop/sample-shop.ts';
import { callbackReceiverRoutes } from './sandbox/callback-receiver.ts';
import { clockRoutes } from './sandbox/clock-routes.ts';
import { componentsRoute } from './sandbox/components-page.ts';
import { MAIL_BOX_SENDER } from './sandbox/mail-box.ts';
import { mailRoutes } from './sandbox/mail-page.ts';
import { phoneAddress, phoneRoutes } from './sandbox/phone-routes.ts';
import { forwardTime } from './sandbox-time.ts';
import type { Services } from './services.ts';

/** The backlog of each queue, shown by /readyz and /metrics. */
function backlogsOf({ ctx }: Services): Backlogs {
  return {
    payments: (reader) => countDuePayments(reader, ctx.clock.now()),
    operator_callbacks: (reader) => countDueOperatorCallbacks(reader, ctx.clock.now()),
    callbacks: (reader) => countDueDeliveries(reader, ctx.clock.now()),
    quarantined_reports: countQuarantined,
    mails: countMails,
  };
}

/** Collections go on, so a balancer must go on sending requests. /readyz is public: it names no head. */
async function findLostSentence(ctx: Context): Promise<string | null> {
  return (await findLostHead(ctx))
    ? 'The database went back in time: payouts, refunds and settlements are stopped.'
    : null;
}

export type AppOptions = HealthOptions & {
  /** The address of the demo's payment link, where there is one. */
  sampleLink?: string | null;
  /** The shop with a history that a sandbox offers. */
  sampleShop?: SampleShop;
};

export function createApp(services: Services, options: AppOptions = {}): HttpServer {
  const { ctx, payments } = services;
  const app = createHttpServer(ctx, { browserPage: problemPageFor(ctx.config) });
  const gateway = {
    ...services,
    requestLog: keepRequestLog(app, ctx),
    sampleShop: options.sampleShop ?? null,
  };
  // First: it collects the routes that follow.
  docsRoutes(app, ctx, createDeveloperAccess(app, gateway));
  const hasMails = ctx.config.mailFrom === MAIL_BOX_SENDER;
  frontRoutes(app, ctx, { sampleLink: options.sampleLink ?? null, hasMails });
  healthRoutes(app, ctx, backlogsOf(services), { ...options, findNotice: findLostSentence });
  holderRoutes(app, ctx);
  paymentRoutes(app, ctx, payments);
  statementRoutes(app, ctx);
  linkRoutes(app, ctx);
  callbackRoutes(app, ctx);
  checkoutRoutes(app, ctx, payments.engine);
  consoleRoutes(app, gateway);
  if (services.sandbox)
    phoneRoutes(app, ctx, services.sandbox.phone, {
      list: () => listSimulatorPrompts(ctx),
      decide: (connection, id, decision) => decideSimulatorPrompt(ctx, connection, id, decision),
    });
  clockRoutes(
    app,
    ctx,
    (ms) => forwardTime(ctx, ms),
    (request, message) => phoneAddress(ctx, request, message),
  );
  if (hasMails) mailRoutes(app, ctx);
  componentsRoute(app, ctx);
  callbackReceiverRoutes(app, ctx, services.received);
  return app;
}

/** The routes of a process that only does background work. */
export function createWorkerApp(services: Services, options: HealthOptions = {}): HttpServer {
  const app = createHttpServer(services.ctx);
  healthRoutes(app, services.ctx, backlogsOf(services), { ...options, findNotice: findLostSentence });
  // The simulated operator belongs to this process and reports to it.
  if (services.sandbox) operatorRoutes(app, services.payments);
  return app;
}
