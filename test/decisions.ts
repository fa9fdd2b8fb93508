// Two people for a test, who decide what no operator answers any more.

import { randomUUID } from 'node:crypto';
import { insertMember } from '../src/holders/members.ts';
import { listCasesOf } from '../src/payments/cases.ts';
import type { PaymentsContext } from '../src/payments/context.ts';
import { type DecisionAction, listDecisions } from '../src/payments/decision-rows.ts';
import { approveDecision, type Decider, proposeDecision } from '../src/payments/decisions.ts';
import type { PaymentEngine } from '../src/payments/engine.ts';
import type { CaseKind } from '../src/payments/states.ts';
import type { Context } from '../src/platform/context.ts';
import { Problem } from '../src/platform/errors.ts';
import { publicId } from '../src/platform/ids.ts';

export type TwoPeople = { first: Decider; second: Decider };

/** Two admins. */
export async function addTwoPeople(ctx: Pick<Context, 'db' | 'clock'>): Promise<TwoPeople> {
  const person = async (): Promise<Decider> => {
    const email = `${randomUUID()}@example.org`;
    const member = await ctx.db.transaction((tx) => insertMember(tx, { email, name: email }, ctx.clock.now()));
    return { isAdmin: true, holderId: null, actor: { memberId: member?.id ?? 0n, name: email } };
  };
  return { first: await person(), second: await person() };
}

/** One proposes and the other approves, also what was proposed before. Without such an open case: not found. */
export async function decideByTwo(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'apply' | 'wake'>,
  { first, second }: TwoPeople,
  about: { holder_id: bigint; id: string },
  kind: CaseKind,
  action: DecisionAction,
): Promise<void> {
  const cases = await listCasesOf(ctx.db, about.holder_id, about.id);
  const each = cases.find((candidate) => candidate.kind === kind && candidate.status === 'open');
  if (!each) throw new Problem('not_found');
  const wanted = { action, reason: 'The statement shows it.', reference: 'statement 12, line 4' };
  const proposed = (await listDecisions(ctx.db, each.id)).find(({ status }) => status === 'proposed');
  const decision = proposed ?? (await proposeDecision(ctx, first, each.id, wanted));
  await approveDecision(ctx, engine, second, publicId('dec', decision.id));
}
