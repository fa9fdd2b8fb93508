// Claims due deliveries with a lease, a limited number per receiver, and releases leases that are not used.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import { createDueFloor } from '../platform/due-floor.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';
import { LEASE_MS } from './events.ts';

/** Claimed for one receiver before they can be sent, so that it never waits for a claim; and for all receivers in one pass. */
export const CLAIM_PER_RECEIVER = 64;
const CLAIM_IN_ALL = 1_024;
const PROBE_AGAIN_MS = 60_000;
/** Of leases that have ended. */
const floorOf = perProcess(() => createDueFloor());

export type ClaimedRow = {
  event_id: string;
  transaction_id: string;
  holder_id: bigint;
  integration_id: bigint;
  origin: string;
  url: string;
  attempts: number;
  started_at: Date;
  was_due_at: Date;
  probe: boolean;
  failing: boolean;
  /** As it is stored. */
  body: Buffer;
};

/**
 * The next delivery of each receiver (a holder at an origin), as the recursive `heads`: jumps along the index from receiver to receiver and
 * reads one entry of each, so a receiver with a million waiting rows costs as much as one with a single row.
 */
export const RECEIVER_HEADS = `
      (select holder_id, origin, due_at from callback_deliveries where not leased order by holder_id, origin, due_at limit 1)
      union all
      select next.holder_id, next.origin, next.due_at
      from heads, lateral (
        select d.holder_id, d.origin, d.due_at from callback_deliveries d
        where not d.leased and (d.holder_id, d.origin) > (heads.holder_id, heads.origin)
        order by d.holder_id, d.origin, d.due_at limit 1
      ) next`;

// Of each receiver that has something due (or has recovered, or is to be probed) only as many rows are claimed as this process
// can soon send. Holders take turns: `turn` puts the first receiver of each holder before the second of any, so that one with
// many receivers does not fill the claim.
// Claimed rows are locked and found by their place: a join by key reads the whole index when the planner takes the table for empty.
const CLAIM = {
  name: 'claim_callbacks',
  byIndex: true,
  text: `
    with recursive heads as (${RECEIVER_HEADS}), receivers as (
      select h.holder_id, h.origin, h.due_at, r.recovered_at,
             r.origin is not null and r.recovered_at is null as failing,
             r.origin is not null and r.recovered_at is null and h.due_at > $1 as probe,
             case when r.origin is not null and r.recovered_at is null then 1 else $5::int end - coalesce(l.load, 0) as room
      from heads h
      left join callback_receivers r on r.holder_id = h.holder_id and r.origin = h.origin
      left join unnest($7::bigint[], $3::text[], $4::int[]) as l (holder_id, origin, load)
        on l.holder_id = h.holder_id and l.origin = h.origin
      where h.due_at < 'infinity' and (h.due_at <= $1 or r.recovered_at is not null or r.probe_at <= $1)
    ), turns as (
      select *, row_number() over (partition by holder_id order by due_at, origin) as turn from receivers where room > 0
    ), picked as (
      select r.holder_id, d.place, d.due_at, r.origin, r.probe, r.failing
      from (select * from turns order by turn, due_at) r cross join lateral (
        select w.ctid as place, w.due_at from callback_deliveries w
        where w.holder_id = r.holder_id and w.origin = r.origin and not w.leased and w.due_at < 'infinity'
          and (w.due_at <= $1 or r.probe or w.tried_at < r.recovered_at)
        order by w.due_at limit r.room for update skip locked
      ) d
      limit $6
    ), probed as (
      update callback_receivers r set probe_at = $1 + interval '1 minute' from picked p
      where p.probe and r.holder_id = p.holder_id and r.origin = p.origin
    ), claimed as (
      update callback_deliveries d set leased = true, due_at = $2 from picked p
      where d.ctid = p.place
      returning d.event_id, d.transaction_id, d.holder_id, d.integration_id, d.origin, d.url, d.attempts, d.started_at,
                p.due_at as was_due_at, p.probe, p.failing
    )
    select c.event_id, c.transaction_id, c.holder_id, c.integration_id, c.origin, c.url, c.attempts, c.started_at,
           c.was_due_at, c.probe, c.failing, e.body
    from claimed c
    join events e on e.holder_id = c.holder_id and e.transaction_id = c.transaction_id and e.id = c.event_id
    order by c.was_due_at, e.position`,
} as const;

type Load = { holderId: bigint; origin: string; load: number };

/** Claims deliveries for this process, events of one transaction in their order; `loads` is how many it already has for each receiver. */
export function claimDeliveries(ctx: Context, now: Date, loads: Load[]): Promise<ClaimedRow[]> {
  if (ctx.db.isDistributed()) return claimOnServers(ctx, now, loads);
  return ctx.db.query<ClaimedRow>(CLAIM, [
    now,
    new Date(now.getTime() + LEASE_MS),
    loads.map((each) => each.origin),
    loads.map((each) => each.load),
    CLAIM_PER_RECEIVER,
    CLAIM_IN_ALL,
    loads.map((each) => each.holderId),
  ]);
}

type WaitingRow = {
  holder_id: bigint;
  event_id: string;
  origin: string;
  due_at: string;
  probe: boolean;
  failing: boolean;
};
const PICKED = columns<WaitingRow>(2, {
  holder_id: 'bigint',
  event_id: 'uuid',
  due_at: 'timestamptz',
  probe: 'boolean',
  failing: 'boolean',
});
const PROBED = columns<WaitingRow>(2, { holder_id: 'bigint', origin: 'text' });

/**
 * The same where deliveries are on several servers, which no statement can jump along or lock together: each server numbers what is
 * due at its receivers, and a claim is the change of a date that is still the one that was read.
 */
async function claimOnServers(ctx: Context, now: Date, loads: Load[]): Promise<ClaimedRow[]> {
  const waiting = await ctx.db.query<WaitingRow & { place: bigint }>(
    `select holder_id, event_id, origin, due_at::text, probe, failing, place from (
       select d.holder_id, d.event_id, d.origin, d.due_at,
              r.origin is not null and r.recovered_at is null as failing,
              r.origin is not null and r.recovered_at is null and d.due_at > $1 as probe,
              row_number() over (partition by d.holder_id, d.origin order by d.due_at) as place
       from callback_deliveries d
       left join callback_receivers r on r.holder_id = d.holder_id and r.origin = d.origin
       where not d.leased and d.due_at < 'infinity'
         and (d.due_at <= $1 or d.tried_at < r.recovered_at or (r.recovered_at is null and r.probe_at <= $1))
     ) as numbered
     where place <= case when failing then 1 else $2::int end
     order by place, numbered.due_at limit $3`,
    [now, CLAIM_PER_RECEIVER, CLAIM_IN_ALL],
  );
  const load = new Map(loads.map((each) => [`${each.holderId} ${each.origin}`, each.load]));
  const picked = waiting.filter(({ holder_id, origin, failing, place }) => {
    const room = (failing ? 1 : CLAIM_PER_RECEIVER) - (load.get(`${holder_id} ${origin}`) ?? 0);
    return place <= BigInt(room);
  });
  if (picked.length === 0) return [];
  const claimed = await ctx.db.query<Bodiless>(
    `update callback_deliveries d set leased = true, due_at = $1 from ${PICKED.rows}
     where d.holder_id = input.holder_id and d.event_id = input.event_id and d.due_at = input.due_at and not d.leased
     returning d.event_id, d.transaction_id, d.holder_id, d.integration_id, d.origin, d.url, d.attempts, d.started_at,
               input.due_at as was_due_at, input.probe, input.failing`,
    [new Date(now.getTime() + LEASE_MS), ...PICKED.arrays(picked)],
  );
  const probed = picked.filter(({ probe }) => probe);
  if (probed.length > 0)
    await ctx.db.query(
      `update callback_receivers r set probe_at = $1 from ${PROBED.rows}
       where r.holder_id = input.holder_id and r.origin = input.origin`,
      [new Date(now.getTime() + PROBE_AGAIN_MS), ...PROBED.arrays(probed)],
    );
  return await withBodies(ctx, claimed);
}

type Bodiless = Omit<ClaimedRow, 'body'>;
const BODIES = columns<Bodiless>(1, {
  holder_id: 'bigint',
  transaction_id: 'uuid',
  id: ['uuid', (row) => row.event_id],
});

async function withBodies(ctx: Context, claimed: Bodiless[]): Promise<ClaimedRow[]> {
  if (claimed.length === 0) return [];
  const events = await ctx.db.query<{ id: string; body: Buffer; position: bigint }>(
    `select e.id, e.body, e.position from ${BODIES.rows} join events e using (holder_id, transaction_id, id)`,
    BODIES.arrays(claimed),
  );
  const byId = new Map(events.map((event) => [event.id, event]));
  return claimed
    .flatMap((row) => {
      const event = byId.get(row.event_id);
      return event ? [{ row: { ...row, body: event.body }, position: event.position }] : [];
    })
    .sort((a, b) => a.row.was_due_at.getTime() - b.row.was_due_at.getTime() || Number(a.position - b.position))
    .map(({ row }) => row);
}

/** Keys of events of any holders: each id contains its holder. */
const EVENT_KEYS = columns<string>(1, { holder_id: ['bigint', holderOfUuid], event_id: ['uuid', (id) => id] });

/** Ends leases of this process early, so that another process can claim the deliveries at once. */
export async function releaseLeases(ctx: Context, eventIds: string[]): Promise<void> {
  await ctx.db.query(
    `update callback_deliveries d set leased = false, due_at = $3 from ${EVENT_KEYS.rows}
     where d.holder_id = input.holder_id and d.event_id = input.event_id and d.leased`,
    [...EVENT_KEYS.arrays(eventIds), ctx.clock.now()],
  );
}

/** Ends expired leases, and makes receivers without a backlog healthy again. */
export async function tidyDeliveries(ctx: Context, now: Date): Promise<void> {
  const floor = floorOf(ctx);
  const from = floor.from(now);
  await ctx.db.query('update callback_deliveries set leased = false where leased and due_at <= $1 and due_at > $2', [
    now,
    from,
  ]);
  floor.drained(now, from);
  await ctx.db.query(
    `delete from callback_receivers r
     where (r.recovered_at is not null or r.probe_at <= $1) and not exists (
       select from callback_deliveries d
       where d.holder_id = r.holder_id and d.origin = r.origin and not d.leased and d.due_at < 'infinity'
         and (r.recovered_at is null or d.tried_at < r.recovered_at))`,
    [now],
  );
}
