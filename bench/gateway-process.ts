// A gateway started as users start it (launcher, log in its file), for measurements: processor time of each of its processes,
// and a CPU profile of a stretch of time. The code may be another checkout, so that two versions are compared in turns.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type GatewayProcess = {
  readonly pid: number;
  readonly url: string;
  /** Profiles the process while `work` runs. */
  profile(work: () => Promise<unknown>): Promise<CpuProfile>;
  /** What its heap still has after garbage was collected: memory that a process has beside it is room for garbage. */
  keptHeapMb(): Promise<number>;
  stop(): Promise<void>;
};

export type CpuProfile = {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
};

export type CallFrame = { functionName: string; url: string; lineNumber: number };

const START_MS = 180_000;

export async function startGatewayProcess(code: string, settings: Record<string, string>): Promise<GatewayProcess> {
  const child = spawn(process.execPath, startArguments(code), {
    cwd: code,
    env: { PATH: process.env.PATH, NODE_OPTIONS: nodeOptions(settings), ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const inspector = inspectorOf(child);
  const url = `http://127.0.0.1:${settings.PORT}`;
  const until = Date.now() + START_MS;
  while (!(await isReady(url))) {
    if (Date.now() > until || child.exitCode !== null) throw new Error(`the gateway in ${code} did not start`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const inspect = async () => {
    child.kill('SIGUSR1');
    return openSession(await inspector);
  };
  return {
    pid: child.pid ?? 0,
    url,
    async profile(work) {
      const session = await inspect();
      await session.send('Profiler.enable');
      await session.send('Profiler.setSamplingInterval', { interval: 500 });
      await session.send('Profiler.start');
      await work();
      const { profile } = (await session.send('Profiler.stop')) as { profile: CpuProfile };
      session.close();
      return profile;
    },
    async keptHeapMb() {
      const session = await inspect();
      // Finalizers run after the first one.
      for (let time = 0; time < 2; time++) await session.send('HeapProfiler.collectGarbage');
      const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number };
      session.close();
      return usedSize / 1024 / 1024;
    },
    stop: () => stopProcess(child),
  };
}

/** PROFILE_NODE_OPTIONS are options of V8 to try. */
function nodeOptions({ PROCESSES = '1' }: Record<string, string>): string {
  const tried = process.env.PROFILE_NODE_OPTIONS ?? '';
  // The inspector listens only after the signal that asks for it. node:cluster takes no port of the system's choice for it.
  return PROCESSES === '1' ? `--inspect-port=0 ${tried}` : tried;
}

/** Those of `npm start` of that checkout, options of Node included. */
function startArguments(code: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(code, 'package.json'), 'utf8')) as { scripts: { start: string } };
  return scripts.start.split(' ').slice(1);
}

function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (answer) => answer.ok,
    () => false,
  );
}

/** The address that Node prints once its inspector listens. */
function inspectorOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let printed = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      printed = (printed + chunk.toString()).slice(-10_000);
      const address = /Debugger listening on (ws:\S+)/.exec(printed)?.[1];
      if (address) resolve(address);
    });
  });
}

type Session = { send(method: string, params?: object): Promise<unknown>; close(): void };

async function openSession(address: string): Promise<Session> {
  const socket = new WebSocket(address);
  const waiting = new Map<number, (result: unknown) => void>();
  let last = 0;
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (id !== undefined) waiting.get(id)?.(result);
  };
  return {
    send: (method, params = {}) =>
      new Promise((resolve) => {
        waiting.set(++last, resolve);
        socket.send(JSON.stringify({ id: last, method, params }));
      }),
    close: () => socket.close(),
  };
}

export function stopProcess(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) resolve();
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

/** User and system time of one process in milliseconds, without its children (Linux only). */
export function cpuMs(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The same with all children, also those that ended: PostgreSQL's backends come and go. */
export function treeCpuMs(pid: number): number {
  const fields = statOf(pid);
  const own = (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) * 10;
  return own + childrenOf(pid).reduce((sum, child) => sum + (treeCpuMs(child) || 0), 0);
}

/** Memory of a process; `RssAnon` is the part that it shares with no other. Zero for one that has just ended. */
export function residentMb(pid: number, part: 'VmRSS' | 'RssAnon' = 'VmRSS'): number {
  let status = '';
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return 0;
  }
  const kilobytes = new RegExp(`${part}:\\s+(\\d+)`).exec(status)?.[1];
  return Number(kilobytes ?? 0) / 1024;
}

export function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

export function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  } catch {
    return [];
  }
}
