// What the gateway says to simulators on this machine besides the operator's protocol: which address callbacks go to, as somebody
// enters it on the operator's dashboard, and what payers decide on the test phone. A simulator that does not answer is not running.

import type { Context } from '../platform/context.ts';
import { callbackAddressesOf, dashboardAddress } from './callback-addresses.ts';
import { type Connection, findConnection, listConnections } from './connections.ts';
import { connectOperator } from './exchange.ts';
import { readJson } from './reading.ts';

const TIMEOUT_MS = 1_000;
const MAX_PROMPTS = 50;
const MAX_TEXT = 500;

/** What a payer's phone shows, at one simulator. */
export type SimulatorPrompt = {
  connection: string;
  id: string;
  msisdn: string;
  text: string;
  amount: string;
  currency: string;
};

/** Tells every simulator where this gateway takes callbacks: either may have been started again, or PUBLIC_URL has changed. */
export async function registerCallbackAddresses(ctx: Context): Promise<number> {
  const simulated = (await listConnections(ctx.db)).filter(isSimulated);
  await Promise.all(
    simulated.map(({ name, baseUrl }) =>
      ask(baseUrl, 'register_callback', { url: dashboardAddress(callbackAddressesOf(ctx, name)) }),
    ),
  );
  return 0;
}

/** The open prompts of every simulator that a connection leads to. Two connections to one simulator show them once. */
export async function listSimulatorPrompts(ctx: Pick<Context, 'db'>): Promise<SimulatorPrompt[]> {
  const byAddress = new Map((await listConnections(ctx.db)).filter(isSimulated).map((each) => [each.baseUrl, each]));
  const lists = await Promise.all(
    Array.from(byAddress.values(), async ({ name, baseUrl }) => readPrompts(name, await ask(baseUrl, 'prompts', null))),
  );
  return lists.flat().slice(0, MAX_PROMPTS);
}

/** False when there is no such prompt any more, or no such simulator. */
export async function decideSimulatorPrompt(
  ctx: Pick<Context, 'db'>,
  name: string,
  id: string,
  decision: 'approve' | 'cancel',
): Promise<boolean> {
  const connection = await findConnection(ctx.db, name);
  if (!connection || !isSimulated(connection) || !/^[\w-]{1,64}$/.test(id)) return false;
  return (await ask(connection.baseUrl, `prompts/${id}`, { decision })) !== null;
}

function isSimulated(connection: Connection): connection is Connection & { baseUrl: string } {
  return connection.environment === 'simulator' && connection.baseUrl !== null && connection.removedAt === null;
}

/** The answer as JSON; null when there was none. Connections to simulators are on loopback (a constraint of the table). */
async function ask(baseUrl: string, path: string, body: object | null): Promise<unknown> {
  const simulator = connectOperator({ url: () => baseUrl, timeoutMs: TIMEOUT_MS });
  try {
    const request = {
      path: `/_simulator/${path}`,
      ...(body ? { method: 'POST' as const, body } : { method: 'GET' as const }),
    };
    const answer = await simulator.exchange(request);
    return answer.answered && answer.status === 200 ? (readJson(answer.body) ?? null) : null;
  } finally {
    await simulator.close();
  }
}

function readPrompts(connection: string, answer: unknown): SimulatorPrompt[] {
  const prompts = (answer as { prompts?: unknown } | null)?.prompts;
  if (!Array.isArray(prompts)) return [];
  return prompts.slice(0, MAX_PROMPTS).map((prompt: Record<string, unknown>) => {
    const text = (name: string) => {
      const value = prompt[name];
      return typeof value === 'string' ? value.slice(0, MAX_TEXT) : '';
    };
    return {
      connection,
      id: text('id'),
      msisdn: text('msisdn'),
      text: text('text'),
      amount: text('amount'),
      currency: text('currency'),
    };
  });
}
