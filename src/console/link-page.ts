// The page of one payment link: sharing it, what came of it, its details and its payments.

import type { FastifyReply } from 'fastify';
import {
  describeLink,
  findHolderLink,
  type LinkStatus,
  linkId,
  linkStatus,
  linkUrl,
  type PaymentLink,
} from '../links/links.ts';
import { shortUrl } from '../links/short-urls.ts';
import { countVisits } from '../links/visits.ts';
import { listTransactions } from '../payments/listing.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { isUuid } from '../platform/ids.ts';
import { numberLocale } from '../platform/locales.ts';
import { emptyState, facts, figureCard, status, type Tone } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { copyLine, pager, qrPicture, timeTag } from './components.ts';
import { type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { dangerForm } from './form-components.ts';
import { renderPage } from './layout.ts';
import { LINK_STYLE } from './link-form.ts';
import { MAKERS } from './route.ts';
import { transactionTable } from './transaction-table.ts';

const PAYMENT_ROWS = 50;

const LINK_TONES: Record<LinkStatus, Tone> = {
  active: 'success',
  paid: 'neutral',
  expired: 'warning',
  disabled: 'neutral',
};

export function linkTag({ ctx, t }: HolderRequest, link: PaymentLink): Html {
  const state = linkStatus(link, ctx.clock.now());
  return status(LINK_TONES[state], t.links.states[state]);
}

export function amountOf(request: HolderRequest, { amount, currency }: PaymentLink): string {
  return amount === null ? request.t.links.openAmount : money(request, amount, currency);
}

/** Whether it can still be changed and paid: one that has expired can be given more time. */
export function isOpen(link: PaymentLink): boolean {
  return link.status === 'active' || link.status === 'expired';
}

export async function linkPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const link = await findHolderLink(ctx.db, holder.id, paramOf(request, 'id'));
  if (!link) throw new Problem('not_found', { message: t.links.notFound });
  const after = queryOf(request, 'after', 40);
  const place = { before: isUuid(after) ? after : null, limit: PAYMENT_ROWS };
  const [payments, visits] = await Promise.all([
    listTransactions(ctx.db, holder.id, { linkId: link.id }, place),
    countVisits(ctx.db, holder.id, link.id),
  ]);
  return renderPage(request, {
    title: link.item_name ?? link.business_name ?? t.menu.links,
    active: 'links',
    styles: [LINK_STYLE],
    actions: pageActions(request, link),
    body: html`
      <p class="link-head">${linkTag(request, link)} <b class="money">${amountOf(request, link)}</b></p>
      <div class="columns-wide">
        <div>
          ${shareCard(request, link)}
          ${totals(request, link, visits)}
        </div>
        ${detailsCard(request, link)}
      </div>
      <h2 id="payments">${t.links.payments}</h2>
      ${
        payments.rows.length > 0
          ? transactionTable(request, payments.rows)
          : emptyState(t.links.noPayments, t.links.noPaymentsText)
      }
      ${pager(request, payments.next && `/console/links/${linkId(link)}?after=${payments.next}#payments`)}
    `,
  });
}

function pageActions({ t, role }: HolderRequest, link: PaymentLink): Html {
  const path = `/pay/${linkId(link)}`;
  const canMake = MAKERS.includes(role);
  return html`
    ${
      canMake &&
      isOpen(link) &&
      html`
        <a class="button button-secondary" href="/console/links/${linkId(link)}/edit">${icon('pencil')}${t.links.edit}</a>
      `
    }
    ${
      canMake &&
      html`
        <a class="button button-secondary" href="/console/links/new?from=${linkId(link)}">
          ${icon('copy')}${t.links.duplicate}
        </a>
      `
    }
    <a class="button" href="${path}" target="_blank" rel="noopener">${icon('external-link')}${t.links.openPage}</a>
  `;
}

/** The address as people share it: by a message, on paper, on a screen. */
function shareCard(request: HolderRequest, link: PaymentLink): Html {
  const { ctx, t, holder } = request;
  const url = shortUrl(ctx.config, link);
  const what = [link.item_name, link.amount === null ? null : amountOf(request, link)].filter(Boolean).join(', ');
  const business = link.business_name ?? holder.name;
  const text = encodeURIComponent(t.links.shareText(business, what || t.links.openAmount, url));
  const path = `/pay/${linkId(link)}`;
  return html`
    <div class="card share">
      <div>
        <h2>${t.links.share}</h2>
        ${copyLine(request, 'link-url', url, t.links.shortAddress)}
        <div class="actions">
          <a class="button button-secondary" href="https://wa.me/?text=${text}" target="_blank" rel="noopener noreferrer">
            ${icon('message-circle')}${t.links.whatsapp}
          </a>
          <a class="button button-secondary" href="sms:?&amp;body=${text}">${icon('smartphone')}${t.links.sms}</a>
          <a class="button button-secondary" href="${path}/qr.svg" target="_blank" rel="noopener">
            ${icon('qr-code')}${t.links.qr}
          </a>
          <a class="button button-secondary" href="${path}/card" target="_blank" rel="noopener">
            ${icon('printer')}${t.links.card}
          </a>
        </div>
      </div>
      ${qrPicture(url, t.links.qr)}
    </div>
  `;
}

function totals(request: HolderRequest, link: PaymentLink, visits: bigint): Html {
  const { t, language } = request;
  const percent = new Intl.NumberFormat(numberLocale(language), { style: 'percent' });
  const isShare = visits > 0n && link.payments_count <= visits;
  return html`
    <div class="cards figures link-totals">
      ${figureCard(t.links.opened, visits, t.links.openedNote)}
      ${figureCard(
        t.links.payments,
        link.payments_count,
        isShare && t.links.ofOpened(percent.format(Number(link.payments_count) / Number(visits))),
      )}
      ${figureCard(t.links.paid, money(request, link.paid_amount, link.currency), t.links.afterRefunds)}
    </div>
  `;
}

function detailsCard(request: HolderRequest, link: PaymentLink): Html {
  const { ctx, t, role } = request;
  const canDisable = linkStatus(link, ctx.clock.now()) === 'active' && MAKERS.includes(role);
  return html`
    <div class="card">
      <h2>${t.links.details}</h2>
      ${facts([
        [t.links.business, link.business_name && html`<bdi>${link.business_name}</bdi>`],
        [t.links.expires, timeTag(request, link.expires_at)],
        [t.links.reusableShort, link.reusable ? t.yes : t.no],
        [t.links.redirect, link.redirection_url && html`<span class="wrap">${link.redirection_url}</span>`],
        [t.integrations.callbackUrl, link.callback_url && html`<span class="wrap">${link.callback_url}</span>`],
        [t.links.apiAddress, html`<span class="wrap">${linkUrl(ctx.config, link)}</span>`],
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
