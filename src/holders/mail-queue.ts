// Mails to send: a row in the transaction of the fact that they report, sent afterwards by a background pass. A mail is
// tried again with a growing pause, and given up after a day.

import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createMailer, type Mail, MailRefusedError, requirePlainMail } from '../platform/mail.ts';
import { perProcess } from '../platform/memory.ts';

const BATCH_MAILS = 4;
/** Longer than the time-outs of a batch together. A process that dies leaves its mails to the others after it. */
const LEASE_MS = 5 * 60_000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = HOUR_MS;
const GIVEN_UP_AFTER_MS = DAY_MS;
export const MAIL_SEAL_PURPOSE = 'mail';

type MailRow = {
  id: bigint;
  to_address: string;
  subject: string;
  text: string | null;
  text_sealed: Buffer | null;
  attempts: number;
  created_at: Date;
};

const mailer = perProcess((ctx: Context) => createMailer(ctx.config));

/** Whether mails are sent at all. Without it nobody queues one, and links are shown instead. */
export function mailIsConfigured({ config }: Pick<Context, 'config'>): boolean {
  return config.smtpUrl !== '';
}

/** Queues a notice. For a mail with a link that signs in, use `queueLinkMail`. */
export async function queueMail(tx: Tx, mail: Mail, at: Date): Promise<void> {
  requirePlainMail(mail);
  await tx.query('insert into mails (to_address, subject, text, created_at, due_at) values ($1, $2, $3, $4, $4)', [
    mail.to,
    mail.subject,
    mail.text,
    at,
  ]);
}

/** Queues a mail with a link. Its text is sealed: links are stored nowhere in the clear. Returns its id. */
export async function queueLinkMail(ctx: Pick<Context, 'vault'>, tx: Tx, mail: Mail, at: Date): Promise<bigint> {
  requirePlainMail(mail);
  const [row] = await tx.query<{ id: bigint }>(
    'insert into mails (to_address, subject, text_sealed, created_at, due_at) values ($1, $2, $3, $4, $4) returning id',
    [mail.to, mail.subject, ctx.vault.seal(mail.text, MAIL_SEAL_PURPOSE), at],
  );
  if (!row) throw new Error('insert returned no mail');
  return row.id;
}

/** Takes a mail back, in the transaction that queued it. */
export async function dropMail(tx: Tx, id: bigint): Promise<void> {
  await tx.query('delete from mails where id = $1', [id]);
}

/** Mails that wait, tried or not. */
export async function countMails(reader: Reader): Promise<number> {
  const [row] = await reader.query<{ mails: number }>('select count(*)::int as mails from mails');
  return row?.mails ?? 0;
}

/** Since when the oldest of them waits. */
export async function oldestMail(reader: Reader): Promise<Date | null> {
  const [row] = await reader.query<{ created_at: Date | null }>('select min(created_at) as created_at from mails');
  return row?.created_at ?? null;
}

/** Sends what is due. Returns how many mails it handled. */
export async function sendMails(ctx: Context): Promise<number> {
  if (!mailIsConfigured(ctx)) return 0;
  const at = await ctx.databaseTime.now();
  const mails = await ctx.db.query<MailRow>(
    `update mails set due_at = $2, attempts = attempts + 1
     where id in (select id from mails where due_at <= $1 order by due_at, id limit ${BATCH_MAILS} for update skip locked)
     returning id, to_address, subject, text, text_sealed, attempts, created_at`,
    [at, new Date(at.getTime() + LEASE_MS)],
  );
  // One after the other: one lease covers them all, and a slow mail server is spared.
  for (const mail of mails) await sendMail(ctx, mail, at);
  return mails.length;
}

async function sendMail(ctx: Context, mail: MailRow, at: Date): Promise<void> {
  try {
    const text = mail.text_sealed ? await ctx.vault.open(mail.text_sealed, MAIL_SEAL_PURPOSE) : (mail.text ?? '');
    await mailer(ctx).send(
      { to: mail.to_address, subject: mail.subject, text },
      `${mail.id}.${mail.created_at.getTime()}`,
    );
  } catch (error) {
    await sendLater(ctx, mail, at, error);
    return;
  }
  await ctx.db.query('delete from mails where id = $1', [mail.id]);
}

async function sendLater(ctx: Context, mail: MailRow, at: Date, error: unknown): Promise<void> {
  // The domain is enough to find what is wrong with a mail server; the log does not name people.
  const facts = {
    mail: String(mail.id),
    domain: mail.to_address.split('@')[1],
    attempts: mail.attempts,
    reason: reasonOf(error),
  };
  const isOver = at.getTime() - mail.created_at.getTime() >= GIVEN_UP_AFTER_MS;
  if (isOver || error instanceof MailRefusedError) {
    await ctx.db.query('delete from mails where id = $1', [mail.id]);
    ctx.log.error(facts, 'a mail was given up');
    return;
  }
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(mail.attempts - 1, 20), LONGEST_PAUSE_MS);
  await ctx.db.query('update mails set due_at = $2 where id = $1', [mail.id, new Date(at.getTime() + pauseMs)]);
  ctx.log.warn(facts, 'a mail was not sent; it is tried again');
}

/** Without what the mail server answered: it may repeat the recipient or our user name. */
function reasonOf(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || 'unknown';
}
