// Commands that act for an account on the database, as a person does in the console. What they order is carried out by
// the workers of the gateway that runs on it.

import { type Actor, COMMAND_LINE } from '../holders/audit.ts';
import { findHolder, type Holder, listHolders } from '../holders/holders.ts';
import { findByClientId } from '../holders/integrations.ts';
import { findMemberByEmail, roleAt } from '../holders/members.ts';
import { runningServer } from '../open-context.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { Context } from '../platform/context.ts';
import { findClientId } from './remote.ts';
import { CommandError, EXIT, parseId, type Terminal, withContext } from './terminal.ts';

export const HOLDER_OPTION = [
  '--holder <id>',
  'the account; default: the one of your credentials, or the only one',
] as const;

/** Sending is left to the workers: the row that the order wrote is due. */
export const NO_ENGINE = { pass: async () => 0 };

/** Opens the gateway for one operation about money. This process sends nothing, neither to operators nor to receivers. */
export function withPayments<T>(terminal: Terminal, work: (ctx: PaymentsContext) => Promise<T>): Promise<T> {
  return withContext(terminal, async (base) => {
    // Loaded only here, so that commands without payments start sooner.
    const { openPayments } = await import('../open-payments.ts');
    const payments = openPayments(base, { sandboxOperatorUrl: () => null, sendCallbacksNow: () => undefined });
    try {
      return await work(payments.ctx);
    } finally {
      await payments.close();
    }
  });
}

/** The account that is meant: the one named, that of the credentials, or the only one there is. */
export async function requireHolder(terminal: Terminal, ctx: Context, named: string | undefined): Promise<Holder> {
  if (named !== undefined) {
    const holder = await findHolder(ctx.db, parseId(named));
    if (!holder) throw new CommandError(`There is no account ${named}.`, EXIT.notFound);
    return holder;
  }
  const clientId = await findClientId(terminal);
  const integration = clientId ? await findByClientId(ctx.db, clientId) : null;
  const own = integration ? await findHolder(ctx.db, integration.holderId) : null;
  if (own) return own;
  const [first, second] = await listHolders(ctx.db, { limit: 2 });
  if (first && !second) return first;
  throw new CommandError('Which account? Name it with --holder; npx simbi holder list shows them.', EXIT.usage);
}

/** Who acts, for the audit log: a person who may move this account's money, or the command line. */
export async function requireActor(ctx: Context, holder: Holder, email: string | undefined): Promise<Actor> {
  if (email === undefined) return COMMAND_LINE;
  const member = await findMemberByEmail(ctx.db, email);
  if (!member) throw new CommandError(`Nobody signs in as ${email}.`, EXIT.notFound);
  const role = await roleAt(ctx.db, member.id, holder.id);
  if (role !== 'owner' && role !== 'finance')
    throw new CommandError(`${member.email} may not move money of ${holder.name}.`, EXIT.auth);
  return { memberId: member.id, name: member.email };
}

/** Tells who will do the work that was just ordered. */
export function sayWhoWorks(terminal: Terminal, ctx: Context, what: string): void {
  if (ctx.config.databaseUrl) terminal.say(`${what} by the workers of the gateway on this database.`);
  else if (runningServer(ctx.config)) terminal.say(`${what} by the running gateway.`);
  else terminal.say(`No gateway runs on this data. ${what} when it starts: npm start`);
}
