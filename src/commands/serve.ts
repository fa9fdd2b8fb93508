// simbi up, serve, worker: start the service. `up` is for a terminal (short output, log in a file), `serve` and `worker`
// are for a process manager (log on standard output).

import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { type Demo, demoBlock } from '../demo.ts';
import { readDemoFile } from '../demo-file.ts';
import { DataDirInUseError } from '../embedded-postgres/data-dir-lock.ts';
import type { ServerOptions } from '../foundation.ts';
import type { StopOptions } from '../gateway.ts';
import { type Config, dataPath, type Environment, readConfig } from '../platform/config.ts';
import { V8_FLAGS } from '../process-flags.ts';
import { CommandError, EXIT, type Terminal, toJson, withExamples } from './terminal.ts';

/** One Ctrl-C arrives several times: from the terminal, from npm and from the launcher. */
const SAME_KEY_PRESS_MS = 500;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function upCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi up', 'PORT=9000 npx simbi up', 'npx simbi up --verbose'])
    .option('-v, --verbose', 'write the log to standard output instead of DATA_DIR/simbi.log')
    .action((options: { json?: boolean; verbose?: boolean }) => up(terminal, options));
}

export function serveCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi serve',
    'MODE=live DATABASE_URL=postgres://… MASTER_KEY_FILE=/run/secrets/key PUBLIC_URL=https://pay.example.org ' +
      'npx simbi serve',
    'ROLE=api npx simbi serve',
    'npx simbi serve --processes auto',
  ])
    .option(...PROCESSES_OPTION)
    .action((options: ServeOptions) => serve(terminal, readConfig(withProcesses(terminal.environment, options))));
}

export function workerCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['PORT=8081 DATABASE_URL=postgres://… npx simbi worker'])
    .option(...PROCESSES_OPTION)
    .action((options: ServeOptions) =>
      serve(terminal, readConfig({ ...withProcesses(terminal.environment, options), ROLE: 'worker' })),
    );
}

type ServeOptions = { processes?: string };

const PROCESSES_OPTION = [
  '--processes <number>',
  'processes on this machine, or auto: one per processor (PROCESSES)',
] as const;

function withProcesses(environment: Environment, { processes }: ServeOptions): Environment {
  return processes === undefined ? environment : { ...environment, PROCESSES: processes };
}

async function up(terminal: Terminal, options: { json?: boolean; verbose?: boolean }): Promise<void> {
  const config = readConfig(terminal.environment);
  const started = performance.now();
  const logTo = dataPath(config, 'simbi.log');
  const progress = showProgress(terminal);
  try {
    await runUntilStopped(
      config,
      { onProgress: progress.next, ...(options.verbose ? {} : { logTo }) },
      (server) => {
        progress.end();
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        const mode = config.mode === 'sandbox' ? 'SANDBOX: no real money' : 'LIVE';
        if (options.json) terminal.out(toJson({ url: server.url, demo: server.demo?.file ?? null }));
        else terminal.out(`\n  ${terminal.bold(`Simbi is ready`)} in ${seconds} s   ${mode}\n\n${blockOf(server)}\n`);
      },
      terminal,
    );
  } catch (error) {
    progress.end();
    if (!(error instanceof DataDirInUseError)) throw error;
    const demo = await readDemoFile(config);
    if (demo && error.url)
      terminal.out(`\n${demoBlock(demo, { path: dataPath(config, 'demo.json'), secret: false, isRunning: true })}\n`);
    throw new CommandError(
      `${error.message} Nothing was started. Set DATA_DIR and PORT to start a second one.`,
      EXIT.conflict,
    );
  }
}

function blockOf(server: Service): string {
  const { demo } = server;
  if (demo) return demoBlock(demo.file, { path: demo.path, secret: demo.isNew });
  return [
    `  API         ${server.url}`,
    `  Console     ${server.url}/console   (sign-in link: npx simbi login-link <email>)`,
    '',
    '  Stop: Ctrl-C (data is kept)   Problems: npx simbi doctor',
  ].join('\n');
}

async function serve(terminal: Terminal, config: Config): Promise<void> {
  const onProgress = (sentence: string) => terminal.say(sentence);
  await runUntilStopped(config, { onProgress }, (server) => terminal.say(`Listening: ${server.url}`), terminal);
}

/** One line per step, with its duration when the next step starts. */
function showProgress(terminal: Terminal): { next: (sentence: string) => void; end: () => void } {
  let current: { sentence: string; at: number } | null = null;
  function end(): void {
    if (current)
      terminal.say(`  ${current.sentence} · done in ${((performance.now() - current.at) / 1000).toFixed(1)} s`);
    current = null;
  }
  return {
    next: (sentence) => {
      if (sentence === current?.sentence) return;
      end();
      current = { sentence, at: performance.now() };
      if (terminal.interactive) process.stderr.write(`  ${sentence} …\r`);
      else terminal.say(`  ${sentence} …`);
    },
    end,
  };
}

/** Runs the server until a signal, or until the launcher has exited. Ends the process. */
async function runUntilStopped(
  config: Config,
  options: ServerOptions,
  onReady: (server: Service) => void,
  terminal: Terminal,
): Promise<void> {
  const stop = listenForStop(config.processes > 1 && !terminal.interactive);
  setFlagsFromString(V8_FLAGS);
  const service = await (config.processes > 1 ? startSeveral : startOne)(config, options).catch((error: unknown) => {
    stop.forget();
    throw error;
  });
  process.on('uncaughtException', (error) => {
    service.log.fatal({ err: error }, 'uncaught exception, exiting');
    terminal.say(String(error.stack ?? error));
    process.exit(1);
  });
  onReady(service);
  stop.onRoll(() => void service.roll?.());
  const reason = await Promise.race([stop.asked, service.gaveUp ?? stop.asked]).catch(async (error: unknown) => {
    await service.stop({ delayMs: 0, isReplaced: false });
    stop.forget();
    throw error;
  });
  service.log.info({ reason }, 'stopping');
  if (terminal.interactive) terminal.say('\n  Stopping. Press Ctrl-C again to exit at once.');
  // A person at a terminal has no load balancer that must notice first.
  await service.stop({ delayMs: reason === 'SIGTERM' ? config.stopDelayMs : 0, isReplaced: false });
  process.exit(EXIT.ok);
}

/** The gateway, in this process or in several. */
type Service = {
  readonly url: string;
  readonly demo: Demo | null;
  readonly log: Logger;
  readonly gaveUp?: Promise<never>;
  roll?(): Promise<void>;
  stop(how: StopOptions): Promise<void>;
};

// Loaded only here, so that a start that is refused by its settings is refused at once.
async function startOne(config: Config, options: ServerOptions): Promise<Service> {
  const { startServer } = await import('../server.ts');
  const server = await startServer(config, options);
  return { ...server, log: server.ctx.log };
}

async function startSeveral(config: Config, options: ServerOptions): Promise<Service> {
  const { startSupervisor } = await import('../supervisor.ts');
  return startSupervisor(config, options);
}

/**
 * Resolves with the reason to stop: a signal, or the end of the launcher. A second Ctrl-C ends the process at once. With several
 * processes SIGHUP replaces them, except in a terminal, where it says that the terminal was closed.
 */
function listenForStop(canRoll: boolean) {
  let signalled = 0;
  let onRoll = () => {};
  const { promise, resolve } = Promise.withResolvers<string>();
  const ask = (reason: string) => {
    if (reason === 'SIGHUP' && canRoll) return onRoll();
    const now = performance.now();
    if (signalled === 0) signalled = now;
    else if (reason === 'SIGINT' && now - signalled > SAME_KEY_PRESS_MS) process.exit(130);
    resolve(reason);
  };
  const disconnected = () => ask('the launcher has exited');
  for (const signal of STOP_SIGNALS) process.on(signal, ask);
  process.on('disconnect', disconnected);
  return {
    asked: promise,
    onRoll(callback: () => void) {
      onRoll = callback;
    },
    // A listener for the end of the launcher keeps the process alive, and one for a signal makes it deaf to it.
    forget() {
      for (const signal of STOP_SIGNALS) process.off(signal, ask);
      process.off('disconnect', disconnected);
    },
  };
}
