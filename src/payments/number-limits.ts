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
import { noteRefusal } from '../platform/held-back.ts';
import { sha256 } from '../platform/secrets.ts';

const PURGED_PER_PASS = 5_000;
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

/** The parameters of countPrompts: $4 and $5 of the statement that accepts collections. */
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

// Where transactions are on several servers their states cannot be looked up here: a prompt counts for its whole time, paid or not.
const OLD_PROMPTS_ON_SERVERS = `
  select p.id, p.holder_id, p.at, p.n, p.at > $1 - interval '10 minutes' as open
  from unnest(known.prompt_ids, known.prompt_holders, known.prompted_at) with ordinality as p (id, holder_id, at, n)
  where p.at > $1 - interval '1 day'`;

/** `input` are new collections: id, holder_id, msisdn, counted. Returns the prompts of each number that are allowed. */
export const countPrompts = (isDistributed: boolean) => `
  insert into number_limits as known (msisdn, prompt_ids, prompt_holders, prompted_at, limited_until, seen_at)
  select msisdn, (array_agg(id order by id))[:least($4::int, $5::int)],
         (array_agg(holder_id order by id))[:least($4::int, $5::int)],
         array_fill($1::timestamptz, array[least(count(*), $4::int, $5::int)::int]), $1 + interval '10 minutes', $1
  from input where counted and (signature is null or signature in (select signature from spent))
  group by msisdn order by msisdn
  on conflict (msisdn) do update set (prompt_ids, prompt_holders, prompted_at, limited_until, seen_at) = (
    with old as materialized (${isDistributed ? OLD_PROMPTS_ON_SERVERS : OLD_PROMPTS}), room as materialized (
      select greatest(least($5::int - count(*), $4::int - count(*) filter (where open)), 0)::int as places,
             greatest((array_agg(at order by at desc))[$5::int] + interval '1 day',
                      (array_agg(at order by at desc) filter (where open))[$4::int] + interval '10 minutes') as until
      from old
    )
    select array(select id from old order by n) || excluded.prompt_ids[:places],
           array(select holder_id from old order by n) || excluded.prompt_holders[:places],
           array(select at from old order by n) || excluded.prompted_at[:places],
           coalesce(until, excluded.limited_until), $1
    from room
  )
  returning msisdn, prompt_ids, limited_until`;

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

export const TOO_MANY_WRONG_TOKENS = 'This phone number has had too many wrong tokens. The token was not checked.';

/** The refusal of a prompt or a token: Retry-After is when the number may be asked again, if nothing is answered before. */
export function numberLimited(ctx: Context, kind: 'prompts' | 'tokens', msisdn: string, until: Date): Problem {
  noteRefusal(ctx, { kind, key: sha256(msisdn).toString('hex'), subject: hideMiddle(msisdn), until });
  const seconds = Math.ceil((until.getTime() - ctx.clock.millis()) / 1000);
  return new Problem('number_limited', {
    ...(kind === 'tokens' && { message: TOO_MANY_WRONG_TOKENS }),
    retryAfterSeconds: Math.max(seconds, 1),
  });
}

/** Enough for an admin to recognise a number that somebody reports, and no more. */
function hideMiddle(msisdn: string): string {
  return `+${msisdn.slice(0, 5)}••••${msisdn.slice(-2)}`;
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
    throw numberLimited(ctx, 'tokens', msisdn, new Date(row.wrong_since.getTime() + DAY_MS));
  return {
    async giveBack() {
      await tx.query('update number_limits set wrong_tokens = wrong_tokens - 1 where msisdn = $1', [msisdn]);
    },
  };
}

/** Takes back a guess whose end is known only after its transaction was committed. */
export async function giveBackTokenGuess(tx: Tx, ctx: Context, msisdn: string): Promise<void> {
  if (ctx.config.wrongTokensPerNumberPerDay === 0) return;
  await tx.query('update number_limits set wrong_tokens = wrong_tokens - 1 where msisdn = $1 and wrong_tokens > 0', [
    msisdn,
  ]);
}

/** Forgets numbers of which nothing counts any more. Returns how many. */
export async function purgeNumberLimits(ctx: Context): Promise<number> {
  const now = await ctx.databaseTime.now();
  const rows = await ctx.db.query(
    // The date is checked again when the row was locked: a request may have counted in it meanwhile.
    `delete from number_limits
     where msisdn in (select msisdn from number_limits where seen_at < $1 limit $2) and seen_at < $1 returning 1`,
    [new Date(now.getTime() - DAY_MS), PURGED_PER_PASS],
  );
  return rows.length;
}
