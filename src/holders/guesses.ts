// Guesses of passwords and codes, counted in the database before they are compared, so that neither a burst nor a second
// process passes the limit. A right guess is given back.
//
// Two counts: by address (the /64 of IPv6), which stops one machine that tries many people; and by person, which stops many
// machines that try one. The second count is also a way to keep somebody out. It therefore ends with its window, at most an
// hour, and never holds for a login link (decision 18).

import { limitKey } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { forgetRefusal, noteRefusal } from '../platform/held-back.ts';
import { sha256 } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';

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

/** Enough to correct what was mistyped; too few to try amounts and days. */
const SEARCHES_OF_A_NUMBER: readonly Limit[] = [
  { seconds: MINUTE, guesses: 5 },
  { seconds: HOUR, guesses: 15 },
];

const REPORTS_OF_A_NUMBER: readonly Limit[] = [{ seconds: HOUR, guesses: 5 }];

export type GuessKind =
  | 'password'
  | 'code'
  | 'recovery_code'
  | 'passkey'
  | 'sign_up'
  | 'mail'
  | 'invitation'
  | 'receipt'
  | 'lost_payment'
  | 'payer_report';

const LIMITS: Record<GuessKind, { person: readonly Limit[]; address: Limit }> = {
  password: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  code: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  recovery_code: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  passkey: { person: GUESSES_OF_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  sign_up: { person: MAILS_TO_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  mail: { person: MAILS_TO_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  // Apart from what strangers ask for: they could keep an owner from inviting somebody.
  invitation: { person: MAILS_TO_A_PERSON, address: GUESSES_OF_AN_ADDRESS },
  // Searches for a payment of one number.
  lost_payment: { person: SEARCHES_OF_A_NUMBER, address: { seconds: MINUTE, guesses: 60 } },
  // Each opens a case, which a person reads.
  payer_report: { person: REPORTS_OF_A_NUMBER, address: { seconds: HOUR, guesses: 20 } },
  // Mails of one receipt, or receipts to one mailbox. Many payers share one address of their mobile operator.
  receipt: { person: MAILS_TO_A_PERSON, address: { seconds: MINUTE, guesses: 60 } },
};

/** Counts older than this are of no use. */
export const LONGEST_GUESS_WINDOW_MS = HOUR * 1_000;

type Guess = {
  kind: GuessKind;
  /** Whose secret is guessed: an e-mail address or the number of a member. Null: nobody's yet. */
  person: string | null;
  /** How admins are shown the person, where that is not `person`. */
  shownAs?: string;
  address: string;
};

export type GuessResult =
  | { allowed: true /** Takes the guess out of the counts: it was right. */; giveBack(): Promise<void> }
  | { allowed: false; retryAfterSeconds: number };

type KeyedLimit = Limit & { subject: string; key: Buffer };

type Counted = { key: Buffer; since: Date; guesses: number };

/** Parameters of the count of one limit: its key, the seconds of its window, how many guesses it allows. */
const PARAMETERS_PER_LIMIT = 3;

/**
 * Counts the guess for each limit in turn, and for the next one only while the one before allows it: a stranger who is over
 * the limit of the address can neither write rows without end nor use up the guesses of a person. A window begins with its first
 * guess.
 */
function countStatement(limits: number): { name: string; text: string } {
  const steps = Array.from({ length: limits }, (_, step) => {
    const first = 2 + step * PARAMETERS_PER_LIMIT;
    const source = step === 0 ? '' : ` from count_${step - 1} c where c.guesses <= $${first - 1}::int`;
    const isOver = `g.since <= $1 - $${first + 1}::int * interval '1 second'`;
    return `count_${step} as (
      insert into guesses as g (key, since, guesses) select $${first}::bytea, $1::timestamptz, 1${source}
      on conflict (key) do update set
        guesses = case when ${isOver} then 1 else g.guesses + 1 end, since = case when ${isOver} then $1 else g.since end
      returning g.key, g.since, g.guesses)`;
  });
  const results = steps.map(
    (_, step) => `select key, since, guesses, $${4 + step * PARAMETERS_PER_LIMIT}::int from count_${step}`,
  );
  return { name: `count_guess_${limits}`, text: `with ${steps.join(', ')} ${results.join(' union all ')}` };
}

/** Locks in the order in which they are counted: otherwise two requests could wait for each other. */
const GIVE_BACK = `
  with counted as (select key, since, place from unnest($1::bytea[], $2::timestamptz[]) with ordinality as c (key, since, place)),
  locked as (
    select g.key from guesses g join counted c on c.key = g.key and c.since = g.since order by c.place for update of g)
  update guesses g set guesses = greatest(g.guesses - 1, 0) from locked where g.key = locked.key`;

/** Counts a guess, and says whether it may be compared. Call `giveBack` when it was right. */
export async function takeGuess(ctx: Context, { kind, person, address, shownAs }: Guess): Promise<GuessResult> {
  const limits = LIMITS[kind];
  // The database's clock: the windows are the same for every process.
  const at = await ctx.databaseTime.now();
  const ofPerson = person === null ? [] : limits.person.map((limit) => withKey(limit, kind, 'person', person));
  const all = [withKey(limits.address, kind, 'address', limitKey(address)), ...ofPerson];
  const parameters = all.flatMap(({ key, seconds, guesses }) => [key, seconds, guesses]);
  const counted = await ctx.db.query<Counted>(countStatement(all.length), [at, ...parameters]);
  const waits = all.flatMap((limit) => {
    const count = counted.find(({ key }) => key.equals(limit.key));
    if (!count || count.guesses <= limit.guesses) return [];
    return [Math.ceil((count.since.getTime() - at.getTime()) / 1_000) + limit.seconds];
  });
  if (waits.length > 0) {
    const retryAfterSeconds = Math.max(1, ...waits);
    const until = new Date(at.getTime() + retryAfterSeconds * 1_000);
    for (const limit of all)
      if (counted.some(({ key, guesses }) => key.equals(limit.key) && guesses > limit.guesses))
        noteRefusal(ctx, {
          kind: 'guess',
          key: limit.key.toString('hex'),
          subject: `${kind} ${limit.subject === person ? (shownAs ?? person) : limit.subject}`,
          until,
        });
    return { allowed: false, retryAfterSeconds };
  }
  return {
    allowed: true,
    async giveBack() {
      const inOrder = all.flatMap((limit) => counted.filter(({ key }) => key.equals(limit.key)));
      await ctx.db.query(GIVE_BACK, [inOrder.map(({ key }) => key), inOrder.map(({ since }) => since)]);
    },
  };
}

/** Ends a limit of guesses that admins see, by its key in hexadecimal. Returns false when there is none. */
export function releaseGuesses(ctx: Context, actor: Actor, key: string): Promise<boolean> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const released = await tx.query('delete from guesses where key = $1 returning 1', [Buffer.from(key, 'hex')]);
    await forgetRefusal(tx, 'guess', key);
    if (released.length === 0) return false;
    await recordAudit(
      tx,
      { holderId: null, actor, action: 'limit.released', subject: `guess ${key.slice(0, 16)}` },
      at,
    );
    return true;
  });
}

/** Hashed: the table holds no e-mail addresses, and its keys have one length, whatever a stranger typed. */
function withKey(limit: Limit, kind: GuessKind, of: 'address' | 'person', subject: string): KeyedLimit {
  return { ...limit, subject, key: sha256(`${kind} ${of} ${limit.seconds} ${subject}`) };
}
