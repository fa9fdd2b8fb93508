// Payment links: making one with a preview, the list, one link with its QR code, its counter card and its payments.

import type { FastifyReply } from 'fastify';
import { listLinkCountries } from '../catalog/countries.ts';
import { recordAudit } from '../holders/audit.ts';
import { listIntegrations } from '../holders/integrations.ts';
import {
  createLink,
  describeLink,
  disableLink,
  findHolderLink,
  LINK_STATUSES,
  type LinkStatus,
  linkId,
  linkStatus,
  linkUrl,
  linkUuid,
  type PaymentLink,
} from '../links/links.ts';
import { listLinks } from '../links/listing.ts';
import { listTransactions } from '../payments/listing.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { copyLine, dataTable, emptyState, facts, pager, qrPicture, type Tone, tag, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { dangerForm, errorBox, formField, type InputField, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { transactionTable } from './transaction-table.ts';

const PAGE_ROWS = 50;
const PAYMENT_ROWS = 50;
const MAX_LOGO_CHARACTERS = 700_000;
const DEFAULT_COLOUR = '#0b6157';

export const LINK_TONES: Record<LinkStatus, Tone> = {
  active: 'success',
  paid: 'neutral',
  expired: 'warning',
  disabled: 'error',
};

export const consoleLinkRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/links', listPage),
  forRoles(MAKERS, 'GET', '/links/new', (request) => newPage(request)),
  forRoles(MAKERS, 'POST', '/links', create),
  forRoles(EVERYONE, 'GET', '/links/:id', linkPage),
  forRoles(MAKERS, 'POST', '/links/:id/disable', disable),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, role } = request;
  const now = ctx.clock.now();
  const status = LINK_STATUSES.find((each) => each === queryOf(request, 'status')) ?? null;
  const links = await listLinks(ctx.db, request.holder.id, {
    before: linkUuid(queryOf(request, 'after')),
    status,
    limit: PAGE_ROWS + 1,
    now,
  });
  const shown = links.slice(0, PAGE_ROWS);
  const last = shown.at(-1);
  const next =
    links.length > PAGE_ROWS && last
      ? `/console/links?${new URLSearchParams({ ...(status ? { status } : {}), after: linkId(last) }).toString()}`
      : null;
  const create = MAKERS.includes(role) && html`<a class="button" href="/console/links/new">${t.links.create}</a>`;
  return renderPage(request, {
    title: t.menu.links,
    lead: t.links.lead,
    active: 'links',
    ...(create ? { actions: create } : {}),
    body: html`<p>${[null, ...LINK_STATUSES].map((each) => html`<a href="/console/links${each ? html`?status=${each}` : ''}"${each === status && html` aria-current="true"`}>${each ? t.links.states[each] : t.all}</a> `)}</p>${
      shown.length === 0
        ? emptyState(t.links.none, t.links.noneText, create)
        : dataTable(
            t.menu.links,
            [
              { label: t.links.what },
              { label: t.amount, right: true },
              { label: t.state },
              { label: t.links.payments, right: true },
              { label: t.created },
            ],
            shown.map((link) => [
              html`<a href="/console/links/${linkId(link)}"><bdi>${link.item_name ?? link.business_name ?? linkId(link)}</bdi></a><span class="muted"><bdi>${link.item_name ? link.business_name : ''}</bdi></span>`,
              link.amount === null ? t.links.open : money(request, link.amount, link.currency),
              stateTag(request, link),
              String(link.payments_count),
              timeTag(link.created_at),
            ]),
          )
    }${pager(request, next)}`,
  });
}

function stateTag(request: HolderRequest, link: PaymentLink): Html {
  const status = linkStatus(link, request.ctx.clock.now());
  return tag(LINK_TONES[status], request.t.links.states[status]);
}

function newPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const countries = listLinkCountries(ctx.catalog).map(
    (row) => [String(row.countryId), `${row.name} (${row.currency})`] as const,
  );
  const value = (name: string) => fieldOf(request, name, 2_048);
  const text = (name: string, label: string, hint?: string, type?: InputField['type']) =>
    formField({ name, label, hint, type, value: value(name), errors });
  return renderPage(request, {
    title: t.links.create,
    active: 'links',
    ...(errors ? { status: 400 } : {}),
    body: html`${errorBox(request, errors)}<div class="columns"><div class="card">${postForm(
      request,
      '/links',
      html`${text('item_name', t.links.what, t.links.whatHint)}${formField({ name: 'amount', label: t.amount, hint: t.links.amountHint, value: value('amount'), errors, attributes: html`inputmode="decimal"` })}${formField({ type: 'select', name: 'country_id', label: t.country, value: value('country_id'), choices: countries, errors })}${text('business_name', t.links.business, t.links.businessHint)}${text('redirection_url', t.links.redirect, t.links.redirectHint, 'url')}<details><summary>${t.links.more}</summary>${formField({ name: 'expires_on', label: t.links.expires, type: 'date', value: value('expires_on'), errors })}${text('email', t.links.payerEmail, undefined, 'email')}${text('phone', t.links.payerPhone)}${text('callback_url', t.integrations.callbackUrl, undefined, 'url')}${formField({ name: 'accent_colour', label: t.links.colour, type: 'color', value: value('accent_colour') || DEFAULT_COLOUR, errors })}</details>${formField({ type: 'checkbox', name: 'reusable', label: t.links.reusable, checked: value('reusable') === 'yes' })}<div class="field" data-js hidden><label for="f-logo-file">${t.links.logo}</label><span class="muted">${t.links.logoHint}</span><input id="f-logo-file" type="file" accept="image/png,image/jpeg,image/webp,image/gif" data-image="#f-logo"></div><input type="hidden" name="logo" id="f-logo" value="">${errors?.logo && html`<p class="field-error">${errors.logo.join(' ')}</p>`}<button>${t.links.create}</button>`,
      html`data-preview="1"`,
    )}</div><div class="preview" data-js hidden><p class="muted">${t.links.preview}</p><div class="preview-card"><img id="preview-logo" alt="" hidden><p><b data-shows="business_name" data-empty="${holder.name}">${holder.name}</b></p><p class="figure" data-shows="amount" data-empty="${t.links.open}"></p><p class="muted" data-shows="item_name" data-empty="–"></p></div></div></div>`,
  });
}

async function create(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, actor } = request;
  const [integration] = (await listIntegrations(ctx.db, holder.id)).filter((each) => each.status === 'active');
  try {
    const link = await createLink(
      ctx,
      {
        holderId: holder.id,
        integrationId: integration?.id ?? null,
        defaultCallbackUrl: integration?.defaultCallbackUrl ?? null,
      },
      readParams(request),
      (tx, made) =>
        recordAudit(
          tx,
          { holderId: holder.id, actor, action: 'payment_link.created', subject: linkId(made) },
          ctx.clock.now(),
        ),
    );
    return redirect(request, `/console/links/${linkId(link)}`, 'linkMade');
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return newPage(request, error.details.errors);
    throw error;
  }
}

function readParams(request: HolderRequest): JsonObject {
  const value = (name: string) => fieldOf(request, name, 2_048);
  const countryId = Number(value('country_id'));
  const params: JsonObject = {
    country_id: countryId,
    currency: request.ctx.catalog.linkCountries.get(countryId)?.currency ?? '',
    reusable: value('reusable') === 'yes',
  };
  for (const name of [
    'item_name',
    'business_name',
    'redirection_url',
    'callback_url',
    'email',
    'phone',
    'amount',
  ] as const)
    if (value(name) !== '') params[name] = name === 'amount' ? value(name).replace(/[\s,]/g, '') : value(name);
  if (value('expires_on') !== '') params.expires_at = `${value('expires_on')}T23:59:59Z`;
  if (value('accent_colour') !== '' && value('accent_colour') !== DEFAULT_COLOUR)
    params.accent_colour = value('accent_colour');
  const logo = fieldOf(request, 'logo', MAX_LOGO_CHARACTERS);
  if (logo !== '') params.logo = logo;
  return params;
}

async function linkPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, role } = request;
  const link = await findHolderLink(ctx.db, request.holder.id, paramOf(request, 'id'));
  if (!link) throw new Problem('not_found', { message: t.links.unknown });
  const payments = await listTransactions(ctx.db, request.holder.id, { linkId: link.id }, { limit: PAYMENT_ROWS });
  const url = linkUrl(ctx.config, link);
  const shown = describeLink(ctx, link);
  const active = linkStatus(link, ctx.clock.now()) === 'active';
  return renderPage(request, {
    title: link.item_name ?? link.business_name ?? t.menu.links,
    active: 'links',
    actions: html`<a class="button button-secondary" href="/pay/${linkId(link)}" target="_blank" rel="noopener">${t.links.openPage}</a><a class="button button-secondary" href="/pay/${linkId(link)}/card" target="_blank" rel="noopener">${t.links.card}</a>`,
    body: html`<div class="columns"><div class="card"><p>${stateTag(request, link)}</p>${copyLine(request, 'link-url', url, t.menu.links)}${facts(
      [
        [t.amount, link.amount === null ? t.links.open : money(request, link.amount, link.currency)],
        [t.links.payments, String(link.payments_count)],
        [t.links.business, link.business_name && html`<bdi>${link.business_name}</bdi>`],
        [t.links.expires, timeTag(link.expires_at)],
        [t.links.reusableShort, link.reusable ? t.yes : t.no],
        [t.links.redirect, link.redirection_url],
        [t.integrations.callbackUrl, link.callback_url],
        [t.created, timeTag(link.created_at)],
      ],
    )}${shown.logo_url && html`<img src="/logos/${link.logo_hash}.webp" alt="${t.links.logo}" width="48" height="48">`}${active && MAKERS.includes(role) && dangerForm(request, `/links/${linkId(link)}/disable`, t.links.disable, t.links.disableMeaning)}</div><div class="card"><h2>QR</h2>${qrPicture(url, 'QR')}</div></div><h2>${t.links.payments}</h2>${payments.rows.length > 0 ? transactionTable(request, payments.rows) : emptyState(t.links.noPayments, t.links.noPaymentsText)}`,
  });
}

async function disable(request: HolderRequest): Promise<FastifyReply> {
  const link = await disableLink(request.ctx, request.actor, request.holder.id, paramOf(request, 'id'));
  return redirect(request, `/console/links/${linkId(link)}`, 'saved');
}
