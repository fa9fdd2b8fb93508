// Decisions about breaks, by two people: one proposes the same for many breaks at once, with a reason, and another one approves. Then
// each break is done in a transaction of its own, which also writes its result: what was broken off goes on where it stopped, and
// nothing happens twice. Money moves through the functions that statements and callbacks use.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { mayPass } from '../payments/quarantine.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createUuid } from '../platform/ids.ts';
import { type Break, readBreaks, resolveBreak } from './breaks.ts';
import {
  applyEffect,
  effectsOfBreaks,
  LOOKED_AT_ONE_BY_ONE,
  type PlannedEffect,
  refuseForeignStatement,
} from './effects.ts';
import { compareBreaks } from './matching.ts';

/** As the table limits it. */
export const MAX_PROPOSED_BREAKS = 200;
export const MAX_PROPOSAL_REASON = 500;
const MIN_REASON = 3;

/** `outcome` and `suspense` move money; the others only say why a break needs no more work. */
export const BREAK_ACTIONS = ['outcome', 'suspense', 'fee', 'other_day', 'explain'] as const;
export type BreakAction = (typeof BREAK_ACTIONS)[number];
type BreakResult = 'applied' | 'resolved' | 'unchanged' | 'gone' | 'rejected';

export type BreakProposal = {
  id: string;
  action: BreakAction;
  reason: string;
  breaks: number;
  status: 'proposed' | 'approved' | 'rejected';
  proposed_by: string;
  proposed_by_member: bigint;
  proposed_at: Date;
  decided_by: string | null;
  decided_at: Date | null;
  /** How many of its breaks have no result yet. */
  waiting: number;
};

export type ProposedBreak = { break_id: string; result: BreakResult | null };

/** A person of the gateway. */
export type BreakDecider = Actor & { memberId: bigint };

/** What can be decided about each of these breaks; only open ones have something. */
export async function actionsOf(reader: Reader, breaks: readonly Break[]): Promise<Map<string, BreakAction[]>> {
  const open = breaks.filter(({ status }) => status === 'open');
  const effects = await plannedEffects(reader, open);
  return new Map(
    open.map((each) => {
      const effect = effects.get(each.id)?.effect;
      const actions: (BreakAction | false)[] = [
        (effect === 'settle' || effect === 'reverse') && 'outcome',
        effect === 'suspense' && 'suspense',
        each.kind === 'fee' && 'fee',
        each.kind === 'other_day' && 'other_day',
        'explain',
      ];
      return [each.id, actions.filter((action) => action !== false)];
    }),
  );
}

async function plannedEffects(reader: Reader, breaks: readonly Break[]): Promise<Map<string, PlannedEffect>> {
  const all = new Map<string, PlannedEffect>();
  for (const [connection, own] of Map.groupBy(breaks, (each) => each.connection))
    for (const [id, effect] of await effectsOfBreaks(reader, connection, own)) all.set(id, effect);
  return all;
}

export type ProposalRequest = { action: BreakAction; reason: string; breakIds: readonly string[] };

/** Proposes the same for each of these breaks. Another person must approve it before anything happens. */
export async function proposeForBreaks(
  ctx: PaymentsContext,
  actor: BreakDecider,
  { action, reason, breakIds }: ProposalRequest,
): Promise<string> {
  const why = reason.trim();
  if (why.length < MIN_REASON || why.length > MAX_PROPOSAL_REASON)
    throw new Problem('invalid_params', { errors: { reason: ['Say in a few words why.'] } });
  const breaks = await readBreaks(ctx.db, [...new Set(breakIds)]);
  const possible = await actionsOf(ctx.db, breaks);
  const wanted = breaks.filter(({ id }) => possible.get(id)?.includes(action));
  if (wanted.length === 0 || wanted.length > MAX_PROPOSED_BREAKS)
    throw new Problem('invalid_params', {
      message: `This needs 1 to ${MAX_PROPOSED_BREAKS} open breaks that it fits.`,
    });
  if (movesMoney(action)) await refuseForeign(ctx.db, wanted);
  const at = ctx.clock.now();
  const id = createUuid(at.getTime());
  await ctx.db.transaction(async (tx) => {
    await insertProposal(tx, { id, action, reason: why, actor, breaks: wanted, at });
    await audit(tx, actor, 'breaks.proposed', { id, action, reason: why }, wanted, at);
  });
  return id;
}

const movesMoney = (action: BreakAction) => action === 'outcome' || action === 'suspense';

/** On a quiet day one unknown payment is most of a statement: a few that two people have looked at are not judged by their share. */
async function refuseForeign(reader: Reader, breaks: readonly Break[]): Promise<void> {
  if (breaks.length <= LOOKED_AT_ONE_BY_ONE) return;
  for (const [connection, own] of Map.groupBy(breaks, (each) => each.connection))
    await refuseForeignStatement(reader, connection, own);
}

type NewProposal = {
  id: string;
  action: BreakAction;
  reason: string;
  actor: BreakDecider;
  breaks: readonly Break[];
  at: Date;
};

async function insertProposal(tx: Tx, { id, action, reason, actor, breaks, at }: NewProposal): Promise<void> {
  await tx.query(
    `insert into break_proposals (id, action, reason, breaks, proposed_by, proposed_by_member, proposed_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [id, action, reason, breaks.length, actor.name, actor.memberId, at],
  );
  try {
    await tx.query(
      'insert into break_proposal_items (proposal_id, break_id) select $1, break_id from unnest($2::uuid[]) as break_id order by 2',
      [id, breaks.map((each) => each.id)],
    );
  } catch (error) {
    if (violatedConstraint(error) !== 'break_proposed_once') throw error;
    throw new Problem('invalid_params', { message: 'One of these breaks waits in another proposal already.' });
  }
}

/** Approves a proposal and carries it out. Approved before by another request: goes on with what has no result yet. */
export async function approveProposal(ctx: PaymentsContext, actor: BreakDecider, id: string): Promise<void> {
  const proposal = await requireProposal(ctx.db, id);
  const breaks = await breaksOf(ctx.db, proposal);
  if (proposal.status === 'proposed') {
    if (movesMoney(proposal.action)) await refuseForeign(ctx.db, breaks);
    const at = ctx.clock.now();
    await ctx.db.transaction(async (tx) => {
      await decide(tx, actor, proposal, 'approved', at);
      await audit(tx, actor, 'breaks.approved', proposal, breaks, at);
    });
  } else if (proposal.status === 'rejected' || proposal.proposed_by_member === actor.memberId)
    throw new Problem('decision_overtaken');
  await carryOut(ctx, actor, await requireProposal(ctx.db, id), breaks);
}

/** Nothing is decided; the person who proposed it withdraws it. */
export async function rejectProposal(ctx: PaymentsContext, actor: BreakDecider, id: string): Promise<void> {
  const proposal = await requireProposal(ctx.db, id);
  const breaks = await breaksOf(ctx.db, proposal);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await decide(tx, actor, proposal, 'rejected', at);
    await tx.query(
      `update break_proposal_items set result = 'rejected', done_at = $2 where proposal_id = $1 and result is null`,
      [id, at],
    );
    await audit(tx, actor, 'breaks.rejected', proposal, breaks, at);
  });
}

async function decide(
  tx: Tx,
  actor: BreakDecider,
  { id }: BreakProposal,
  status: 'approved' | 'rejected',
  at: Date,
): Promise<void> {
  try {
    const rows = await tx.query(
      `update break_proposals set status = $2, decided_by = $3, decided_by_member = $4, decided_at = $5
       where id = $1 and status = 'proposed' returning id`,
      [id, status, actor.name, actor.memberId, at],
    );
    if (rows.length === 0) throw new Problem('decision_overtaken');
  } catch (error) {
    if (violatedConstraint(error) !== 'break_proposal_by_two_people') throw error;
    throw new Problem('forbidden', {
      message: 'It must be approved by somebody other than the person who proposed it.',
    });
  }
}

async function carryOut(
  ctx: PaymentsContext,
  actor: BreakDecider,
  proposal: BreakProposal,
  breaks: readonly Break[],
): Promise<void> {
  const isMoney = movesMoney(proposal.action);
  const effects = isMoney ? await plannedEffects(ctx.db, breaks) : new Map<string, PlannedEffect>();
  const done = new Set(
    (await listProposedBreaks(ctx.db, proposal.id)).flatMap((each) => (each.result === null ? [] : each.break_id)),
  );
  for (const each of breaks.filter(({ id }) => !done.has(id))) {
    const effect = effects.get(each.id) ?? null;
    const events = await doOne(ctx, actor, proposal, each, effect).catch(async (error: unknown) => {
      if (mayPass(error)) throw error;
      ctx.log.warn({ err: error, break: each.id }, 'a decision about a break could not be carried out');
      await ctx.db.transaction((tx) => writeResult(tx, proposal, each, 'unchanged', ctx.clock.now()));
      return [];
    });
    ctx.sendCallbacksNow(events);
  }
  // What a line did is seen when its payment is compared again: the break ends, or becomes that of another day.
  if (isMoney)
    for (const [connection, own] of Map.groupBy(breaks, (each) => each.connection))
      await compareBreaks(ctx, connection, own);
}

type EffectEvents = Awaited<ReturnType<typeof applyEffect>>['events'];

/** One break and its result, in one transaction. */
function doOne(
  ctx: PaymentsContext,
  actor: BreakDecider,
  proposal: BreakProposal,
  each: Break,
  effect: PlannedEffect | null,
): Promise<EffectEvents> {
  return ctx.db.transaction(async (tx) => {
    const at = ctx.clock.now();
    if (!(await lockItem(tx, proposal, each))) return [];
    if (movesMoney(proposal.action)) {
      if (effect === null) {
        await writeResult(tx, proposal, each, 'gone', at);
        return [];
      }
      const { changed, events } = await applyEffect(tx, ctx, actor, effect);
      await writeResult(tx, proposal, each, changed ? 'applied' : 'unchanged', at);
      return events;
    }
    const [now] = await readBreaks(tx, [each.id]);
    const people = `${proposal.proposed_by}, ${proposal.decided_by ?? actor.name}`;
    if (now?.status === 'open') await resolveBreak(ctx, tx, each.id, people, proposal.reason);
    await writeResult(tx, proposal, each, now?.status === 'open' ? 'resolved' : 'gone', at);
    return [];
  });
}

/** False: somebody else has done it meanwhile. */
async function lockItem(tx: Tx, { id }: BreakProposal, each: Break): Promise<boolean> {
  const rows = await tx.query(
    'select from break_proposal_items where proposal_id = $1 and break_id = $2 and result is null for update',
    [id, each.id],
  );
  return rows.length > 0;
}

async function writeResult(tx: Tx, { id }: BreakProposal, each: Break, result: BreakResult, at: Date): Promise<void> {
  await tx.query(
    'update break_proposal_items set result = $3, done_at = $4 where proposal_id = $1 and break_id = $2 and result is null',
    [id, each.id, result, at],
  );
}

const PROPOSAL_COLUMNS = `id, action, reason, breaks, status, proposed_by, proposed_by_member, proposed_at, decided_by, decided_at,
  (select count(*)::int from break_proposal_items i where i.proposal_id = p.id and i.result is null) as waiting`;

async function requireProposal(reader: Reader, id: string): Promise<BreakProposal> {
  const proposal = await findProposal(reader, id);
  if (!proposal) throw new Problem('not_found', { message: 'There is no such proposal.' });
  return proposal;
}

export async function findProposal(reader: Reader, id: string): Promise<BreakProposal | null> {
  const [row] = await reader.query<BreakProposal>(`select ${PROPOSAL_COLUMNS} from break_proposals p where id = $1`, [
    id,
  ]);
  return row ?? null;
}

/** Newest first, page by page. `waiting`: only those that a second person must approve, or whose work was broken off. */
export function listProposals(
  reader: Reader,
  { before, limit, waiting }: { before: string | null; limit: number; waiting?: boolean },
): Promise<BreakProposal[]> {
  return reader.query<BreakProposal>(
    `select ${PROPOSAL_COLUMNS} from break_proposals p
     where ($1::uuid is null or id < $1)
       and (not $3 or exists (select from break_proposal_items i where i.proposal_id = p.id and i.result is null))
     order by id desc limit $2`,
    [before, limit, waiting ?? false],
  );
}

/** The breaks of a proposal with their results, oldest first. */
export function listProposedBreaks(reader: Reader, proposalId: string): Promise<ProposedBreak[]> {
  return reader.query<ProposedBreak>(
    'select break_id, result from break_proposal_items where proposal_id = $1 order by break_id',
    [proposalId],
  );
}

/** The proposals that a break was in, newest first. */
export function proposalsOfBreak(reader: Reader, breakId: string): Promise<BreakProposal[]> {
  return reader.query<BreakProposal>(
    `select ${PROPOSAL_COLUMNS} from break_proposals p
     where id in (select proposal_id from break_proposal_items where break_id = $1) order by id desc limit 20`,
    [breakId],
  );
}

/** Those of some breaks that wait in a proposal, with it. */
export async function waitingProposals(reader: Reader, breakIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await reader.query<{ break_id: string; proposal_id: string }>(
    'select break_id, proposal_id from break_proposal_items where break_id = any ($1::uuid[]) and result is null',
    [breakIds],
  );
  return new Map(rows.map((row) => [row.break_id, row.proposal_id]));
}

async function breaksOf(reader: Reader, { id }: BreakProposal): Promise<Break[]> {
  return readBreaks(
    reader,
    (await listProposedBreaks(reader, id)).map((each) => each.break_id),
  );
}

function audit(
  tx: Tx,
  actor: Actor,
  action: 'breaks.proposed' | 'breaks.approved' | 'breaks.rejected',
  proposal: Pick<BreakProposal, 'id' | 'action' | 'reason'>,
  breaks: readonly Break[],
  at: Date,
): Promise<void> {
  const subject = [...new Set(breaks.map(({ connection }) => connection))].sort().join(', ').slice(0, 200);
  const details = { breaks: breaks.length, decision: proposal.action, reason: proposal.reason, proposal: proposal.id };
  return recordAudit(tx, { holderId: null, actor, action, subject, details }, at);
}
