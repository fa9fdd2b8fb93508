// Start and stop. Start: settings, DATA_DIR, port, database, migrations, demo, then listening and background work. Stop is
// the reverse: new requests are refused, those in flight are finished, the database is closed last.

import { mkdir } from 'node:fs/promises';
import type { Logger } from 'pino';
import { type AppOptions, createApp, createWorkerApp } from './app.ts';
import { type Demo, prepareDemo } from './demo.ts';
import type { DataDirLock } from './embedded-postgres/data-dir-lock.ts';
import { maintainSignatures } from './holders/signatures.ts';
import {
  claimDataDir,
  createContext,
  findPort,
  listenError,
  migrateDatabase,
  type OpenDatabase,
  openDatabase,
  type Progress,
} from './open-context.ts';
import { type Config, dataPath, hasMailBox, publicUrl } from './platform/config.ts';
import type { Context } from './platform/context.ts';
import { armFailpoint } from './platform/failpoint.ts';
import type { HttpServer } from './platform/http.ts';
import { createLogger, openLogFile, openStandardLog } from './platform/log.ts';
import { createSampleShop } from './sample-shop/sample-shop.ts';
import { MAIL_BOX_SENDER, type MailBox, openMailBox } from './sandbox/mail-box.ts';
import { prepareSandbox, type WaitingSandbox } from './sandbox-process.ts';
import { createServices, type Services } from './services.ts';
import { startWorkers, type Workers } from './worker.ts';

/** Requests in flight have this long to finish; with the end of the database a stop takes less than ten seconds. */
const DRAIN_MS = 8_000;
const IDLE_SWEEP_MS = 50;
const POOL_CLOSE_MS = 1_000;

export type ServerOptions = {
  onProgress?: Progress;
  /** A file for the log; standard output when left out. */
  logTo?: string;
};

export type Server = {
  readonly ctx: Context;
  readonly app: HttpServer;
  readonly url: string;
  /** Null outside sandbox mode, in a pure worker, and where no demo account is left. */
  readonly demo: Demo | null;
  stop(): Promise<void>;
};

type Opened = {
  lock: DataDirLock;
  log: { logger: Logger; flush(): void };
  database?: OpenDatabase;
  ctx?: Context;
  services?: Services;
  app?: HttpServer;
  workers?: Workers;
  mailBox?: MailBox;
  sandbox?: WaitingSandbox;
  /** Ends the search for new versions of the keys. */
  stopVault?: () => void;
  /** Ends the search for changes of connections. */
  stopConnections?: () => void;
};

export async function startServer(settings: Config, options: ServerOptions = {}): Promise<Server> {
  const opened: Opened = { lock: await claimDataDir(settings), log: await openLog(settings, options.logTo) };
  try {
    const running = await start(opened, settings, options.onProgress ?? (() => undefined));
    let stopping: Promise<void> | null = null;
    return {
      ...running,
      stop() {
        stopping ??= close(opened);
        return stopping;
      },
    };
  } catch (error) {
    await close(opened);
    throw error;
  }
}

async function start(opened: Opened, settings: Config, onProgress: Progress): Promise<Omit<Server, 'stop'>> {
  armFailpoint(settings.failpoint);
  const config = { ...settings, port: await findPort(settings), ...(await mailOf(settings, opened)) };
  // A process that only answers requests hardly calls its operator, and runs it itself.
  if (config.mode === 'sandbox' && config.role !== 'api') opened.sandbox = prepareSandbox();
  const database = await openDatabase(config, onProgress);
  opened.database = database;
  // Many migrations are shown as one step.
  await migrateDatabase(database, (sentence) =>
    onProgress(sentence.replace(/^Applying migration.*/, 'Applying migrations')),
  );
  const ctx = await createContext(config, database.url, opened.log.logger);
  opened.ctx = ctx;
  opened.mailBox?.keepIn(ctx);
  opened.stopVault = ctx.vault.watch();
  await maintainSignatures(ctx);
  const sandbox = (await opened.sandbox?.open(config, database.url, ctx.log)) ?? null;
  const services = await createServices(ctx, { databaseUrl: database.url, sandbox });
  opened.services = services;
  opened.stopConnections = services.watchConnections();
  const demo = config.mode === 'sandbox' && config.role !== 'worker' ? await prepareDemo(services.ctx) : null;
  const app = config.role === 'worker' ? createWorkerApp(services) : createApp(services, appOptions(services, demo));
  opened.app = app;
  ctx.metrics.collectProcessMetrics();
  await listen(app, config);
  if (config.role !== 'api') opened.workers = startWorkers(services);
  const url = publicUrl(config);
  opened.lock.setUrl(url);
  ctx.log.info({ url, mode: config.mode, role: config.role }, 'ready');
  return { ctx, app, url, demo };
}

/** A sandbox on somebody's own machine catches its mails: see `hasMailBox`. */
async function mailOf(settings: Config, opened: Opened): Promise<Partial<Config>> {
  if (!hasMailBox(settings)) return {};
  opened.mailBox = await openMailBox();
  return { smtpUrl: opened.mailBox.url, mailFrom: MAIL_BOX_SENDER };
}

/** What only a sandbox offers. */
function appOptions({ ctx, payments }: Services, demo: Demo | null): AppOptions {
  if (ctx.config.mode !== 'sandbox') return {};
  return { sampleLink: demo?.file.payment_link ?? null, sampleShop: createSampleShop(ctx, payments.engine) };
}

async function close(opened: Opened): Promise<void> {
  // A lock without an address tells the next process on this DATA_DIR that this one is stopping, and to wait.
  opened.lock.setUrl('');
  const until = performance.now() + DRAIN_MS;
  const jobs = opened.workers?.stop();
  if (opened.app) await drain(opened.app, until);
  await within(until, jobs);
  opened.stopVault?.();
  opened.stopConnections?.();
  await within(until, opened.mailBox?.close());
  // Payments and callbacks in progress are finished; the others stay in the database for the next start.
  await within(until, opened.services?.stop());
  await within(Math.max(until, performance.now() + POOL_CLOSE_MS), opened.sandbox?.end());
  await within(Math.max(until, performance.now() + POOL_CLOSE_MS), opened.ctx?.db.close());
  await opened.database?.close();
  opened.lock.release();
  opened.log.flush();
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
    await app.listen({ port: config.port, host: config.host });
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, config);
  }
}

async function openLog(config: Config, path: string | undefined) {
  if (path) await mkdir(dataPath(config), { recursive: true, mode: 0o700 });
  const log = path ? openLogFile(path) : openStandardLog();
  return { logger: createLogger(config.logLevel, log), flush: () => log.flushSync() };
}
