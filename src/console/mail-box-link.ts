// The way to the mail box of the sandbox, on pages that tell somebody to look for a mail.

import { type Html, html } from '../platform/html.ts';
import { MAIL_BOX_SENDER } from '../sandbox/mail-box.ts';
import type { ConsoleRequest } from './console-request.ts';

/** Nothing where mails leave the machine. */
export function mailBoxLink({ ctx, t }: Pick<ConsoleRequest, 'ctx' | 't'>): Html | false {
  const isCaught = ctx.config.mode === 'sandbox' && ctx.config.mailFrom === MAIL_BOX_SENDER;
  return isCaught && html`<p class="muted">${t.mails.caught} <a href="/sandbox/mail">${t.mails.box}</a></p>`;
}
