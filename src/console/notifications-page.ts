// What a member wants to hear about by mail, for the account that is open.

import type { FastifyReply } from 'fastify';
import { mailIsConfigured } from '../holders/mail-queue.ts';
import { html } from '../platform/html.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { NOTIFICATION_KINDS } from './notification-facts.ts';
import { readChoices, saveChoice } from './notifications.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

export const notificationRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/notifications', choicePage),
  forRoles(EVERYONE, 'POST', '/notifications', save),
];

async function choicePage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder, role, session } = request;
  const [chosen] = await readChoices(ctx.db, holder.id, [{ id: session.member.id, role }]);
  return renderPage(request, {
    title: t.notifications.title,
    lead: t.notifications.lead(session.member.email, holder.name),
    active: 'notifications',
    body: html`
      ${!mailIsConfigured(ctx) && html`<p class="box warning">${t.notifications.noMail}</p>`}
      <div class="card">
        ${form(request, {
          action: '/notifications',
          fields: NOTIFICATION_KINDS.map((kind) => ({
            type: 'checkbox' as const,
            name: kind,
            label: t.notifications.kinds[kind],
            checked: chosen?.choice.kinds.includes(kind) ?? false,
          })),
          submit: t.save,
        })}
      </div>
    `,
  });
}

async function save(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, session, language } = request;
  const kinds = NOTIFICATION_KINDS.filter((kind) => fieldOf(request, kind) === 'yes');
  await saveChoice(ctx, holder.id, session.member.id, { kinds, language });
  return redirect(request, '/console/notifications', 'saved');
}
