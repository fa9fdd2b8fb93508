// The list of payment links, creating one (also as a copy of another), and the routes of all pages of links.

import type { FastifyReply } from 'fastify';
import { recordAudit } from '../holders/audit.ts';
import { findActiveIntegration } from '../holders/integrations.ts';
import {
  createLink,
  disableLink,
  findHolderLink,
  LINK_STATUSES,
  type LinkStatus,
  linkId,
  linkUuid,
  type PaymentLink,
} from '../links/links.ts';
import { countLinks, listLinks, MAX_COUNTED_LINKS } from '../links/listing.ts';
import { findLogo } from '../links/logo.ts';
import { shortPath } from '../links/short-urls.ts';
import { publicUrl } from '../platform/config.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { type Choice, chips, dataTable, emptyState, who } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { pager, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { exportButton } from './csv-export.ts';
import { FormUsedError, useForm } from './form-idempotency.ts';
import { redirect, renderPage } from './layout.ts';
import { changeFromForm, editPage } from './link-edit.ts';
import {
  formErrors,
  LINK_SCRIPT,
  LINK_STYLE,
  linkErrors,
  linkForm,
  linkPreview,
  readLinkForm,
  valuesOf,
} from './link-form.ts';
import { amountOf, linkPage, linkTag } from './link-page.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { sampleShopButton } from './sample-shop-button.ts';

const PAGE_ROWS = 50;

export const consoleLinkRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/links', listPage),
  forRoles(MAKERS, 'GET', '/links/new', (request) => newPage(request)),
  forRoles(MAKERS, 'POST', '/links', create, { largeForm: true }),
  forRoles(EVERYONE, 'GET', '/links/:id', linkPage),
  forRoles(MAKERS, 'GET', '/links/:id/edit', (request) => editPage(request)),
  forRoles(MAKERS, 'POST', '/links/:id/edit', changeFromForm, { largeForm: true }),
  forRoles(MAKERS, 'POST', '/links/:id/disable', disable, { whenSuspended: true }),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, role } = request;
  const now = ctx.clock.now();
  const status = LINK_STATUSES.find((each) => each === queryOf(request, 'status')) ?? null;
  const [links, counts] = await Promise.all([
    listLinks(ctx.db, request.holder.id, {
      before: linkUuid(queryOf(request, 'after')),
      status,
      limit: PAGE_ROWS + 1,
      now,
    }),
    countLinks(ctx.db, request.holder.id, now),
  ]);
  const shown = links.slice(0, PAGE_ROWS);
  const last = shown.at(-1);
  const next =
    links.length > PAGE_ROWS && last
      ? `/console/links?${new URLSearchParams({ ...(status ? { status } : {}), after: linkId(last) }).toString()}`
      : null;
  const createButton =
    MAKERS.includes(role) && html`<a class="button" href="/console/links/new">${icon('plus')}${t.links.create}</a>`;
  const empty =
    counts.all === 0
      ? emptyState(t.links.none, t.links.noneText, html`${createButton}${sampleShopButton(request)}`, 'link')
      : emptyState(t.links.noneHere, t.links.noneHereText, false, 'link');
  return renderPage(request, {
    title: t.menu.links,
    lead: t.links.lead,
    active: 'links',
    styles: [LINK_STYLE],
    actions: html`${exportButton(request, '/console/links.csv', status ? `status=${status}` : '')}${createButton}`,
    body: html`
      ${counts.all > 0 && chips(t.links.tabs, tabs(request, status, counts))}
      ${shown.length === 0 ? empty : linkTable(request, shown)}
      ${pager(request, next)}
    `,
  });
}

/** With more links than are counted, only the first tab has a number: the others would be wrong. */
function tabs(
  { t }: HolderRequest,
  status: LinkStatus | null,
  { all, byStatus }: Awaited<ReturnType<typeof countLinks>>,
): Choice[] {
  const isComplete = all <= MAX_COUNTED_LINKS;
  return [
    {
      label: t.all,
      href: '/console/links',
      current: status === null,
      count: isComplete ? all : t.links.moreThan('10\u202f000'),
    },
    ...LINK_STATUSES.map((each) => ({
      label: t.links.states[each],
      href: `/console/links?status=${each}`,
      current: each === status,
      ...(isComplete ? { count: byStatus.get(each) ?? 0 } : {}),
    })),
  ];
}

function linkTable(request: HolderRequest, links: readonly PaymentLink[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.links,
    [
      { label: t.links.item, phone: 'main' },
      { label: t.amount, right: true, phone: 'amount' },
      { label: t.state, phone: 'status' },
      { label: t.links.paid, right: true },
      { label: t.created },
      { label: t.links.share, phone: 'buttons' },
    ],
    links.map((link) => [
      itemCell(request, link),
      html`<span class="money">${amountOf(request, link)}</span>`,
      linkTag(request, link),
      html`
        <span class="money">${money(request, link.paid_amount, link.currency)}</span>
        <span class="muted second">${t.links.paymentCount(Number(link.payments_count))}</span>
      `,
      timeTag(request, link.created_at),
      shareCell(request, link),
    ]),
  );
}

function itemCell({ ctx, t }: HolderRequest, link: PaymentLink): Html {
  const name = html`<bdi>${link.item_name ?? link.business_name ?? t.links.openAmount}</bdi>`;
  // A phone shows the path only; the button copies all of it.
  const path = shortPath(link);
  const host = publicUrl(ctx.config);
  const address = html`<span class="row-address" id="url-${link.code}"><span class="host">${host}</span>${path}</span>`;
  return who(name, address, { href: `/console/links/${linkId(link)}` });
}

/** A button that copies the address of the row, and the code to scan. */
function shareCell(request: HolderRequest, link: PaymentLink): Html {
  const { t } = request;
  const name = link.item_name ?? link.business_name ?? link.code;
  return html`
    <div class="row-actions">
      <button type="button" class="button-secondary" data-copy="#url-${link.code}" data-done="${t.copied}"
        aria-label="${withColon(request, t.copy)} ${name}" hidden>${icon('copy')}<span class="button-label">${t.copy}</span></button>
      <a class="button button-secondary" href="/pay/${linkId(link)}/qr.svg" target="_blank" rel="noopener"
        aria-label="${withColon(request, t.links.qr)} ${name}">${icon('qr-code')}<span class="button-label">QR</span></a>
    </div>
  `;
}

/** An empty form, one with errors, or one filled with another link of the holder (`?from=`). */
async function newPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t, ctx, holder } = request;
  const from = errors ? null : await findHolderLink(ctx.db, holder.id, queryOf(request, 'from'));
  const logo = from?.logo_hash ? await findLogo(ctx.db, from.logo_hash) : null;
  const [latest] = await listLinks(ctx.db, holder.id, { before: null, status: null, limit: 1, now: ctx.clock.now() });
  const values = valuesOf(request, from, { latestCountry: latest?.country_id ?? null, logo });
  return renderPage(request, {
    title: from ? t.links.duplicateTitle : t.links.create,
    active: 'links',
    styles: [LINK_STYLE],
    scripts: [LINK_SCRIPT],
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${linkErrors(request, errors)}
      <div class="columns-wide">
        <div class="card">${linkForm(request, { action: '/links', submit: t.links.create, values, errors })}</div>
        ${linkPreview(request, values)}
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
      async (tx, made) => {
        await useForm(tx, ctx, holder.id, fieldOf(request, 'once', 40));
        const created = { holderId: holder.id, actor, action: 'payment_link.created', subject: linkId(made) } as const;
        await recordAudit(tx, created, ctx.clock.now());
      },
    );
    return redirect(request, `/console/links/${linkId(link)}`, 'linkCreated');
  } catch (error) {
    if (error instanceof FormUsedError) return redirect(request, '/console/links', 'formAlreadySent');
    if (error instanceof Problem && error.details.errors)
      return newPage(request, formErrors(request, error.details.errors));
    throw error;
  }
}

async function disable(request: HolderRequest): Promise<FastifyReply> {
  const link = await disableLink(request.ctx, request.actor, request.holder.id, paramOf(request, 'id'));
  return redirect(request, `/console/links/${linkId(link)}`, 'saved');
}
