// The settings of an account, in one place: its name and time zone, the language, receipts by SMS, and the rule of two people.
// Owners change them; everybody else reads them.

import type { FastifyReply } from 'fastify';
import { changeHolder } from '../holders/holders.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { isTimeZone, listTimeZones } from '../platform/time-zones.ts';
import { chips, facts } from '../ui/components.ts';
import { approvalSection } from './approval-settings.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { limitSection } from './limit-settings.ts';
import { LANGUAGE_CODES, LANGUAGES } from './messages.ts';
import { receiptTextCard } from './receipt-text-settings.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER } from './route.ts';

const MAX_NAME_CHARACTERS = 120;
const MAX_ZONE_CHARACTERS = 64;

export const settingsRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/settings', (request) => settingsPage(request)),
  forRoles(OWNER, 'POST', '/settings', change),
];

async function settingsPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.settings,
    lead: t.accountSettings.lead,
    active: 'settings',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${businessCard(request, errors)}
      ${await approvalSection(request)}
      ${await limitSection(request)}
      ${await receiptTextCard(request)}
      ${languageCard(request)}
    `,
  });
}

function businessCard(request: HolderRequest, errors: FieldErrors | undefined): Html {
  const { t, holder, role } = request;
  const shown = facts([
    [t.accountSettings.name, html`<bdi>${holder.name}</bdi>`],
    [t.accountSettings.timeZone, holder.time_zone],
  ]);
  return html`
    <section class="card" aria-labelledby="business-title">
      <h2 id="business-title">${t.accountSettings.business}</h2>
      ${errorBox(request, errors)}
      ${role === 'owner' ? businessForm(request, errors) : html`${shown}<p class="muted">${t.accountSettings.ownerOnly}</p>`}
    </section>
  `;
}

function businessForm(request: HolderRequest, errors: FieldErrors | undefined): Html {
  const { t, holder } = request;
  const zones = [...new Set([...listTimeZones(), holder.time_zone])];
  return form(request, {
    action: '/settings',
    errors,
    fields: [
      {
        name: 'name',
        label: t.accountSettings.name,
        value: errors ? fieldOf(request, 'name') : holder.name,
        hint: t.accountSettings.nameHint,
        required: true,
        attributes: html`maxlength="${MAX_NAME_CHARACTERS}" autocomplete="organization"`,
      },
      {
        type: 'select',
        name: 'time_zone',
        label: t.accountSettings.timeZone,
        value: (errors && fieldOf(request, 'time_zone')) || holder.time_zone,
        hint: t.accountSettings.timeZoneHint,
        choices: zones.map((zone) => [zone, zone.replaceAll('_', ' ')] as const),
      },
    ],
    submit: t.save,
  });
}

function languageCard(request: HolderRequest): Html {
  const { t, language } = request;
  return html`
    <section class="card" aria-labelledby="language-title">
      <h2 id="language-title">${t.accountSettings.language}</h2>
      <p class="muted">${t.accountSettings.languageText}</p>
      ${chips(
        t.accountSettings.language,
        LANGUAGE_CODES.map((code) => ({
          label: LANGUAGES[code].name,
          href: `/console/settings?lang=${code}`,
          current: code === language,
        })),
      )}
    </section>
  `;
}

async function change(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, actor, holder } = request;
  const name = fieldOf(request, 'name', MAX_NAME_CHARACTERS);
  const timeZone = fieldOf(request, 'time_zone', MAX_ZONE_CHARACTERS);
  const errors: FieldErrors = {};
  if (name === '') errors.name = [t.fieldRequired];
  if (!isTimeZone(timeZone)) errors.time_zone = [t.accountSettings.timeZoneInvalid];
  if (Object.keys(errors).length > 0) return settingsPage(request, errors);
  await changeHolder(ctx, actor, holder.id, { name, timeZone });
  return redirect(request, '/console/settings', 'saved');
}
