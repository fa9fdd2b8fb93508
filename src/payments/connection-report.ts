// `simbi rail test`, `simbi doctor` and the button of the console: whether a connection works, in sentences that say what is
// missing. They ask the operator for a token and the balance; no money moves.

import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import { findConnection, listConnections } from '../rails/connections.ts';
import type { ConnectionCheck, OperatorBalance, Rail } from '../rails/rail.ts';
import { listSharedAccounts, type SharedAccount } from './connection-views.ts';
import type { PaymentsContext } from './context.ts';

const OWN_ADDRESS_TIMEOUT_MS = 5_000;
const MAX_ANSWER_CHARACTERS = 10_000;

export type ConnectionReport = {
  checks: readonly ConnectionCheck[];
  /** What the operator says that it holds for us; empty where it tells it later or not at all. */
  balances: readonly OperatorBalance[];
};

/** Also registers our addresses where the operator wants that, and asks this gateway at the address that operators are given. */
export async function testConnection(ctx: PaymentsContext, name: string): Promise<ConnectionReport> {
  const connection = await findConnection(ctx.db, name);
  if (!connection) throw new Problem('not_found', { message: `There is no connection "${name}".` });
  await ctx.rails.refresh();
  const isPublic = connection.environment !== 'simulator';
  const [report, address, shared] = await Promise.all([
    askOperator(ctx, name),
    checkOwnAddress(publicUrl(ctx.config), name, isPublic),
    listSharedAccounts(ctx),
  ]);
  if (!ctx.rails.byName(name)) return report;
  return { ...report, checks: [...report.checks, address, ...checkSharing(name, shared)] };
}

/** Every connection in use, by name, with what is wrong with it. Nothing is registered and nothing is changed. */
export async function lookAtConnections(ctx: PaymentsContext): Promise<{ name: string; problems: string[] }[]> {
  await ctx.rails.refresh();
  const connections = (await listConnections(ctx.db)).filter(({ removedAt }) => removedAt === null);
  const shared = await listSharedAccounts(ctx);
  return Promise.all(
    connections.map(async ({ name }) => {
      const { checks } = await askOperator(ctx, name, 'only_look');
      return { name, problems: [...checks, ...checkSharing(name, shared)].flatMap(({ problem }) => problem ?? []) };
    }),
  );
}

async function askOperator(ctx: PaymentsContext, name: string, onlyLook?: 'only_look'): Promise<ConnectionReport> {
  const rail = ctx.rails.byName(name);
  if (!rail) {
    const problem =
      `"${name}" cannot be opened: its rail is not part of this version, it belongs to the other mode, ` +
      'or its secrets do not open.';
    return { checks: [{ name: 'connection', problem }], balances: [] };
  }
  const [checks, { check, balances }] = await Promise.all([checkRail(rail, onlyLook), checkBalance(rail)]);
  return { checks: [...checks, ...(check ? [check] : [])], balances };
}

async function checkRail(rail: Rail, onlyLook: 'only_look' | undefined): Promise<ConnectionCheck[]> {
  try {
    return await rail.check(onlyLook);
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

function checkSharing(name: string, shared: readonly SharedAccount[]): ConnectionCheck[] {
  return shared
    .filter(({ connections }) => connections.includes(name))
    .map(({ title, use, connections }) => {
      const others = connections.filter((each) => each !== name).map((each) => `"${each}"`);
      if (use === 'payouts')
        return {
          name: `pays out from the same account as ${others.join(' and ')}, whose float it sees too`,
          problem: null,
        };
      const problem =
        `${others.join(' and ')} ${others.length > 1 ? 'have' : 'has'} the same account: ${title} sends its reports to one of ` +
        'them only, and the other misses them. Pause one of them, and remove it when its transactions have ended.';
      return { name: 'an account of its own', problem };
    });
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
