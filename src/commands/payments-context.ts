// For commands that act for a holder directly on the database, like the console. A running gateway does the work that
// they order.

import { DELIVERY_JOB } from '../callbacks/events.ts';
import type { Actor } from '../holders/audit.ts';
import type { Holder } from '../holders/holders.ts';
import { PAYMENTS_JOB, type PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import type { Context } from '../platform/context.ts';
import { runningServer } from '../running-server.ts';
import { findClientId } from './remote.ts';
import { CommandError, EXIT, parseId, type Terminal, withContext } from './terminal.ts';

export const HOLDER_OPTION = [
  '--holder <id>',
  'the holder; default: the one of your credentials, or the only one',
] as const;

/** The engine of a command. It sends nothing: the order is a due row, and the workers hear of it at once. */
export function workersOf(ctx: PaymentsContext): Pick<PaymentEngine, 'wake'> {
  return { wake: () => ctx.tellOthers(PAYMENTS_JOB) };
}

/** Opens the gateway for one operation about money. This process sends nothing, neither to operators nor to receivers. */
export function withPayments<T>(terminal: Terminal, work: (ctx: PaymentsContext) => Promise<T>): Promise<T> {
  return withContext(terminal, async (base) => {
    // Loaded only here, so that commands without payments start sooner.
    const { openPayments } = await import('../open-payments.ts');
    const payments: Awaited<ReturnType<typeof openPayments>> = await openPayments(base, {
      sandboxOperatorUrl: () => null,
      sendCallbacksNow(events) {
        if (events.length > 0) payments.ctx.tellOthers(DELIVERY_JOB);
      },
    });
    try {
      return await work(payments.ctx);
    } finally {
      await payments.close();
    }
  });
}

/** The holder named with --holder, that of the credentials, or the only one. */
export async function requireHolder(terminal: Terminal, ctx: Context, named: string | undefined): Promise<Holder> {
  const [{ findHolder, listHolders }, { findByClientId }] = await Promise.all([
    import('../holders/holders.ts'),
    import('../holders/integrations.ts'),
  ]);
  if (named !== undefined) {
    const holder = await findHolder(ctx.db, parseId(named));
    if (!holder) throw new CommandError(`There is no holder ${named}.`, EXIT.notFound);
    return holder;
  }
  const clientId = await findClientId(terminal);
  const integration = clientId ? await findByClientId(ctx.db, clientId) : null;
  const own = integration ? await findHolder(ctx.db, integration.holderId) : null;
  if (own) return own;
  const [first, second] = await listHolders(ctx.db, { limit: 2 });
  if (first && !second) return first;
  throw new CommandError(
    'There are several holders. Choose one with --holder; npx simbi holder list shows them.',
    EXIT.usage,
  );
}

/** Refuses a currency that no payment method has: it would be stored, and nothing would ever have it. */
export function requireCurrency({ catalog }: PaymentsContext, currency: string): void {
  const known = new Set([...catalog.methods.values()].map((method) => method.currency));
  if (known.has(currency)) return;
  throw new CommandError(
    `No payment method has ${currency}. Choose one of ${[...known].sort().join(', ')}.`,
    EXIT.usage,
  );
}

/** Who acts, for the audit log: a member who may move the holder's money, or the command line. */
export async function requireActor(ctx: Context, holder: Holder, email: string | undefined): Promise<Actor> {
  const [{ COMMAND_LINE }, { findMemberByEmail, roleAt }] = await Promise.all([
    import('../holders/audit.ts'),
    import('../holders/members.ts'),
  ]);
  if (email === undefined) return COMMAND_LINE;
  const member = await findMemberByEmail(ctx.db, email);
  if (!member) throw new CommandError(`No user with the e-mail ${email}.`, EXIT.notFound);
  const role = await roleAt(ctx.db, member.id, holder.id);
  if (role !== 'owner' && role !== 'finance')
    throw new CommandError(`${member.email} is not allowed to move money of ${holder.name}.`, EXIT.auth);
  return { memberId: member.id, name: member.email };
}

/** Says when the payouts that were just ordered are sent. */
export function sayWhenSent(terminal: Terminal, ctx: Context, count: number): void {
  const subject = count === 1 ? 'it' : 'them';
  if (ctx.config.databaseUrl) terminal.say(`The gateway on this database will send ${subject}.`);
  else if (runningServer(ctx.config)) terminal.say(`The running gateway will send ${subject}.`);
  else terminal.say(`No gateway is running. Start one to send ${subject}: npm start`);
}
