// `simbi rail test` and the button of the console: whether a connection works, in sentences that say what is missing. It asks the
// operator for a token and the balance, and asks this gateway at the address that operators are given.

import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import { findConnection } from '../rails/connections.ts';
import type { ConnectionCheck, OperatorBalance, Rail } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';

const OWN_ADDRESS_TIMEOUT_MS = 5_000;
const MAX_ANSWER_CHARACTERS = 10_000;

export type ConnectionReport = {
  checks: readonly ConnectionCheck[];
  /** What the operator says that it holds for us; empty where it tells it later or not at all. */
  balances: readonly OperatorBalance[];
};

export async function testConnection(ctx: PaymentsContext, name: string): Promise<ConnectionReport> {
  const connection = await findConnection(ctx.db, name);
  if (!connection) throw new Problem('not_found', { message: `There is no connection "${name}".` });
  await ctx.rails.refresh();
  const rail = ctx.rails.byName(name);
  if (!rail) {
    const problem = `"${name}" cannot be opened: its rail is not part of this version, or it belongs to the other mode.`;
    return { checks: [{ name: 'connection', problem }], balances: [] };
  }
  const isPublic = connection.environment !== 'simulator';
  const [checks, { check, balances }, address] = await Promise.all([
    checkRail(rail),
    checkBalance(rail),
    checkOwnAddress(publicUrl(ctx.config), name, isPublic),
  ]);
  return { checks: [...checks, ...(check ? [check] : []), address], balances };
}

async function checkRail(rail: Rail): Promise<ConnectionCheck[]> {
  try {
    return await rail.check();
  } catch {
    return [{ name: 'operator', problem: 'The check ended with an error of this gateway; the log has it.' }];
  }
}

async function checkBalance(
  rail: Rail,
): Promise<{ check: ConnectionCheck | null; balances: readonly OperatorBalance[] }> {
  if (!rail.balance) return { check: null, balances: [] };
  const reply = await rail.balance().catch(() => ({ error: 'an error of this gateway' }));
  if ('error' in reply)
    return { check: { name: 'balance', problem: `The balance cannot be read: ${reply.error}.` }, balances: [] };
  if ('asked' in reply)
    return { check: { name: 'balance (the answer comes by callback)', problem: null }, balances: [] };
  const shown = reply.balances.map(({ available, currency }) => `${formatAmount(available)} ${currency}`).join(', ');
  return { check: { name: `balance: ${shown || 'no account'}`, problem: null }, balances: reply.balances };
}

/** As far as can be told from here: another network may see something else. */
async function checkOwnAddress(origin: string, connection: string, isPublic: boolean): Promise<ConnectionCheck> {
  const address = `${origin}/operators/${connection}`;
  const name = `callbacks reach ${address}`;
  if (isPublic && !origin.startsWith('https://'))
    return {
      name,
      problem: `Operators send callbacks to ${origin}, which they cannot reach. Set PUBLIC_URL to the https address of this gateway.`,
    };
  try {
    const answer = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(OWN_ADDRESS_TIMEOUT_MS) });
    const text = (await answer.text()).slice(0, MAX_ANSWER_CHARACTERS);
    // Whatever the gateway answers, it says which request it was.
    if (text.includes('"request_id"') && answer.status < 500) return { name, problem: null };
    return {
      name,
      problem: `${address} answers with status ${answer.status}, but not as this gateway does. Check the proxy in front of it.`,
    };
  } catch {
    return {
      name,
      problem: `${address} does not answer from here. Start the gateway, and check PUBLIC_URL and the firewall.`,
    };
  }
}
