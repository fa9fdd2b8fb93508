// One of several processes of the gateway, as its supervisor sees it. They share one listening socket through node:cluster, and
// each accepts connections itself: handed over by the supervisor, those on their way to a process that is killed would hang.
// Settings travel over the channel, never as arguments; the log comes back over standard output, so that lines are written whole.

import cluster, { type Worker } from 'node:cluster';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Demo } from './demo.ts';
import type { StopOptions } from './gateway.ts';
import { type OpenDatabase, StartError } from './open-context.ts';
import type { Config } from './platform/config.ts';
import type { ProcessMetrics } from './platform/metrics.ts';

/** A process that stops takes its delay, eight seconds for requests and one for the database. */
const STOP_MS = 11_000;
/** A process that has not answered by then is left out of the metrics. */
const COLLECT_MS = 2_000;

export type OpenOrder = {
  /** Counted from 1; in its log lines and metrics. */
  number: number;
  config: Config;
  database: Pick<OpenDatabase, 'url' | 'ownerUrl'>;
  /** Where the process of the sandbox listens. */
  sandboxPort: number | null;
  /** Undefined: this process prepares the demo account. */
  sampleLink: string | null | undefined;
};

/** From the supervisor to a process. */
export type GatewayOrder =
  | { open: OpenOrder }
  | { stop: StopOptions }
  /** Asks for the metrics of the process. */
  | { collect: number }
  /** The metrics of all processes, for one that wants them. */
  | { metrics: { request: number; text: string } };

export type ReadyNotice = { url: string; demo: Demo | null };

/** From a process to the supervisor. */
export type GatewayNotice =
  | { ready: ReadyNotice }
  | { failed: { message: string; exitCode: number } }
  | { wantsMetrics: number }
  | { collected: { request: number; metrics: ProcessMetrics['metrics'] } };

export type GatewayProcess = {
  readonly number: number;
  readonly pid: number;
  /** Rejects with a StartError that says why it could not start. */
  readonly ready: Promise<ReadyNotice>;
  /** Resolves with how it ended: its exit code, or a signal. */
  readonly ended: Promise<string>;
  /** Null: it did not answer. */
  metrics(): Promise<ProcessMetrics | null>;
  /** Resolves when it has ended, which is forced after a time. */
  stop(how: StopOptions): Promise<void>;
};

export function prepareForks(): void {
  const cache = getCompileCacheDir();
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('./gateway-child.ts', import.meta.url)),
    args: cache ? [dirname(cache)] : [],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}

export type ForkOptions = {
  readonly writeLog: (lines: string) => void;
  /** The metrics of all processes: any of them may be asked. */
  readonly collectMetrics: (asker: GatewayProcess) => Promise<string>;
};

export function forkGateway(order: OpenOrder, { writeLog, collectMetrics }: ForkOptions): GatewayProcess {
  const worker = cluster.fork();
  // An order to a process that is ending cannot be sent; its end is seen anyway.
  worker.on('error', () => undefined);
  const { number } = order;
  const ended = new Promise<string>((resolve) => {
    worker.once('exit', (code: number | null, signal: string | null) => resolve(signal ?? `code ${code}`));
  });
  const ready = readiness(worker, number, ended);
  // Who waits for it sees the error; if nobody does, its end is enough.
  ready.catch(() => undefined);
  passOn(worker, writeLog);
  const send = (next: GatewayOrder) => void (worker.isConnected() && worker.send(next));
  send({ open: order });
  const gateway: GatewayProcess = {
    number,
    pid: worker.process.pid ?? 0,
    ready,
    ended,
    metrics: createCollector(worker, number, send),
    async stop(how) {
      send({ stop: how });
      const deadline = setTimeout(() => worker.process.kill('SIGKILL'), how.delayMs + STOP_MS);
      await ended;
      clearTimeout(deadline);
    },
  };
  worker.on('message', (notice: GatewayNotice) => {
    if (!('wantsMetrics' in notice)) return;
    const answer = (text: string) => send({ metrics: { request: notice.wantsMetrics, text } });
    // Without an answer the process reports its own.
    collectMetrics(gateway).then(answer, () => undefined);
  });
  return gateway;
}

function createCollector(worker: Worker, process: number, send: (order: GatewayOrder) => void) {
  const waiting = new Map<number, (collected: ProcessMetrics) => void>();
  let last = 0;
  worker.on('message', (notice: GatewayNotice) => {
    if (!('collected' in notice)) return;
    const { request, metrics } = notice.collected;
    waiting.get(request)?.({ process, metrics });
    waiting.delete(request);
  });
  return (): Promise<ProcessMetrics | null> =>
    new Promise((resolve) => {
      const request = ++last;
      const timer = setTimeout(() => {
        waiting.delete(request);
        resolve(null);
      }, COLLECT_MS);
      waiting.set(request, (collected) => {
        clearTimeout(timer);
        resolve(collected);
      });
      send({ collect: request });
    });
}

function readiness(worker: Worker, number: number, ended: Promise<string>): Promise<ReadyNotice> {
  return new Promise((resolve, reject) => {
    worker.on('message', (notice: GatewayNotice) => {
      if ('ready' in notice) resolve(notice.ready);
      if ('failed' in notice) reject(new StartError(notice.failed.message, notice.failed.exitCode));
    });
    void ended.then((how) => reject(new StartError(`Process ${number} ended before it was ready (${how}).`, 1)));
  });
}

/** Only whole lines are handed on: those of several processes must not be mixed. */
function passOn(worker: Worker, write: (lines: string) => void): void {
  let rest = '';
  const stream = worker.process.stdout;
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    const text = rest + chunk;
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    if (end > 0) write(text.slice(0, end));
  });
  stream?.on('end', () => {
    if (rest) write(`${rest}\n`);
  });
}
