// Payments over the pawaPay rail: its simulator in a process of its own, a connection to it, and the route of one method.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { openPayments } from '../src/open-payments.ts';
import { createConnection, setRoute } from '../src/payments/connection-changes.ts';
import type { Context } from '../src/platform/context.ts';

const PROGRAM = fileURLToPath(new URL('../simulators/run.ts', import.meta.url));
const CONNECTION = 'pawapay';
/** Every process sees a change within a second. */
const SEEN_MS = 1_500;

export type PawapayBench = { process: ChildProcess; stop(): Promise<void> };

/** From now on this method's collections go over pawaPay. */
export async function routeOverPawapay(ctx: Context, method: string, gatewayUrl: string): Promise<PawapayBench> {
  const child = spawn(process.execPath, [PROGRAM, 'pawapay', '--port', '0'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url, credentials } = JSON.parse(line) as { url: string; credentials: Record<string, string> };
  const payments = await openPayments(ctx, { sandboxOperatorUrl: () => null, sendCallbacksNow: () => undefined });
  await createConnection(payments.ctx, COMMAND_LINE, {
    name: CONNECTION,
    rail: 'pawapay',
    environment: 'simulator',
    baseUrl: url,
    values: { ...credentials, signed_callbacks: 'yes' },
  });
  await fetch(`${url}/_simulator/set_callbacks`, {
    method: 'POST',
    body: JSON.stringify({ url: `${gatewayUrl}/operators/${CONNECTION}` }),
  });
  const route = (connections: string[]) =>
    setRoute(payments.ctx, COMMAND_LINE, { holderId: null, method, direction: 'collection', connections });
  await route([CONNECTION]);
  await pause(SEEN_MS);
  return {
    process: child,
    async stop() {
      await route([]);
      await pause(SEEN_MS);
      await payments.close();
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
