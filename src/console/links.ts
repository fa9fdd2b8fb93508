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
import {
  checkField,
  copyLine,
  dangerForm,
  dataTable,
  emptyState,
  errorBox,
  facts,
  inputField,
  pager,
  postForm,
  selectField,
  type Tone,
  tag,
  timeTag,
} from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { qrPicture } from './profile.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { transactionTable } from './transactions.ts';

const PAGE_ROWS = 50;
const PAYMENT_ROWS = 50;
const MAX_LOGO_CHARACTERS = 700_000;
const DEFAULT_COLOUR = '#0b6157';

export const LINK_TONES: Record<LinkStatus, Tone> = { active: 's', paid: 'n', expired: 'w', disabled: 'e' };

export const consoleLinkRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/links', listPage),
  forRoles(MAKERS, 'GET', '/links/new', (visit) => newPage(visit)),
  forRoles(MAKERS, 'POST', '/links', create),
  forRoles(EVERYONE, 'GET', '/links/:id', linkPage),
  forRoles(MAKERS, 'POST', '/links/:id/disable', disable),
];

async function listPage(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, words, role } = visit;
  const now = ctx.clock.now();
  const status = LINK_STATUSES.find((each) => each === queryOf(visit, 'status')) ?? null;
  const links = await listLinks(ctx.db, visit.holder.id, {
    before: linkUuid(queryOf(visit, 'after')),
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
  const create = MAKERS.includes(role) && html`<a class="btn" href="/console/links/new">${words.links.create}</a>`;
  return renderPage(visit, {
    title: words.menu.links,
    lead: words.links.lead,
    active: 'links',
    ...(create ? { actions: create } : {}),
    body: html`<p>${[null, ...LINK_STATUSES].map((each) => html`<a href="/console/links${each ? html`?status=${each}` : ''}"${each === status && html` aria-current="true"`}>${each ? words.links.states[each] : words.all}</a> `)}</p>${
      shown.length === 0
        ? emptyState(words.links.none, words.links.noneText, create)
        : dataTable(
            words.menu.links,
            [
              { label: words.links.what },
              { label: words.amount, right: true },
              { label: words.state },
              { label: words.links.payments, right: true },
              { label: words.created },
            ],
            shown.map((link) => [
              html`<a href="/console/links/${linkId(link)}"><bdi>${link.item_name ?? link.business_name ?? linkId(link)}</bdi></a><span class="m"><bdi>${link.item_name ? link.business_name : ''}</bdi></span>`,
              link.amount === null ? words.links.open : money(visit, link.amount, link.currency),
              stateTag(visit, link),
              String(link.payments_count),
              timeTag(link.created_at),
            ]),
          )
    }${pager(visit, next)}`,
  });
}

function stateTag(visit: HolderRequest, link: PaymentLink): Html {
  const status = linkStatus(link, visit.ctx.clock.now());
  return tag(LINK_TONES[status], visit.words.links.states[status]);
}

function newPage(visit: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, words, holder } = visit;
  const countries = listLinkCountries(ctx.catalog).map(
    (row) => [String(row.countryId), `${row.name} (${row.currency})`] as const,
  );
  const value = (name: string) => fieldOf(visit, name, 2_048);
  const text = (name: string, label: string, hint?: string, type?: string) =>
    inputField({ name, label, hint, type, value: value(name), errors });
  return renderPage(visit, {
    title: words.links.create,
    active: 'links',
    ...(errors ? { status: 400 } : {}),
    body: html`${errorBox(visit, errors)}<div class="two"><div class="card">${postForm(
      visit,
      '/links',
      html`${text('item_name', words.links.what, words.links.whatHint)}${inputField({ name: 'amount', label: words.amount, hint: words.links.amountHint, value: value('amount'), errors, more: html`inputmode="decimal"` })}${selectField({ name: 'country_id', label: words.country, value: value('country_id'), choices: countries, errors })}${text('business_name', words.links.business, words.links.businessHint)}${text('redirection_url', words.links.redirect, words.links.redirectHint, 'url')}<details><summary>${words.links.more}</summary>${inputField({ name: 'expires_on', label: words.links.expires, type: 'date', value: value('expires_on'), errors })}${text('email', words.links.payerEmail, undefined, 'email')}${text('phone', words.links.payerPhone)}${text('callback_url', words.integrations.callbackUrl, undefined, 'url')}${inputField({ name: 'accent_colour', label: words.links.colour, type: 'color', value: value('accent_colour') || DEFAULT_COLOUR, errors })}</details>${checkField('reusable', words.links.reusable, value('reusable') === 'yes')}<div class="f" data-js hidden><label for="f-logo-file">${words.links.logo}</label><span class="m">${words.links.logoHint}</span><input id="f-logo-file" type="file" accept="image/png,image/jpeg,image/webp,image/gif" data-image="#f-logo"></div><input type="hidden" name="logo" id="f-logo" value="">${errors?.logo && html`<p class="er">${errors.logo.join(' ')}</p>`}<button>${words.links.create}</button>`,
      html`data-preview="1"`,
    )}</div><div class="preview" data-js hidden><p class="m">${words.links.preview}</p><div class="pv"><img id="pvlogo" alt="" hidden><p><b data-pv="business_name" data-empty="${holder.name}">${holder.name}</b></p><p class="sum" data-pv="amount" data-empty="${words.links.open}"></p><p class="m" data-pv="item_name" data-empty="–"></p></div></div></div>`,
  });
}

async function create(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, actor } = visit;
  const [integration] = (await listIntegrations(ctx.db, holder.id)).filter((each) => each.status === 'active');
  try {
    const link = await createLink(
      ctx,
      {
        holderId: holder.id,
        integrationId: integration?.id ?? null,
        defaultCallbackUrl: integration?.defaultCallbackUrl ?? null,
      },
      readParams(visit),
      (tx, made) =>
        recordAudit(
          tx,
          { holderId: holder.id, actor, action: 'payment_link.created', subject: linkId(made) },
          ctx.clock.now(),
        ),
    );
    return redirect(visit, `/console/links/${linkId(link)}`, 'linkMade');
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return newPage(visit, error.details.errors);
    throw error;
  }
}

function readParams(visit: HolderRequest): JsonObject {
  const value = (name: string) => fieldOf(visit, name, 2_048);
  const countryId = Number(value('country_id'));
  const params: JsonObject = {
    country_id: countryId,
    currency: visit.ctx.catalog.linkCountries.get(countryId)?.currency ?? '',
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
  const logo = fieldOf(visit, 'logo', MAX_LOGO_CHARACTERS);
  if (logo !== '') params.logo = logo;
  return params;
}

async function linkPage(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, words, role } = visit;
  const link = await findHolderLink(ctx.db, visit.holder.id, paramOf(visit, 'id'));
  if (!link) throw new Problem('not_found', { message: words.links.unknown });
  const payments = await listTransactions(ctx.db, visit.holder.id, { linkId: link.id }, { limit: PAYMENT_ROWS });
  const url = linkUrl(ctx.config, link);
  const shown = describeLink(ctx, link);
  const active = linkStatus(link, ctx.clock.now()) === 'active';
  return renderPage(visit, {
    title: link.item_name ?? link.business_name ?? words.menu.links,
    active: 'links',
    actions: html`<a class="btn q" href="/pay/${linkId(link)}" target="_blank" rel="noopener">${words.links.openPage}</a><a class="btn q" href="/pay/${linkId(link)}/card" target="_blank" rel="noopener">${words.links.card}</a>`,
    body: html`<div class="two"><div class="card"><p>${stateTag(visit, link)}</p>${copyLine(visit, 'link-url', url, words.menu.links)}${facts(
      [
        [words.amount, link.amount === null ? words.links.open : money(visit, link.amount, link.currency)],
        [words.links.payments, String(link.payments_count)],
        [words.links.business, link.business_name && html`<bdi>${link.business_name}</bdi>`],
        [words.links.expires, timeTag(link.expires_at)],
        [words.links.reusableShort, link.reusable ? words.yes : words.no],
        [words.links.redirect, link.redirection_url],
        [words.integrations.callbackUrl, link.callback_url],
        [words.created, timeTag(link.created_at)],
      ],
    )}${shown.logo_url && html`<img src="/logos/${link.logo_hash}.webp" alt="${words.links.logo}" width="48" height="48">`}${active && MAKERS.includes(role) && dangerForm(visit, `/links/${linkId(link)}/disable`, words.links.disable, words.links.disableMeaning)}</div><div class="card"><h2>QR</h2>${qrPicture(url, 'QR')}</div></div><h2>${words.links.payments}</h2>${payments.rows.length > 0 ? transactionTable(visit, payments.rows) : emptyState(words.links.noPayments, words.links.noPaymentsText)}`,
  });
}

async function disable(visit: HolderRequest): Promise<FastifyReply> {
  const link = await disableLink(visit.ctx, visit.actor, visit.holder.id, paramOf(visit, 'id'));
  return redirect(visit, `/console/links/${linkId(link)}`, 'saved');
}
