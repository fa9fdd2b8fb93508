// Notifications by mail: what happened at a holder, to each member who wants to hear about it. What was said is stored in the
// transaction that queues the mails, so nothing is said twice, whichever process finds it.

import { listHolders } from '../holders/holders.ts';
import { mailIsConfigured, queueMail } from '../holders/mail-queue.ts';
import { listTeam, type MemberRole, type TeamRow } from '../holders/members.ts';
import { DAY_MS } from '../platform/clock.ts';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { numberLocale } from '../platform/locales.ts';
import { perProcess } from '../platform/memory.ts';
import { type ConsoleLanguage, LANGUAGES } from './messages.ts';
import { findFacts, type NotificationFact, type NotificationKind } from './notification-facts.ts';

/** Holders of one pass. A pass begins where the one before ended. */
const HOLDERS_PER_PASS = 50;
const KEPT_MS = 40 * DAY_MS;

const DEFAULTS: Record<MemberRole, readonly NotificationKind[]> = {
  owner: ['payout_failed', 'case_opened', 'low_float', 'receiver_down'],
  finance: ['payout_failed', 'case_opened', 'low_float'],
  developer: ['receiver_down'],
  viewer: [],
};

export type NotificationChoice = { kinds: readonly NotificationKind[]; language: ConsoleLanguage };

type Chooser = { id: bigint; role: MemberRole };
type ChoiceRow = { member_id: bigint; kinds: NotificationKind[]; language: ConsoleLanguage };

/** What each of these members of a holder chose. Without a choice the role decides. */
export async function readChoices<T extends Chooser>(
  reader: Reader,
  holderId: bigint,
  members: readonly T[],
): Promise<{ member: T; choice: NotificationChoice }[]> {
  const rows = await reader.query<ChoiceRow>(
    'select member_id, kinds, language from notification_choices where holder_id = $1 and member_id = any ($2)',
    [holderId, members.map(({ id }) => id)],
  );
  const chosen = new Map(rows.map(({ member_id, kinds, language }) => [member_id, { kinds, language }]));
  return members.map((member) => ({
    member,
    choice: chosen.get(member.id) ?? { kinds: DEFAULTS[member.role], language: 'en' },
  }));
}

export async function saveChoice(
  ctx: Context,
  holderId: bigint,
  memberId: bigint,
  choice: NotificationChoice,
): Promise<void> {
  await ctx.db.query(
    `insert into notification_choices (holder_id, member_id, kinds, language, updated_at) values ($1, $2, $3, $4, $5)
     on conflict (holder_id, member_id) do update
       set kinds = excluded.kinds, language = excluded.language, updated_at = excluded.updated_at`,
    [holderId, memberId, choice.kinds, choice.language, ctx.clock.now()],
  );
}

type Place = { before: bigint | undefined };
const placeOf = perProcess((): Place => ({ before: undefined }));

/** One pass over some holders. Returns how many mails it queued. */
export async function notifyMembers(ctx: Context): Promise<number> {
  if (!mailIsConfigured(ctx)) return 0;
  const place = placeOf(ctx);
  const holders = await listHolders(ctx.db, { before: place.before, limit: HOLDERS_PER_PASS });
  place.before = holders.length < HOLDERS_PER_PASS ? undefined : holders.at(-1)?.id;
  let mails = 0;
  for (const holder of holders) if (holder.status === 'active') mails += await notifyHolder(ctx, holder);
  if (place.before === undefined) await forgetOld(ctx);
  return mails;
}

type Recipient = { member: TeamRow; choice: NotificationChoice };

async function notifyHolder(ctx: Context, holder: { id: bigint; name: string; time_zone: string }): Promise<number> {
  const recipients = await listRecipients(ctx, holder.id);
  const wanted = new Set(recipients.flatMap(({ choice }) => choice.kinds));
  if (wanted.size === 0) return 0;
  const facts = await findFacts(ctx, holder, wanted);
  if (facts.length === 0) return 0;
  const addressed = await Promise.all(recipients.map(withMessages));
  return ctx.db.transaction(async (tx) => {
    const fresh = await claimFacts(tx, holder.id, facts, ctx.clock.now());
    let mails = 0;
    for (const { member, choice, messages } of addressed)
      for (const kind of choice.kinds) {
        const ofKind = fresh.filter((each) => each.kind === kind);
        if (ofKind.length === 0) continue;
        const url = `${publicUrl(ctx.config)}/console`;
        const mail = messages.notifications.mail({
          kind,
          holder: holder.name,
          lines: ofKind.map((each) => each.line(messages, numberLocale(choice.language))),
          url,
        });
        await queueMail(tx, { to: member.email, ...mail }, ctx.clock.now());
        mails++;
      }
    return mails;
  });
}

async function withMessages(recipient: Recipient) {
  return { ...recipient, messages: await LANGUAGES[recipient.choice.language].load() };
}

/** Members who showed that their address is theirs. In the sandbox everybody: its mails reach nobody. */
async function listRecipients(ctx: Context, holderId: bigint): Promise<Recipient[]> {
  const team = await listTeam(ctx.db, holderId);
  const reachable = team.filter((member) => member.is_proven || ctx.config.mode === 'sandbox');
  return readChoices(ctx.db, holderId, reachable);
}

/** Those that were not reported yet. */
async function claimFacts(
  tx: Tx,
  holderId: bigint,
  facts: readonly NotificationFact[],
  at: Date,
): Promise<NotificationFact[]> {
  const rows = await tx.query<{ kind: string; subject: string }>(
    `insert into notifications_sent (holder_id, kind, subject, sent_at)
     select $1, kind, subject, $4 from unnest($2::text[], $3::text[]) as fresh (kind, subject)
     on conflict do nothing returning kind, subject`,
    [holderId, facts.map(({ kind }) => kind), facts.map(({ subject }) => subject), at],
  );
  return facts.filter((each) => rows.some((row) => row.kind === each.kind && row.subject === each.subject));
}

async function forgetOld(ctx: Context): Promise<void> {
  await ctx.db.query('delete from notifications_sent where sent_at < $1', [new Date(ctx.clock.millis() - KEPT_MS)]);
}
