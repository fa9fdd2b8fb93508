// Two gateway processes on one database. Either may be killed at any time; what a client or a person did not get an answer
// for is asked of the other one, and a dead process is replaced by one that has loaded already.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import { signBody } from '../shop.ts';
import type { Action, ActionAnswer } from './actions.ts';

const REQUEST_TIMEOUT_MS = 10_000;
const MAX_TRIES = 40;
const PAUSE_MS = 100;
/** A machine that is busy with other things; the next try is answered. */
const BUSY = ['database_unavailable', 'overloaded', 'outcome_unknown'];

export type Gateway = {
  start(port: number): Promise<void>;
  hasExited(): boolean;
  kill(): Promise<void>;
  /** Null: it died before it answered. */
  ask(action: Action): Promise<ActionAnswer | null>;
  post(path: string, body: JsonObject, key: string): Promise<{ status: number; body: JsonObject } | null>;
};

function spawnGateway(settings: Record<string, string>): Gateway {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, 'gateway.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...settings },
  });
  // A line that is written to a process that has just died.
  child.stdin.on('error', () => undefined);
  const exited = once(child, 'exit');
  const waiting = new Map<number, (answer: ActionAnswer | null) => void>();
  const said = new Map<string, () => void>();
  const saying = (word: string) => new Promise<void>((heard) => said.set(word, heard));
  const loaded = saying('loaded');
  const ready = saying('ready');
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return said.get(line)?.();
    const { id, ...answer } = JSON.parse(line) as ActionAnswer & { id: number };
    waiting.get(id)?.(answer as ActionAnswer);
    waiting.delete(id);
  });
  void exited.then(() => {
    for (const tell of waiting.values()) tell(null);
  });
  const calls = callsOf(child, waiting);
  return { ...calls, start, kill };

  async function start(port: number): Promise<void> {
    calls.setPort(port);
    await Promise.race([loaded, exited]);
    child.stdin.write(`${port}\n`);
    await Promise.race([ready, exited]);
  }
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }
}

function callsOf(
  child: ChildProcess,
  waiting: Map<number, (answer: ActionAnswer | null) => void>,
): Pick<Gateway, 'hasExited' | 'ask' | 'post'> & { setPort(port: number): void } {
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  let asked = 0;
  let port = 0;
  return {
    setPort(given) {
      port = given;
    },
    hasExited,
    ask(action) {
      if (hasExited()) return Promise.resolve(null);
      const id = ++asked;
      return new Promise((tell) => {
        waiting.set(id, tell);
        child.stdin?.write(`${JSON.stringify({ id, action })}\n`);
      });
    },
    async post(path, body, key) {
      try {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': key },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        });
        return { status: response.status, body: (await response.json()) as JsonObject };
      } catch {
        return null;
      }
    },
  };
}

export type Pair = {
  readonly all: readonly [Gateway, Gateway];
  /** Replaces the dead ones. */
  revive(): Promise<void>;
  /** Repeats an action until a process answers it. The second and later answers may say that it was done. */
  insist(action: Action): Promise<ActionAnswer & { tries: number }>;
  /** Repeats a signed request, with its key, until it is answered. */
  request(shop: Parameters<typeof signBody>[0], path: string, params: JsonObject, key: string): Promise<JsonObject>;
  stop(): Promise<void>;
};

export async function startPair(settings: Record<string, string>, ports: readonly [number, number]): Promise<Pair> {
  const all: [Gateway, Gateway] = [spawnGateway(settings), spawnGateway(settings)];
  await Promise.all(all.map((each, index) => each.start(ports[index] ?? 0)));
  let standby = spawnGateway(settings);

  async function revive(): Promise<void> {
    for (const index of [0, 1] as const) {
      if (!all[index].hasExited()) continue;
      all[index] = standby;
      standby = spawnGateway(settings);
      await all[index].start(ports[index]);
    }
  }
  async function untilAnswered<T>(ask: (gateway: Gateway) => Promise<T | null>): Promise<{ answer: T; tries: number }> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      if (all.every((each) => each.hasExited())) await revive();
      const answer = await ask(all[0].hasExited() ? all[1] : all[0]);
      if (answer !== null) return { answer, tries };
      await wait(PAUSE_MS);
    }
    throw new Error(`no answer after ${MAX_TRIES} tries`);
  }
  return {
    all,
    revive,
    async insist(action) {
      const { answer, tries } = await untilAnswered(async (gateway) => {
        const said = await gateway.ask(action);
        return said && !said.ok && BUSY.includes(said.code) ? null : said;
      });
      return { ...answer, tries };
    },
    async request(shop, path, params, key) {
      const { answer } = await untilAnswered(async (gateway) => {
        const reply = await gateway.post(path, signBody(shop, Date.now(), params), key);
        return reply === null || reply.status >= 500 ? null : reply;
      });
      if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body.data as JsonObject;
    },
    async stop() {
      await Promise.all([...all, standby].map((each) => each.kill()));
    },
  };
}
