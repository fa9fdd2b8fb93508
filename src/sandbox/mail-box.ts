// The mail box of the sandbox: a mail server on loopback that keeps what the gateway sends, so that invitations, password
// resets and summaries can be read without a mail server of one's own. Every process of the sandbox has one; all keep
// their mails in the same table.

import { createServer } from 'node:net';
import type { SMTPServer } from 'smtp-server';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { once } from '../platform/memoize.ts';
import { readMail } from './mail-text.ts';

const KEPT_MAILS = 200;
const MAX_MAIL_BYTES = 256 * 1024;

/** The sender of the sandbox's mails. */
export const MAIL_BOX_SENDER = 'simbi@sandbox.test';

export type CaughtMail = { id: bigint; to_address: string; subject: string; body: string; received_at: Date };

export interface MailBox {
  /** For SMTP_URL. */
  readonly url: string;
  /** Until this is called mails are refused for now, and sent again later. */
  keepIn(ctx: Context): void;
  close(): Promise<void>;
}

export async function openMailBox(): Promise<MailBox> {
  let ctx: Context | null = null;
  // Many a sandbox sends no mail: what receives them is loaded with the first.
  const receiver = once(() => createReceiver((to, source) => keep(ctx, to, source)));
  const server = createServer((socket) => {
    // A client that breaks off is its own fault; without a listener it would end the process.
    socket.on('error', () => undefined);
    receiver().then(
      (smtp) => smtp.server.emit('connection', socket),
      (error: unknown) => {
        ctx?.log.error({ err: error }, 'the mail box takes no mails');
        socket.destroy();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    // It stays: an error after the start must not end the process either.
    server.on('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    url: `smtp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    keepIn(opened) {
      ctx = opened;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

/** It listens nowhere: it is handed its connections. */
async function createReceiver(take: (to: string, source: string) => Promise<void>): Promise<SMTPServer> {
  const { SMTPServer } = await import('smtp-server');
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    size: MAX_MAIL_BYTES,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address).join(', ');
        take(to, Buffer.concat(chunks).toString('utf8')).then(() => done(), done);
      });
    },
  });
  server.on('error', () => undefined);
  return server;
}

async function keep(ctx: Context | null, to: string, source: string): Promise<void> {
  if (!ctx) throw new Error('the mail box is not open yet');
  const { subject, body } = readMail(source);
  await ctx.db.query('insert into sandbox_mails (to_address, subject, body, received_at) values ($1, $2, $3, $4)', [
    to,
    subject,
    body,
    ctx.clock.now(),
  ]);
  await ctx.db.query('delete from sandbox_mails where id <= (select max(id) - $1 from sandbox_mails)', [KEPT_MAILS]);
}

/** The newest mails first. */
export function listMails(reader: Reader): Promise<CaughtMail[]> {
  return reader.query<CaughtMail>(
    'select id, to_address, subject, body, received_at from sandbox_mails order by id desc limit $1',
    [KEPT_MAILS],
  );
}

export async function findMail(reader: Reader, id: bigint): Promise<CaughtMail | null> {
  const [mail] = await reader.query<CaughtMail>(
    'select id, to_address, subject, body, received_at from sandbox_mails where id = $1',
    [id],
  );
  return mail ?? null;
}
