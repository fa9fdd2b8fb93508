// Everybody who is held back, from all limits: what processes refused, and callback receivers that fail.

import { listHeldBackReceivers } from '../callbacks/endpoints.ts';
import type { GuessKind } from '../holders/guesses.ts';
import { holderNames } from '../holders/holders.ts';
import { memberEmails } from '../holders/members.ts';
import type { Context } from '../platform/context.ts';
import { type LimitKind, listHeldBack } from '../platform/held-back.ts';

const SECOND_STEPS = ['code', 'recovery_code', 'passkey'];

export type HeldBackEntry = {
  kind: LimitKind | 'receiver';
  /** What was guessed, where the limit is one of guesses. */
  guess: GuessKind | null;
  /** Names the limit where it can be released: a limit of guesses. */
  key: string | null;
  subject: string;
  /** Requests refused; of a receiver: callbacks that wait. */
  count: number;
  since: Date;
  until: Date;
};

/** Now or in the last hour; the latest first. */
export async function readHeldBack(ctx: Context): Promise<HeldBackEntry[]> {
  const [refusals, receivers] = await Promise.all([
    listHeldBack(ctx.db, ctx.clock.now()),
    listHeldBackReceivers(ctx.db),
  ]);
  const ofHolders = refusals.filter((each) => each.kind === 'holder').map((each) => BigInt(each.key));
  const guesses = new Map(refusals.filter(({ kind }) => kind === 'guess').map((each) => [each.key, readGuess(each)]));
  const ofMembers = [...guesses.values()].flatMap(({ memberId }) => memberId ?? []);
  const [names, emails] = await Promise.all([
    holderNames(ctx.db, [...ofHolders, ...receivers.map((each) => each.holderId)]),
    memberEmails(ctx.db, ofMembers),
  ]);
  const entries = refusals.map(({ kind, key, subject, refused, since, until }): HeldBackEntry => {
    const counted = { kind, count: refused, since, until };
    const guess = guesses.get(key);
    if (kind === 'guess' && guess)
      return { ...counted, key, guess: guess.kind, subject: emails.get(guess.memberId ?? 0n) ?? guess.who };
    const name = kind === 'holder' ? names.get(BigInt(key)) : undefined;
    return { ...counted, key: null, guess: null, subject: name ?? subject };
  });
  const failing = receivers.map(
    ({ holderId, origin, since, probeAt, waiting }): HeldBackEntry => ({
      kind: 'receiver',
      guess: null,
      key: null,
      subject: `${names.get(holderId) ?? holderId} – ${origin}`,
      count: waiting,
      since,
      until: probeAt,
    }),
  );
  return [...entries, ...failing].toSorted((left, right) => right.since.getTime() - left.since.getTime());
}

/** What `holders/guesses.ts` wrote: the kind of guess and who made it. A second step knows its person by a number only. */
function readGuess({ subject }: { subject: string }): { kind: GuessKind; who: string; memberId: bigint | null } {
  const [kind = '', ...rest] = subject.split(' ');
  const who = rest.join(' ');
  const isNumber = SECOND_STEPS.includes(kind) && /^\d{1,18}$/.test(who);
  return { kind: kind as GuessKind, who, memberId: isNumber ? BigInt(who) : null };
}
