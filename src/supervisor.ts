// Several processes of the gateway on one machine. This one supervises: it opens what exists once, starts the others, starts one
// again that ended, replaces them one after another, and stops them. It handles no request and no payment itself.

import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Demo } from './demo.ts';
import { type Foundation, openFoundation, type ServerOptions } from './foundation.ts';
import type { StopOptions } from './gateway.ts';
import { forkGateway, type GatewayProcess, type OpenOrder, prepareForks, type ReadyNotice } from './gateway-process.ts';
import { createContext, type Progress, StartError } from './open-context.ts';
import type { Config } from './platform/config.ts';
import { createProcessMetrics, mergeMetrics } from './platform/metrics.ts';

/** A process that lived longer than this is started again at once, an earlier end is followed by a pause. */
const STEADY_MS = 60_000;
const PAUSE_MS = { first: 1_000, longest: 30_000 } as const;
/** Starts in a row that may fail while no process is left. */
const MAX_FAILED_STARTS = 5;

/** Connections of a process besides its pool: one listens for work, one asks whether commits end. */
const CONNECTIONS_BESIDE_POOL = 2;
/** For commands, migrations, backups, and the process of the sandbox. */
const CONNECTIONS_FOR_OTHERS = 15;
const SMALLEST_POOL = 3;

export type Supervisor = {
  readonly url: string;
  readonly demo: Demo | null;
  readonly log: Logger;
  /** Rejects when no process can be started any more. */
  readonly gaveUp: Promise<never>;
  /** Replaces all processes, one after another: each stops when its successor is ready. */
  roll(): Promise<void>;
  stop(how?: StopOptions): Promise<void>;
};

export async function startSupervisor(settings: Config, options: ServerOptions = {}): Promise<Supervisor> {
  const foundation = await openFoundation(settings, { ...options, hasSandbox: settings.mode === 'sandbox' });
  const { logger } = foundation.log;
  let processes: Processes | null = null;
  const close = async (how: StopOptions) => {
    foundation.clearUrl();
    if (processes) await stopAll(processes, how);
    await foundation.close();
  };
  try {
    const poolSize = await choosePoolSize(foundation, options.onProgress ?? (() => undefined));
    const config = { ...foundation.config, databasePoolSize: poolSize };
    const sandbox = await foundation.sandbox?.open(config, foundation.database.url, logger);
    const started = createProcesses(foundation, config, sandbox?.port ?? null);
    processes = started;
    const { url, demo } = await startAll(started);
    if (config.role !== 'api') sandbox?.start();
    foundation.setUrl(url);
    logger.info({ url, processes: config.processes, pool_size: poolSize, pid: process.pid }, 'supervising');
    let stopping: Promise<void> | null = null;
    return {
      url,
      demo,
      log: logger,
      gaveUp: started.gaveUp.promise,
      roll: onceMore(() => replaceAll(started)),
      stop(how = { delayMs: 0, isReplaced: false }) {
        stopping ??= close(how);
        return stopping;
      },
    };
  } catch (error) {
    await close({ delayMs: 0, isReplaced: false });
    throw error;
  }
}

/**
 * Opens the database as each process will, which makes a master key, and refuses one of another mode or with other keys. Returns
 * so many connections for each process that all of them, and one that replaces another, stay below what the server takes.
 */
async function choosePoolSize({ config, database, log }: Foundation, onProgress: Progress): Promise<number> {
  const { db } = await createContext(config, database.url, log.logger);
  try {
    const [row] = await db.query<{ most: number }>(
      `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
              - coalesce(current_setting('reserved_connections', true)::int, 0) as most`,
    );
    const most = row?.most ?? 0;
    const each = Math.floor((most - CONNECTIONS_FOR_OTHERS) / (config.processes + 1)) - CONNECTIONS_BESIDE_POOL;
    if (each < SMALLEST_POOL) {
      const needed = CONNECTIONS_FOR_OTHERS + (config.processes + 1) * (SMALLEST_POOL + CONNECTIONS_BESIDE_POOL);
      throw new StartError(
        `PROCESSES=${config.processes} needs ${needed} connections to PostgreSQL, which takes ${most}. ` +
          'Raise its max_connections, or set PROCESSES lower.',
        2,
      );
    }
    if (each < config.databasePoolSize)
      onProgress(
        `Each process uses ${each} database connections instead of ${config.databasePoolSize}: PostgreSQL takes ${most}`,
      );
    return Math.min(config.databasePoolSize, each);
  } finally {
    await db.close();
  }
}

/** One of the processes, whichever it is at the moment. */
type Place = {
  readonly number: number;
  /** Null while it is started again. */
  current: GatewayProcess | null;
  /** When the current one was ready, by `performance.now()`. */
  readyAt: number;
  /** Ends and failed starts in a row, without a steady time between them. */
  failures: number;
  isRolling: boolean;
};

type Processes = {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: ReturnType<typeof createProcessMetrics>;
  readonly places: readonly Place[];
  /** Also those that start or stop. */
  readonly alive: Set<GatewayProcess>;
  readonly stopping: AbortController;
  readonly gaveUp: PromiseWithResolvers<never>;
  /** Of the demo account; undefined until the first process has prepared it. */
  sampleLink: OpenOrder['sampleLink'];
  fork(number: number): GatewayProcess;
};

function createProcesses({ log, database }: Foundation, config: Config, sandboxPort: number | null): Processes {
  prepareForks();
  const { url, ownerUrl } = database;
  const processes: Processes = {
    config,
    logger: log.logger,
    metrics: createProcessMetrics(),
    places: Array.from({ length: config.processes }, (_, index) => createPlace(index + 1)),
    alive: new Set(),
    stopping: new AbortController(),
    gaveUp: Promise.withResolvers<never>(),
    sampleLink: undefined,
    fork: (number) =>
      forkGateway(
        { number, config, database: { url, ownerUrl }, sandboxPort, sampleLink: processes.sampleLink },
        { writeLog: (lines) => log.write(lines), collectMetrics: (asker) => collectMetrics(processes, asker) },
      ),
  };
  // Seen by who runs the gateway; before that, a start that fails says it itself.
  processes.gaveUp.promise.catch(() => undefined);
  processes.metrics.wanted.set(config.processes);
  return processes;
}

const readyOnes = ({ places }: Processes) => places.flatMap(({ current }) => current ?? []);

async function collectMetrics(processes: Processes, asker: GatewayProcess): Promise<string> {
  // The one that was asked has just measured the database, so it comes first.
  const asked = readyOnes(processes).toSorted((left, right) => Number(right === asker) - Number(left === asker));
  const collected = await Promise.all(asked.map((each) => each.metrics()));
  const own = { process: 0, metrics: await processes.metrics.registry.getMetricsAsJSON() };
  return mergeMetrics([own, ...collected.filter((each) => each !== null)]);
}

/** The first process starts alone: it makes what exists once, such as the master key and the demo account. */
async function startAll(processes: Processes): Promise<ReadyNotice> {
  const [first, ...others] = processes.places;
  if (!first) throw new Error('there is no process to start');
  const notice = await startIn(processes, first);
  processes.sampleLink = notice.demo?.file.payment_link ?? null;
  await Promise.all(others.map((place) => startIn(processes, place)));
  return notice;
}

/** Starts a process, which takes the place when it is ready. */
async function startIn(processes: Processes, place: Place): Promise<ReadyNotice> {
  const { alive, metrics } = processes;
  const next = processes.fork(place.number);
  alive.add(next);
  void next.ended.then(() => alive.delete(next));
  const notice = await next.ready;
  place.current = next;
  place.readyAt = performance.now();
  metrics.ready.set(readyOnes(processes).length);
  void next.ended.then((how) => afterEnd(processes, place, next, how));
  return notice;
}

function afterEnd(processes: Processes, place: Place, ended: GatewayProcess, how: string): void {
  const { metrics, stopping, logger } = processes;
  if (place.current !== ended) return;
  place.current = null;
  metrics.ready.set(readyOnes(processes).length);
  if (stopping.signal.aborted) return;
  metrics.ended.inc();
  logger.error({ process: place.number, pid: ended.pid, how }, 'a process ended; it is started again');
  place.failures = performance.now() - place.readyAt > STEADY_MS ? 0 : place.failures + 1;
  if (!place.isRolling) void startAgain(processes, place);
}

async function startAgain(processes: Processes, place: Place): Promise<void> {
  const { signal } = processes.stopping;
  while (!place.current) {
    await pause(pauseAfter(place.failures), signal);
    if (signal.aborted) return;
    try {
      await startIn(processes, place);
    } catch (error) {
      place.failures++;
      if (signal.aborted) return;
      const reason = (error as Error).message;
      processes.logger.error({ process: place.number, reason }, 'a process could not start');
      const isHopeless = place.failures >= MAX_FAILED_STARTS && readyOnes(processes).length === 0;
      if (isHopeless) return processes.gaveUp.reject(error);
    }
  }
}

async function replaceAll(processes: Processes): Promise<void> {
  const { places, stopping, logger } = processes;
  for (const place of places) if (stopping.signal.aborted || !(await replace(processes, place))) return;
  logger.info({ processes: places.length }, 'all processes were replaced');
}

/** False: the new process could not start. The old one goes on, and those that follow are not touched. */
async function replace(processes: Processes, place: Place): Promise<boolean> {
  const { logger, stopping, config } = processes;
  const old = place.current;
  // It is being started again at the moment.
  if (!old) return true;
  place.isRolling = true;
  const error = await startIn(processes, place).then(
    () => null,
    (reason: Error) => reason,
  );
  place.isRolling = false;
  if (!place.current) void startAgain(processes, place);
  if (error) {
    const line = { process: place.number, reason: error.message };
    if (!stopping.signal.aborted) logger.error(line, 'a process was not replaced: the new one could not start');
    return false;
  }
  await old.stop({ delayMs: config.stopDelayMs, isReplaced: true });
  return true;
}

async function stopAll({ stopping, alive }: Processes, how: StopOptions): Promise<void> {
  stopping.abort();
  await Promise.all([...alive].map((each) => each.stop(how)));
}

function createPlace(number: number): Place {
  return { number, current: null, readyAt: 0, failures: 0, isRolling: false };
}

function pauseAfter(failures: number): number {
  return failures === 0 ? 0 : Math.min(PAUSE_MS.first * 2 ** (failures - 1), PAUSE_MS.longest);
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** Runs `work` once more after its end if it was asked for meanwhile, however often. */
function onceMore(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let again = false;
  async function run(): Promise<void> {
    do {
      again = false;
      await work();
    } while (again);
    running = null;
  }
  return () => {
    again = true;
    running ??= run();
    return running;
  };
}
