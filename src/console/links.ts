// Payment links: the list, creating one, and the page of one with its QR code and payments.

import type { FastifyReply } from 'fastify';
import { recordAudit } from '../holders/audit.ts';
import { findActiveIntegration } from '../holders/integrations.ts';
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
import { dataTable, emptyState, facts, type Tone, tag } from '../ui/components.ts';
import { copyLine, pager, qrPicture, timeTag } from './components.ts';
import { type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { exportButton } from './csv-export.ts';
import { dangerForm, errorBox } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { linkForm, linkPreview, readLinkForm } from './link-form.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { transactionTable } from './transaction-table.ts';

const PAGE_ROWS = 50;
const PAYMENT_ROWS = 50;

const LINK_TONES: Record<LinkStatus, Tone> = {
  active: 'success',
  paid: 'neutral',
  expired: 'warning',
  disabled: 'error',
};

export const consoleLinkRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/links', listPage),
  forRoles(MAKERS, 'GET', '/links/new', (request) => newPage(request)),
  forRoles(MAKERS, 'POST', '/links', create, { largeForm: true }),
  forRoles(EVERYONE, 'GET', '/links/:id', linkPage),
  forRoles(MAKERS, 'POST', '/links/:id/disable', disable, { whenSuspended: true }),
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
  const createButton = MAKERS.includes(role) && html`<a class="button" href="/console/links/new">${t.links.create}</a>`;
  return renderPage(request, {
    title: t.menu.links,
    lead: t.links.lead,
    active: 'links',
    actions: html`${exportButton(request, '/console/links.csv', status ? `status=${status}` : '')}${createButton}`,
    body: html`
      <p>${[null, ...LINK_STATUSES].map((each) => statusFilter(request, each, each === status))}</p>
      ${shown.length === 0 ? emptyState(t.links.none, t.links.noneText, createButton) : linkTable(request, shown)}
      ${pager(request, next)}
    `,
  });
}

/** A link to the list with one status, or with all. */
function statusFilter({ t }: HolderRequest, status: LinkStatus | null, isCurrent: boolean): Html {
  const href = status ? `/console/links?status=${status}` : '/console/links';
  const text = status ? t.links.states[status] : t.all;
  return html`<a href="${href}"${isCurrent && html` aria-current="true"`}>${text}</a> `;
}

function linkTable(request: HolderRequest, links: readonly PaymentLink[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.links,
    [
      { label: t.links.item },
      { label: t.amount, right: true },
      { label: t.state },
      { label: t.links.payments, right: true },
      { label: t.created },
    ],
    links.map((link) => [
      html`
        <a href="/console/links/${linkId(link)}">
          <bdi>${link.item_name ?? link.business_name ?? linkId(link)}</bdi>
        </a>
        <span class="muted"><bdi>${link.item_name ? link.business_name : ''}</bdi></span>
      `,
      amountOf(request, link),
      stateTag(request, link),
      String(link.payments_count),
      timeTag(request, link.created_at),
    ]),
  );
}

function amountOf(request: HolderRequest, { amount, currency }: PaymentLink): string {
  return amount === null ? request.t.links.openAmount : money(request, amount, currency);
}

function stateTag(request: HolderRequest, link: PaymentLink): Html {
  const status = linkStatus(link, request.ctx.clock.now());
  return tag(LINK_TONES[status], request.t.links.states[status]);
}

function newPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.links.create,
    active: 'links',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${errorBox(request, errors)}
      <div class="columns">
        <div class="card">${linkForm(request, errors)}</div>
        ${linkPreview(request)}
      </div>
    `,
  });
}

async function create(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, actor } = request;
  const reading = readLinkForm(request);
  if (!reading.ok) return newPage(request, reading.errors);
  const integration = await findActiveIntegration(ctx.db, holder.id);
  try {
    const link = await createLink(
      ctx,
      {
        holderId: holder.id,
        integrationId: integration?.id ?? null,
        defaultCallbackUrl: integration?.defaultCallbackUrl ?? null,
        redirectHosts: integration?.redirectHosts ?? [],
      },
      reading.params,
      (tx, made) =>
        recordAudit(
          tx,
          { holderId: holder.id, actor, action: 'payment_link.created', subject: linkId(made) },
          ctx.clock.now(),
        ),
    );
    return redirect(request, `/console/links/${linkId(link)}`, 'linkCreated');
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return newPage(request, error.details.errors);
    throw error;
  }
}

async function linkPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const link = await findHolderLink(ctx.db, request.holder.id, paramOf(request, 'id'));
  if (!link) throw new Problem('not_found', { message: t.links.notFound });
  const payments = await listTransactions(ctx.db, request.holder.id, { linkId: link.id }, { limit: PAYMENT_ROWS });
  const page = `/pay/${linkId(link)}`;
  return renderPage(request, {
    title: link.item_name ?? link.business_name ?? t.menu.links,
    active: 'links',
    actions: html`
      <a class="button button-secondary" href="${page}" target="_blank" rel="noopener">${t.links.openPage}</a>
      <a class="button button-secondary" href="${page}/card" target="_blank" rel="noopener">${t.links.card}</a>
    `,
    body: html`
      <div class="columns">
        ${linkDetails(request, link)}
        <div class="card">
          <h2>QR</h2>
          ${qrPicture(linkUrl(ctx.config, link), 'QR')}
        </div>
      </div>
      <h2>${t.links.payments}</h2>
      ${
        payments.rows.length > 0
          ? transactionTable(request, payments.rows)
          : emptyState(t.links.noPayments, t.links.noPaymentsText)
      }
    `,
  });
}

function linkDetails(request: HolderRequest, link: PaymentLink): Html {
  const { ctx, t, role } = request;
  const canDisable = linkStatus(link, ctx.clock.now()) === 'active' && MAKERS.includes(role);
  return html`
    <div class="card">
      <p>${stateTag(request, link)}</p>
      ${copyLine(request, 'link-url', linkUrl(ctx.config, link), t.menu.links)}
      ${facts([
        [t.amount, amountOf(request, link)],
        [t.links.payments, String(link.payments_count)],
        [t.links.business, link.business_name && html`<bdi>${link.business_name}</bdi>`],
        [t.links.expires, timeTag(request, link.expires_at)],
        [t.links.reusableShort, link.reusable ? t.yes : t.no],
        [t.links.redirect, link.redirection_url],
        [t.integrations.callbackUrl, link.callback_url],
        [t.created, timeTag(request, link.created_at)],
      ])}
      ${
        describeLink(ctx, link).logo_url &&
        html`<img src="/logos/${link.logo_hash}.webp" alt="${t.links.logo}" width="48" height="48">`
      }
      ${canDisable && dangerForm(request, `/links/${linkId(link)}/disable`, t.links.disable, t.links.disableMeaning)}
    </div>
  `;
}

async function disable(request: HolderRequest): Promise<FastifyReply> {
  const link = await disableLink(request.ctx, request.actor, request.holder.id, paramOf(request, 'id'));
  return redirect(request, `/console/links/${linkId(link)}`, 'saved');
}
