// The gateway as people run it, in one process or in two (requests and background work), and the operator that it pays through: the
// simulator of pawaPay, a program of its own whose book no failover can touch.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../../scripts/tree.ts';
import { end, type Launched, launch, until } from './processes.ts';

const START_MS = 120_000;
const END_MS = 20_000;
const NODE_OPTIONS = '--max-semi-space-size=16 --v8-pool-size=1';

export type Roles = 'all' | 'split';
export type RunningGateway = { url: string; hasEnded(): boolean; stop(): Promise<void> };

export type GatewaySettings = { PORT: string } & Record<string, string>;

export async function startGateway(folder: string, settings: GatewaySettings, roles: Roles): Promise<RunningGateway> {
  const url = `http://127.0.0.1:${settings.PORT}`;
  const processes: Launched[] = [];
  const start = async (role: string, port: string) => {
    const data = join(folder, role);
    mkdirSync(data, { recursive: true });
    const gateway = launch({
      command: [process.execPath, 'src/cli.ts', 'serve'],
      log: join(folder, 'log', `gateway-${role}.log`),
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', NODE_OPTIONS, ...settings, ROLE: role, PORT: port, DATA_DIR: data },
    });
    processes.push(gateway);
    await until(`the gateway (${role}) is ready`, START_MS, async () => {
      if (gateway.hasEnded()) throw new Error(`the gateway (${role}) ended; see ${join(folder, 'log')}`);
      return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok ?? false;
    });
  };
  const stop = async () => {
    await Promise.all(processes.map((each) => end(each, END_MS)));
  };
  try {
    if (roles === 'all') await start('all', settings.PORT);
    else {
      await start('worker', String(Number(settings.PORT) + 1));
      await start('api', settings.PORT);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, hasEnded: () => processes.some((each) => each.hasEnded()), stop };
}

export type Movement = { kind: string; id: string; amount: string; currency: string };

export interface RunningOperator {
  readonly url: string;
  readonly credentials: Record<string, string>;
  sendCallbacksTo(url: string): Promise<void>;
  movements(): Promise<Movement[]>;
  stop(): Promise<void>;
}

export async function startOperator(): Promise<RunningOperator> {
  const program = join(ROOT, 'simulators/run.ts');
  const child: ChildProcess = spawn(process.execPath, [program, 'pawapay', '--port', '0'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  if (!child.stdout) throw new Error('the operator has no output');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url, credentials } = JSON.parse(line) as { url: string; credentials: Record<string, string> };
  return {
    url,
    credentials,
    async sendCallbacksTo(address) {
      await fetch(`${url}/_simulator/set_callbacks`, { method: 'POST', body: JSON.stringify({ url: address }) });
    },
    async movements() {
      const book = (await (await fetch(`${url}/_simulator/book`)).json()) as { movements: Movement[] };
      return book.movements;
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
