// A journey in live mode over simulated operators, with the gateway and the operators in processes of their own: each method of
// both tables of the seed over its rail, then many payments while everything goes wrong and the gateway is killed. In the end
// the clearing account of each connection and the operator's own book are the same money.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { FAULTS, type PlannedFault } from '../../simulators/faults.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { createContext } from '../../src/open-context.ts';
import { openPayments } from '../../src/open-payments.ts';
import { createConnection, setRoute } from '../../src/payments/connection-changes.ts';
import type { PaymentsContext } from '../../src/payments/context.ts';
import { type Config, readConfig } from '../../src/platform/config.ts';
import type { Context } from '../../src/platform/context.ts';
import { createLogger } from '../../src/platform/log.ts';
import { callbackAddressesOf, dashboardAddress } from '../../src/rails/callback-addresses.ts';
import { createTestDatabase } from '../database.ts';
import { reservePort } from '../ports.ts';
import { createShop, type Shop, signBody } from '../shop.ts';
import type { JourneyPlan } from './journey-simulators.ts';
import { OPERATORS, type OperatorUnderTest } from './operators.ts';

const PUBLIC_URL = 'https://pay.example.com';
const READY_MS = 120_000;

type JourneyConnection = {
  readonly name: string;
  readonly operator: string;
  readonly values: Record<string, string>;
  readonly methods: readonly string[];
};

const one = (name: string, operator: string, methods: string[], values: Record<string, string> = {}) => ({
  name,
  operator,
  methods,
  values,
});

/** Every method of the catalogue over its own operator where we have a rail to it, else over an aggregator. */
export const CONNECTIONS: readonly JourneyConnection[] = [
  one('daraja', 'daraja', ['MPESA_KEN', 'MPESA_TILL_KEN', 'MPESA_PAYBILL_KEN']),
  one('paystack', 'paystack', ['PESALINK_KEN', 'BANK_NGA', 'AIRTELTIGO_GHA']),
  one('mtn-benin', 'mtn-momo', ['MTN_MOMO_BEN'], { target_environment: 'mtnbenin' }),
  one('mtn-ivory-coast', 'mtn-momo', ['MTN_MOMO_CIV'], { target_environment: 'mtnivorycoast' }),
  one('mtn-cameroon', 'mtn-momo', ['MTN_MOMO_CMR'], { target_environment: 'mtncameroon' }),
  one('mtn-uganda', 'mtn-momo', ['MTN_MOMO_UGA'], { target_environment: 'mtnuganda' }),
  one('mtn-zambia', 'mtn-momo', ['MTN_MOMO_ZMB'], { target_environment: 'mtnzambia' }),
  one('mtn-ghana', 'mtn-momo', ['MTN_MOMO_GHA'], { target_environment: 'mtnghana' }),
  one('airtel-tanzania', 'airtel-money', ['AIRTEL_TZA'], { country: 'TZ' }),
  one('airtel-uganda', 'airtel-money', ['AIRTEL_OAPI_UGA'], { country: 'UG' }),
  one('airtel-zambia', 'airtel-money', ['AIRTEL_OAPI_ZMB'], { country: 'ZM' }),
  one('orange-ivory-coast', 'orange-web-payment', ['ORANGE_CIV']),
  one('orange-cameroon', 'orange-cameroon', ['ORANGE_CMR']),
  one('orange-senegal', 'orange-sonatel', ['ORANGE_SEN']),
  one('pawapay', 'pawapay', [
    'MOOV_BEN',
    'FREE_SEN',
    'TIGO_TZA',
    'HALOTEL_TZA',
    'VODACOM_TZA',
    'ORANGE_SLE',
    'VODAFONE_GHA',
  ]),
];

export type Journey = {
  readonly ctx: PaymentsContext;
  readonly shop: Shop;
  readonly urls: Readonly<Record<string, string>>;
  /** A signed request to the gateway; null: it did not answer. */
  request(path: string, params: Record<string, unknown>, key: string): Promise<{ status: number; body: string } | null>;
  plan(faults: readonly PlannedFault[]): Promise<void>;
  act(connection: string, action: string, body: object): Promise<number>;
  bookOf(connection: string): Promise<SimulatorBook>;
  /** SIGKILL, and a new process in its place. */
  killGateway(): Promise<void>;
  close(): Promise<void>;
};

export type SimulatorBook = {
  net: Record<string, string>;
  movements: { kind: string; amount: string; currency: string; msisdn: string }[];
};

/** Each fault that needs no name of a field, for this share of the requests. */
export function everyFault(share: number): PlannedFault[] {
  return FAULTS.filter((fault) => fault !== 'field_renamed').map((fault) => ({ fault, share }));
}

const OPERATIONS_WITHOUT_PAYOUT = ['token', 'collect', 'refund', 'query', 'balance', 'name', 'other'] as const;

/** Sonatel pays a cash-in twice that reaches it twice, whatever the reference: no gateway can prevent or undo that. */
function possibleFaults(connection: string, fault: PlannedFault): PlannedFault[] {
  if (connection !== 'orange-senegal' || fault.fault !== 'duplicate_id') return [fault];
  return OPERATIONS_WITHOUT_PAYOUT.map((operation) => ({ ...fault, operation }));
}

export async function openJourney(seed: number): Promise<Journey> {
  const database = await createTestDatabase();
  const port = await reservePort();
  const settings = {
    MODE: 'live',
    PORT: String(port),
    DATABASE_URL: database.url,
    MASTER_KEY: randomBytes(32).toString('hex'),
    PUBLIC_URL,
    ALLOW_SIMULATORS_LIVE: 'true',
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
    OPEN_PROMPTS_PER_NUMBER: '0',
    PROMPTS_PER_NUMBER_PER_DAY: '0',
  };
  const config = readConfig(settings);
  const base = await openContext(config, database.url);
  const payments = await openPayments(base, { sandboxOperatorUrl: () => null, sendCallbacksNow: () => undefined });
  const { ctx } = payments;
  const { child: operators, urls } = await startSimulators({
    publicUrl: PUBLIC_URL,
    gatewayPort: port,
    seed,
    connections: CONNECTIONS.map(({ name, operator }) => ({ name, operator })),
  });
  await connectAll(ctx, urls);
  const shop = await createShop(ctx);
  let gateway = await startGateway(settings, port);
  await registerAll(ctx, urls);
  let killed = Promise.resolve();

  return {
    ctx,
    shop,
    urls,
    async request(path, params, key) {
      try {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': key },
          body: JSON.stringify(signBody(shop, Date.now(), params as Parameters<typeof signBody>[2])),
          signal: AbortSignal.timeout(20_000),
        });
        return { status: answer.status, body: await answer.text() };
      } catch {
        return null;
      }
    },
    async plan(faults) {
      for (const [name, url] of Object.entries(urls)) {
        await fetch(`${url}/_simulator/faults`, { method: 'DELETE' });
        for (const fault of faults.flatMap((each) => possibleFaults(name, each)))
          await postJson(`${url}/_simulator/faults`, fault);
      }
    },
    act: async (connection, action, body) => postJson(`${urls[connection]}/_simulator/${action}`, body),
    bookOf: async (connection) => (await (await fetch(`${urls[connection]}/_simulator/book`)).json()) as SimulatorBook,
    killGateway() {
      // One after the other: each kills a process that runs.
      killed = killed.then(async () => {
        const ended = once(gateway, 'exit');
        gateway.kill('SIGKILL');
        await ended;
        gateway = await startGateway(settings, port);
      });
      return killed;
    },
    async close() {
      operators.kill('SIGKILL');
      const ended = gateway.exitCode === null ? once(gateway, 'exit') : null;
      gateway.kill('SIGTERM');
      await ended;
      await payments.close();
      await ctx.db.close();
      await database.drop();
    },
  };
}

/** A machine that is busy with other things may take longer than a request may wait for a connection. */
async function openContext(config: Config, url: string, triesLeft = 20): Promise<Context> {
  try {
    return await createContext(config, url, createLogger('error'));
  } catch (error) {
    if (triesLeft === 0) throw error;
    return openContext(config, url, triesLeft - 1);
  }
}

async function postJson(url: string, body: object): Promise<number> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.status;
}

async function startSimulators(plan: JourneyPlan): Promise<{ child: ChildProcess; urls: Record<string, string> }> {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, 'journey-simulators.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(plan));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, urls: JSON.parse(line) as Record<string, string> };
}

async function startGateway(settings: Record<string, string>, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, '../../src/cli.ts'), 'serve'], {
    env: { PATH: process.env.PATH ?? '', ...settings },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const started = Date.now(); Date.now() - started < READY_MS; await pause(50)) {
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (isReady) return child;
    assert.equal(child.exitCode, null, 'the gateway ended at its start');
  }
  return assert.fail('the gateway did not start');
}

export function operatorOf({ operator }: JourneyConnection): OperatorUnderTest {
  return OPERATORS.find(({ name }) => name === operator) ?? assert.fail(`no operator ${operator}`);
}

async function connectAll(ctx: PaymentsContext, urls: Record<string, string>): Promise<void> {
  for (const connection of CONNECTIONS) {
    const { name, methods, values } = connection;
    const operator = operatorOf(connection);
    await createConnection(ctx, COMMAND_LINE, {
      name,
      rail: operator.rail.name,
      environment: 'simulator',
      baseUrl: urls[name],
      methods,
      values: { ...operator.connectionValues, ...values },
    });
    const rail = ctx.rails.byName(name) ?? assert.fail(`${name} cannot be opened`);
    for (const code of methods) {
      const method = ctx.catalog.methods.get(code) ?? assert.fail();
      for (const direction of ['collection', 'payout'] as const)
        if (rail.capabilitiesOf(method, direction))
          await setRoute(ctx, COMMAND_LINE, { holderId: null, method: code, direction, connections: [name] });
    }
  }
}

async function registerAll(ctx: PaymentsContext, urls: Record<string, string>): Promise<void> {
  for (const connection of CONNECTIONS) {
    const { registerAction } = operatorOf(connection);
    const url = dashboardAddress(callbackAddressesOf(ctx, connection.name));
    if (registerAction) await postJson(`${urls[connection.name]}/_simulator/${registerAction}`, { url });
    await ctx.rails.byName(connection.name)?.check();
  }
}
