// Handing mails over to the mail server of the settings. Text only: nothing in them is loaded, tracked or executed.

import { isLoopback } from './addresses.ts';
import { type Config, shownBrand } from './config.ts';
import { isEmail } from './email.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Between two answers of the mail server. */
const SOCKET_TIMEOUT_MS = 20_000;
const MAX_SUBJECT_CHARACTERS = 200;
const MAX_TEXT_CHARACTERS = 20_000;

export type Mail = { to: string; subject: string; text: string };

export interface Mailer {
  /** Resolves when the mail server has taken the mail. `id` makes its Message-ID: the same mail sent twice can be recognised. */
  send(mail: Mail, id: string): Promise<void>;
}

/** The mail server said that it never takes this mail. Everything else may work later. */
export class MailRefusedError extends Error {
  override readonly name = 'MailRefusedError';
}

export function createMailer(config: Pick<Config, 'smtpUrl' | 'mailFrom' | 'mode' | 'brandName'>): Mailer {
  const options = {
    ...serverOf(config),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    // A text is sent as it is, never read from a file or an address that it names.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const domain = config.mailFrom.split('@')[1] ?? 'localhost';
  return {
    async send(mail, id) {
      requirePlainMail(mail);
      // Only where mail is sent: most gateways have no mail server, and every command would load it.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport(options);
      try {
        await transport.sendMail({
          from: { name: shownBrand(config), address: config.mailFrom },
          to: { name: '', address: mail.to },
          subject: mail.subject,
          text: mail.text,
          messageId: `<${id}@${domain}>`,
          // Out-of-office replies to a machine help nobody.
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
      } catch (error) {
        if (isRefusal(error)) throw new MailRefusedError('the mail server refuses the address');
        throw error;
      }
    },
  };
}

/** In live mode a password or a link never leaves this machine in the clear. */
function serverOf({ smtpUrl, mode }: Pick<Config, 'smtpUrl' | 'mode'>) {
  const url = new URL(smtpUrl);
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const user = decodeURIComponent(url.username);
  return {
    host,
    port: Number(url.port || (secure ? 465 : 587)),
    secure,
    requireTLS: !secure && mode === 'live' && host !== 'localhost' && !isLoopback(host),
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
  };
}

/** A line break in an address or a subject would be a header of its own. */
export function requirePlainMail({ to, subject, text }: Mail): void {
  if (!isEmail(to) || hasControlCharacter(to)) throw new Error('a mail has an address that is not one');
  if (subject === '' || subject.length > MAX_SUBJECT_CHARACTERS || hasControlCharacter(subject))
    throw new Error('a mail has a subject that is not one line');
  if (text.length > MAX_TEXT_CHARACTERS) throw new Error('a mail is too long');
}

/** A name in a mail of ours: on one line, and nothing in it that a mail program makes a link of. */
export function nameInMail(name: string): string {
  return name
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .replace(/[:/@.\\]+(?=\S)/g, ' ')
    .trim();
}

function hasControlCharacter(text: string): boolean {
  return /[\p{Cc}\u2028\u2029]/u.test(text);
}

/** A refused recipient or text (5xx). A wrong password of ours is not one: it is corrected in the settings. */
function isRefusal(error: unknown): boolean {
  const { responseCode, command } = error as { responseCode?: number; command?: string };
  return (responseCode ?? 0) >= 500 && (command === 'RCPT TO' || command === 'DATA');
}
