// What one phone number may be asked for, by all holders and in all processes together: prompts that still wait, prompts in a
// day that were not paid, and wrong tokens in a day. One rule for the API, the hosted page and the console.
//
// One row a number holds its latest prompts and is the lock of the number. A statement that waited for the row counts what
// the owner of the lock wrote, so requests at the same moment count each other, in this process and in others.

import { DAY_MS } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';

const PURGED_PER_PASS = 5_000;
const MAX_LISTED = 200;
/** Stands for "no limit" where the statement needs a number. */
const UNLIMITED = 1_000_000;
/** Numbers of the sandbox that answer by themselves, in the same way each time. Programs use them again and again. */
const SCRIPTED_NUMBER = /0(?:0\d|1[0-2])$/;

type LimitedOrder = { msisdn: string | null; verification: string };

/** Whether a collection puts a prompt, or a token, on somebody's phone that counts. */
export function countsAsPrompt(config: Config, { msisdn, verification }: LimitedOrder): boolean {
  if (msisdn === null || verification === 'instructions') return false;
  if (config.openPromptsPerNumber === 0 && config.promptsPerNumberPerDay === 0) return false;
  return config.mode !== 'sandbox' || !SCRIPTED_NUMBER.test(msisdn);
}

/** The parameters of COUNT_PROMPTS: $4 and $5 of the statement that accepts collections. */
export function promptLimits(config: Config): [number, number] {
  return [config.openPromptsPerNumber || UNLIMITED, config.promptsPerNumberPerDay || UNLIMITED];
}

// For each number, sorted so that two batches cannot deadlock: the prompts of the row that still count, then as many of the new
// ones as fit. A prompt counts for a day unless it was paid, and as open for ten minutes while nobody answered it. The states
// are looked up only when the row is so full that they matter. A prompt that this statement cannot see yet was written a
// moment ago, so it is open.
const OLD_PROMPTS = `
  select p.id, p.holder_id, p.at, p.n,
         p.at > $1 - interval '10 minutes' and coalesce(t.status in ('pending', 'processing'), true) as open
  from unnest(known.prompt_ids, known.prompt_holders, known.prompted_at) with ordinality as p (id, holder_id, at, n)
  left join lateral (
    select t.status from transactions t
    where t.holder_id = p.holder_id and t.id = p.id
      and cardinality(known.prompt_ids) + cardinality(excluded.prompt_ids) > least($4::int, $5::int)
  ) t on true
  where p.at > $1 - interval '1 day' and coalesce(t.status not in ('success', 'reversed'), true)`;

/** `input` are new collections: id, holder_id, msisdn, counted. Returns the prompts of each number that are allowed. */
export const COUNT_PROMPTS = `
  insert into number_limits as known
    (msisdn, prompt_ids, prompt_holders, prompted_at, refused_kind, refused, refused_since, refused_until, seen_at)
  select msisdn, (array_agg(id order by id))[:fits], (array_agg(holder_id order by id))[:fits],
         array_fill($1::timestamptz, array[fits]), case when refused > 0 then 'prompts' end, refused,
         case when refused > 0 then $1 end, case when refused > 0 then $1 + interval '10 minutes' end, $1
  from (
    select *, least(count(*) over number, $4::int, $5::int)::int as fits,
           greatest(count(*) over number - least($4::int, $5::int), 0)::int as refused
    from input where counted and (signature is null or signature in (select signature from spent))
    window number as (partition by msisdn)
  ) asked
  group by msisdn, fits, refused order by msisdn
  on conflict (msisdn) do update set
    (prompt_ids, prompt_holders, prompted_at, refused_kind, refused, refused_since, refused_until, seen_at) = (
      with old as materialized (${OLD_PROMPTS}), room as materialized (
        select greatest(least($5::int - count(*), $4::int - count(*) filter (where open)), 0)::int as places,
               greatest((array_agg(at order by at desc))[$5::int] + interval '1 day',
                        (array_agg(at order by at desc) filter (where open))[$4::int] + interval '10 minutes') as until
        from old
      ), refusal as materialized (
        select cardinality(excluded.prompt_ids) + excluded.refused - least(cardinality(excluded.prompt_ids), places) as more,
               known.refused_kind = 'prompts' and known.refused_until > $1 as goes_on
        from room
      )
      select array(select id from old order by n) || excluded.prompt_ids[:places],
             array(select holder_id from old order by n) || excluded.prompt_holders[:places],
             array(select at from old order by n) || excluded.prompted_at[:places],
             case when more > 0 then 'prompts' else known.refused_kind end,
             case when more = 0 then known.refused when goes_on then known.refused + more else more end,
             case when more = 0 or goes_on then known.refused_since else $1 end,
             case when more = 0 then known.refused_until else coalesce(until, $1 + interval '10 minutes') end,
             $1
      from room, refusal
    )
  returning msisdn, prompt_ids, refused_until`;

/** Takes back prompts that were counted for collections which were not written after all. */
export async function takeBackPrompts(reader: Reader, prompts: { msisdn: string | null; id: string }[]): Promise<void> {
  if (prompts.length === 0) return;
  await reader.query(
    `update number_limits known set (prompt_ids, prompt_holders, prompted_at) = (
       select coalesce(array_agg(p.id order by n), '{}'), coalesce(array_agg(p.holder_id order by n), '{}'),
              coalesce(array_agg(p.at order by n), '{}')
       from unnest(known.prompt_ids, known.prompt_holders, known.prompted_at) with ordinality as p (id, holder_id, at, n)
       where p.id <> all ($2::uuid[]))
     where msisdn in (select msisdn from number_limits where msisdn = any ($1::text[]) order by msisdn for update)`,
    [prompts.map((prompt) => prompt.msisdn), prompts.map((prompt) => prompt.id)],
  );
}

/** The refusal of a collection: Retry-After is when the number may be asked again, if nothing is answered before. */
export function numberLimited(ctx: Context, until: Date): Problem {
  ctx.metrics.limited.inc({ kind: 'number' });
  const seconds = Math.ceil((until.getTime() - ctx.clock.millis()) / 1000);
  return new Problem('number_limited', { retryAfterSeconds: Math.max(seconds, 1) });
}

/**
 * Counts a token before it is judged, so that many at once cannot pass together. Throws when this number had too many wrong
 * ones in a day, in whatever transactions.
 */
export async function takeTokenGuess(tx: Tx, ctx: Context, msisdn: string): Promise<{ giveBack(): Promise<void> }> {
  const limit = ctx.config.wrongTokensPerNumberPerDay;
  if (limit === 0) return { giveBack: async () => undefined };
  const at = ctx.clock.now();
  const [row] = await tx.query<{ wrong_tokens: number; wrong_since: Date }>(
    `insert into number_limits as known (msisdn, wrong_tokens, wrong_since, seen_at) values ($1, 1, $2, $2)
     on conflict (msisdn) do update set seen_at = $2,
       wrong_tokens = case when known.wrong_since > $2 - interval '1 day' then known.wrong_tokens + 1 else 1 end,
       wrong_since = case when known.wrong_since > $2 - interval '1 day' then known.wrong_since else $2 end
     returning wrong_tokens, wrong_since`,
    [msisdn, at],
  );
  if (row && row.wrong_tokens > limit)
    throw new TooManyTokensError(msisdn, new Date(row.wrong_since.getTime() + DAY_MS));
  return {
    async giveBack() {
      await tx.query('update number_limits set wrong_tokens = wrong_tokens - 1 where msisdn = $1', [msisdn]);
    },
  };
}

/** Thrown inside the transaction of a verification; the refusal is noted after it was rolled back. */
export class TooManyTokensError extends Error {
  readonly msisdn: string;
  readonly until: Date;
  constructor(msisdn: string, until: Date) {
    super('too many wrong tokens for this number');
    this.msisdn = msisdn;
    this.until = until;
  }
}

/** Notes a refused token for the page that shows who is held back, and returns the refusal. */
export async function refuseToken(ctx: Context, { msisdn, until }: TooManyTokensError): Promise<Problem> {
  await ctx.db.query(
    `update number_limits set refused_kind = 'tokens',
       refused = case when refused_kind = 'tokens' and refused_until > $2 then refused + 1 else 1 end,
       refused_since = case when refused_kind = 'tokens' and refused_until > $2 then refused_since else $2 end,
       refused_until = $3
     where msisdn = $1`,
    [msisdn, ctx.clock.now(), until],
  );
  return numberLimited(ctx, until);
}

export type LimitedNumber = { msisdn: string; kind: 'prompts' | 'tokens'; refused: number; since: Date; until: Date };

/** Numbers that were refused something since a moment, or still are. */
export async function listLimitedNumbers(reader: Reader, since: Date): Promise<LimitedNumber[]> {
  return reader.query<LimitedNumber>(
    `select msisdn, refused_kind as kind, refused, refused_since as since, refused_until as until from number_limits
     where refused_kind is not null and (refused_since > $1 or refused_until > $1) order by refused_since desc limit $2`,
    [since, MAX_LISTED],
  );
}

/** Forgets numbers of which nothing counts any more. Returns how many. */
export async function purgeNumberLimits(ctx: Context): Promise<number> {
  const now = await ctx.databaseTime.now();
  const rows = await ctx.db.query(
    'delete from number_limits where msisdn in (select msisdn from number_limits where seen_at < $1 limit $2) returning 1',
    [new Date(now.getTime() - DAY_MS), PURGED_PER_PASS],
  );
  return rows.length;
}
