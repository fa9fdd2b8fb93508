// One process of the gateway: context, services, routes, then listening and background work. It stops in the reverse order: new
// requests are refused, those in flight are finished, the database is closed last.

import type { Logger } from 'pino';
import { type AppOptions, createApp, createWorkerApp } from './app.ts';
import { type Demo, prepareDemo } from './demo.ts';
import { maintainSignatures } from './holders/signatures.ts';
import { createContext, listenError } from './open-context.ts';
import { type Config, hasMailBox, publicUrl } from './platform/config.ts';
import type { Context } from './platform/context.ts';
import { REQUEST_ACQUIRE_TIMEOUT_MS } from './platform/db.ts';
import { armFailpoint } from './platform/failpoint.ts';
import type { HttpServer } from './platform/http.ts';
import { stopState } from './platform/stop-state.ts';
import { createSampleShop } from './sample-shop/sample-shop.ts';
import { MAIL_BOX_SENDER, type MailBox, openMailBox } from './sandbox/mail-box.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import { createServices, type Services } from './services.ts';
import { startWorkers, type Workers } from './worker.ts';

/** Requests in flight have this long to finish; with the end of the database a stop takes less than ten seconds. */
const DRAIN_MS = 8_000;
const IDLE_SWEEP_MS = 50;
const POOL_CLOSE_MS = 1_000;
/**
 * Connections that wait to be taken. Where a burst brings more, the system drops them, and their callers try again only after
 * seconds. Linux takes 4,096 at most unless told otherwise; Node asks for 511.
 */
const LISTEN_BACKLOG = 4_096;

export type GatewayOptions = {
  /** With a port that is known. */
  readonly config: Config;
  readonly databaseUrl: string;
  readonly log: Logger;
  /** Called once the database is open: the first process to open it makes the master key. */
  openSandbox(log: Logger): Promise<SandboxProcess | null>;
  /** The address of the demo's payment link, where another process has prepared the demo account. */
  readonly sampleLink?: string | null | undefined;
  /** Whether other processes may leave work in the database. */
  readonly hasOthers: boolean;
  /** The metrics of all processes, where there are several. */
  readonly readMetrics?: (ctx: Context) => Promise<string>;
};

export type StopOptions = {
  /** How long everything goes on as before, except that each answer ends its connection. */
  readonly delayMs: number;
  /** Another process on this machine has taken over, so the machine stays ready. */
  readonly isReplaced: boolean;
};

export type Gateway = {
  readonly ctx: Context;
  readonly url: string;
  /** Null outside sandbox mode, in a pure worker, and where no demo account is left or another process prepared it. */
  readonly demo: Demo | null;
  stop(options?: StopOptions): Promise<void>;
};

type Opened = {
  ctx?: Context;
  services?: Services;
  app?: HttpServer;
  workers?: Workers;
  mailBox?: MailBox;
  /** Ends the search for new versions of the keys. */
  stopVault?: () => void;
  /** Ends the search for changes of connections. */
  stopConnections?: () => void;
};

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const opened: Opened = {};
  try {
    const running = await start(opened, options);
    let stopping: Promise<void> | null = null;
    return {
      ...running,
      stop(how = { delayMs: 0, isReplaced: false }) {
        stopping ??= announceStop(running.ctx, how).then(() => close(opened));
        return stopping;
      },
    };
  } catch (error) {
    await close(opened);
    throw error;
  }
}

async function start(opened: Opened, options: GatewayOptions): Promise<Omit<Gateway, 'stop'>> {
  const { databaseUrl, hasOthers, readMetrics } = options;
  const config = { ...options.config, ...(await mailOf(options.config, opened)) };
  armFailpoint(config.failpoint);
  const ctx = await createContext(config, databaseUrl, options.log, {
    acquireTimeoutMs: REQUEST_ACQUIRE_TIMEOUT_MS,
  });
  opened.ctx = ctx;
  opened.mailBox?.keepIn(ctx);
  opened.stopVault = ctx.vault.watch();
  await maintainSignatures(ctx);
  const services = await createServices(ctx, { databaseUrl, sandbox: await options.openSandbox(ctx.log) });
  opened.services = services;
  opened.stopConnections = services.watchConnections();
  const preparesDemo = config.mode === 'sandbox' && config.role !== 'worker' && options.sampleLink === undefined;
  const demo = preparesDemo ? await prepareDemo(services.ctx) : null;
  const health = readMetrics ? { readMetrics: () => readMetrics(ctx) } : {};
  const sampleLink = options.sampleLink ?? demo?.file.payment_link ?? null;
  const app =
    config.role === 'worker'
      ? createWorkerApp(services, health)
      : createApp(services, { ...health, ...sandboxOptions(services, sampleLink) });
  opened.app = app;
  ctx.metrics.collectProcessMetrics();
  await listen(app, config);
  if (config.role !== 'api') opened.workers = startWorkers(services, hasOthers ? databaseUrl : null);
  const url = publicUrl(config);
  ctx.log.info({ url, mode: config.mode, role: config.role, pid: process.pid }, 'ready');
  return { ctx, url, demo };
}

/** A sandbox on somebody's own machine catches its mails: see `hasMailBox`. */
async function mailOf(settings: Config, opened: Opened): Promise<Partial<Config>> {
  if (!hasMailBox(settings)) return {};
  opened.mailBox = await openMailBox();
  return { smtpUrl: opened.mailBox.url, mailFrom: MAIL_BOX_SENDER };
}

/** What only a sandbox offers. */
function sandboxOptions({ ctx, payments }: Services, sampleLink: string | null): AppOptions {
  if (ctx.config.mode !== 'sandbox') return {};
  return { sampleLink, sampleShop: createSampleShop(ctx, payments.engine) };
}

/** Before the listener closes: a balancer learns it from /readyz, and clients leave with the answer to their next request. */
async function announceStop(ctx: Context, { delayMs, isReplaced }: StopOptions): Promise<void> {
  const state = stopState(ctx);
  state.endsConnections = true;
  state.isReady = isReplaced;
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
}

async function close(opened: Opened): Promise<void> {
  const until = performance.now() + DRAIN_MS;
  const jobs = opened.workers?.stop();
  if (opened.app) await drain(opened.app, until);
  await within(until, jobs);
  opened.stopVault?.();
  opened.stopConnections?.();
  await within(until, opened.mailBox?.close());
  // Payments and callbacks in progress are finished; the others stay in the database for the next start.
  await within(until, opened.services?.stop());
  await within(Math.max(until, performance.now() + POOL_CLOSE_MS), opened.ctx?.db.close());
}

async function drain(app: HttpServer, until: number): Promise<void> {
  // A connection that was busy when the stop began becomes idle after its answer; nothing else closes it then.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  await within(until, app.close());
  clearInterval(sweep);
  app.server.closeAllConnections();
}

/** Waits for the work until the given time at most: all steps of the stop share one deadline. */
async function within(until: number, work: Promise<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, until - performance.now()));
  });
  await Promise.race([work?.catch(() => undefined), deadline]);
  clearTimeout(timer);
}

async function listen(app: HttpServer, config: Config): Promise<void> {
  try {
    await app.listen({ port: config.port, host: config.host, backlog: LISTEN_BACKLOG });
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, config);
  }
}
