// The pages of the sandbox's mail box: the list, and one mail.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html, problemText, sendPage, styleFile } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { breadcrumbs, dataTable, emptyState, facts, who } from '../ui/components.ts';
import { type CaughtMail, findMail, listMails } from './mail-box.ts';
import { sandboxPage } from './sandbox-layout.ts';

const STYLE = styleFile(new URL('./mail-page.css', import.meta.url));
const MAIL_PATH = '/sandbox/mail';
const LEAD = html`Every mail that this sandbox sends. None of them leaves this machine.`;
const LINK = /https?:\/\/[^\s<>"]+/g;

export function mailRoutes(app: HttpServer, ctx: Context): void {
  const config = {
    problemPage: (problem: Problem, _request: FastifyRequest, reply: FastifyReply) =>
      problemText(reply, sandboxPage(ctx.config, { title: 'Mail box', body: html`<p>${problem.message}</p>` })),
  };
  app.get(MAIL_PATH, { config, schema: { hide: true } }, async (request, reply) => {
    const mails = await listMails(ctx.db);
    return sendPage(request, reply, sandboxPage(ctx.config, { title: 'Mail box', lead: LEAD, body: mailList(mails) }));
  });
  app.get(`${MAIL_PATH}/:id`, { config, schema: { hide: true } }, async (request, reply) => {
    const { id } = request.params as { id: string };
    const mail = /^\d{1,18}$/.test(id) ? await findMail(ctx.db, BigInt(id)) : null;
    if (!mail) throw new Problem('not_found');
    return sendPage(
      request,
      reply,
      sandboxPage(ctx.config, { title: mail.subject, body: oneMail(mail), styles: [STYLE] }),
    );
  });
}

function mailList(mails: readonly CaughtMail[]): Html {
  return html`
    ${
      mails.length === 0
        ? emptyState('No mail yet', 'Invite somebody to your team, or ask for a login link.', false, 'mail')
        : dataTable(
            'Mails',
            [
              { label: 'Subject', phone: 'main' },
              { label: 'Time', right: true, phone: 'amount' },
            ],
            mails.map((mail) => [
              who(mail.subject, html`<bdi>${mail.to_address}</bdi>`, { href: `${MAIL_PATH}/${mail.id}` }),
              moment(mail.received_at),
            ]),
          )
    }
  `;
}

function oneMail(mail: CaughtMail): Html {
  return html`
    ${breadcrumbs('Where you are', [['Mail box', MAIL_PATH]], mail.subject)}
    <div class="card">
      ${facts([
        ['To', html`<bdi>${mail.to_address}</bdi>`],
        ['Received', moment(mail.received_at)],
      ])}
      <div class="mail-text">${withLinks(mail.body)}</div>
    </div>
  `;
}

function moment(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 16).replace('T', ' ')} UTC</time>`;
}

/** The text of a mail, in which addresses can be clicked. */
function withLinks(text: string): Html[] {
  const parts: Html[] = [];
  let from = 0;
  for (const match of text.matchAll(LINK)) {
    parts.push(html`${text.slice(from, match.index)}<a href="${match[0]}">${match[0]}</a>`);
    from = match.index + match[0].length;
  }
  return [...parts, html`${text.slice(from)}`];
}
