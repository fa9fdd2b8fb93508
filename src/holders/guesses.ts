// Guesses of passwords and codes, counted in the database before they are compared, so that neither a burst nor a second
// process passes the limit. A right guess is given back.
//
// Two counts: by address (the /64 of IPv6), which stops one machine that tries many people; and by person, which stops many
// machines that try one. The second count is also a way to keep somebody out. It therefore ends with its window, at most an
// hour, and never holds for a login link (decision 18).

import { limitKey } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { sha256 } from '../platform/secrets.ts';

const MINUTE = 60;
const HOUR = 3_600;

type Limit = { seconds: number; guesses: number };

/** The first limit of a list that is reached refuses. Codes are also stopped by their few minutes of life. */
const GUESSES_OF_A_PERSON: readonly Limit[] = [
  { seconds: MINUTE, guesses: 10 },
  { seconds: HOUR, guesses: 100 },
];
const GUESSES_OF_AN_ADDRESS: Limit = { seconds: MINUTE, guesses: 10 };
/** Mails that strangers can make us send to one address, and sign-ups for it. */
const MAILS_TO_A_PERSON: readonly Limit[] = [{ seconds: HOUR, guesses: 5 }];

export type GuessKind = 'password' | 'code' | 'recovery_code' | 'passkey' | 'sign_up' | 'mail';

const LIMITS: Record<GuessKind, { person: readonly Limit[]; address: Limit }> = {
  password: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  code: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  recovery_code: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  passkey: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  sign_up: { person: MAILS_TO_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  mail: { person: MAILS_TO_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
};

/** Counts older than this are of no use. */
export const LONGEST_GUESS_WINDOW_MS = HOUR * 1_000;

type Guess = {
  kind: GuessKind;
  /** Whose secret is guessed: an e-mail address or the number of a member. Null: nobody's yet. */
  person: string | null;
  address: string;
};

export type GuessResult =
  | { allowed: true /** Takes the guess out of the counts: it was right. */; giveBack(): Promise<void> }
  | { allowed: false; retryAfterSeconds: number };

type Counted = { key: Buffer; since: Date; guesses: number };

/**
 * Counts the guess. The address is counted first, and persons only while it is within its limit: a stranger cannot write
 * rows without end. A window begins with its first guess.
 */
const COUNT = {
  name: 'count_guess',
  text: `
    with address as (
      insert into guesses as g (key, since, guesses) values ($2, $1, 1)
      on conflict (key) do update set
        guesses = case when g.since <= $1 - $3 * interval '1 second' then 1 else g.guesses + 1 end,
        since = case when g.since <= $1 - $3 * interval '1 second' then $1 else g.since end
      returning g.key, g.since, g.guesses
    ), person as (
      insert into guesses as g (key, since, guesses)
      select w.key, $1, 1 from unnest($5::bytea[]) with ordinality as w (key, place), address a where a.guesses <= $4
      order by w.place
      on conflict (key) do update set
        guesses = case when g.since <= $1 - ($6::int[])[array_position($5::bytea[], g.key)] * interval '1 second'
          then 1 else g.guesses + 1 end,
        since = case when g.since <= $1 - ($6::int[])[array_position($5::bytea[], g.key)] * interval '1 second'
          then $1 else g.since end
      returning g.key, g.since, g.guesses
    )
    select key, since, guesses from address union all select key, since, guesses from person`,
};

const GIVE_BACK = `
  update guesses g set guesses = greatest(g.guesses - 1, 0)
  from unnest($1::bytea[], $2::timestamptz[]) as counted (key, since) where g.key = counted.key and g.since = counted.since`;

/** Counts a guess, and says whether it may be compared. Call `giveBack` when it was right. */
export async function takeGuess(ctx: Context, { kind, person, address }: Guess): Promise<GuessResult> {
  const limits = LIMITS[kind];
  // The database's clock: the windows are the same for every process.
  const at = await ctx.databaseTime.now();
  const ofAddress = { ...limits.address, key: keyOf(kind, 'address', limitKey(address), limits.address) };
  const ofPerson =
    person === null ? [] : limits.person.map((limit) => ({ ...limit, key: keyOf(kind, 'person', person, limit) }));
  const counted = await ctx.db.query<Counted>(COUNT, [
    at,
    ofAddress.key,
    ofAddress.seconds,
    ofAddress.guesses,
    ofPerson.map(({ key }) => key),
    ofPerson.map(({ seconds }) => seconds),
  ]);
  const waits = [ofAddress, ...ofPerson].flatMap((limit) => {
    const count = counted.find(({ key }) => key.equals(limit.key));
    if (!count || count.guesses <= limit.guesses) return [];
    return [Math.ceil((count.since.getTime() - at.getTime()) / 1_000) + limit.seconds];
  });
  if (waits.length > 0) return { allowed: false, retryAfterSeconds: Math.max(1, ...waits) };
  return {
    allowed: true,
    async giveBack() {
      await ctx.db.query(GIVE_BACK, [counted.map(({ key }) => key), counted.map(({ since }) => since)]);
    },
  };
}

/** Hashed: the table holds no e-mail addresses, and its keys have one length, whatever a stranger typed. */
function keyOf(kind: GuessKind, of: 'address' | 'person', subject: string, { seconds }: Limit): Buffer {
  return sha256(`${kind} ${of} ${seconds} ${subject}`);
}
