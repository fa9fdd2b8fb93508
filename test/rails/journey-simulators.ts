// The simulated operators of a journey, in a process of their own: one for each connection. The public address of the gateway is
// https; here stands in for the proxy that ends TLS in front of it. Reads a JourneyPlan from standard input and prints the
// addresses.

import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { startSimulator } from '../../simulators/frame.ts';
import { OPERATORS } from './operators.ts';

export type JourneyPlan = {
  publicUrl: string;
  gatewayPort: number;
  seed: number;
  connections: { name: string; operator: string }[];
};

const OPENING_BALANCE = 1_000_000_000_00n;
const SLOW_MS = 1_500;
const CALLBACK_LATE_MS = 500;

const plan = JSON.parse(await text(process.stdin)) as JourneyPlan;
const realFetch = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const url = new URL(String(input instanceof Request ? input.url : input));
  return url.origin === plan.publicUrl ? forward(url, init ?? {}) : realFetch(input, init);
};

/** As a proxy does it: the same request with its Host, to the gateway's own port. */
function forward(url: URL, { method = 'GET', headers, body, signal }: RequestInit): Promise<Response> {
  return new Promise((answered, failed) => {
    const sent = httpRequest(
      {
        host: '127.0.0.1',
        port: plan.gatewayPort,
        path: `${url.pathname}${url.search}`,
        method,
        headers: { ...Object.fromEntries(new Headers(headers)), host: url.host },
        ...(signal ? { signal } : {}),
      },
      (reply) => {
        text(reply).then((said) => answered(new Response(said, { status: reply.statusCode ?? 500 })), failed);
      },
    );
    sent.once('error', failed);
    sent.end(typeof body === 'string' ? body : undefined);
  });
}

const urls: Record<string, string> = {};
for (const [index, { name, operator: wanted }] of plan.connections.entries()) {
  const operator = OPERATORS.find((each) => each.name === wanted);
  if (!operator) throw new Error(`no operator ${wanted}`);
  const simulator = await startSimulator(operator.createSimulator, {
    settings: {
      ...operator.simulatorSettings,
      payerOpensPage: 'when_opened',
      // Here the clock is real.
      promptSeconds: '60',
      providerCallbackHost: new URL(plan.publicUrl).hostname,
    },
    openingBalance: OPENING_BALANCE,
    slowMs: SLOW_MS,
    callbackLateMs: CALLBACK_LATE_MS,
    seed: plan.seed * 100 + index,
  });
  urls[name] = simulator.url;
}
process.stdout.write(`${JSON.stringify(urls)}\n`);
