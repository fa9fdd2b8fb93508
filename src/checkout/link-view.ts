// What a request is about: the link in its address, the attempt of its reference, and what the pages of that link share
// (the business, the payer's country and language). The address is the key; an attempt of another link is not found.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LinkCountry } from '../catalog/catalog.ts';
import { findLinkCountry, findPayerCountry } from '../catalog/countries.ts';
import { findHolder } from '../holders/holders.ts';
import { findLiveIntegration } from '../holders/integrations.ts';
import { findLink, type LinkStatus, linkId, linkStatus, type PaymentLink } from '../links/links.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { findTransaction, idFromRef, refOf, type Transaction } from '../payments/transactions.ts';
import { shownBrand } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { isAttemptOf } from './attempts.ts';
import { chooseLocale, type PayerLocale } from './language.ts';
import type { CheckoutLayout } from './layout.ts';
import { showName } from './names.ts';

const PHONE_PAGE = '/sandbox/phone';

export type Params = { id: string; ref: string; code: string };
export type Query = Record<string, unknown>;

export type LinkView = {
  link: PaymentLink;
  status: LinkStatus;
  business: string;
  /** The payer's country; null until it is known or chosen. */
  row: LinkCountry | null;
  /** The countries to choose from; empty where there is no choice. */
  choices: readonly LinkCountry[];
  locale: PayerLocale;
  layout: CheckoutLayout;
  /** "/pay/pl_…". */
  path: string;
  /** "?lang=fr" when the language was asked for in the address, else nothing. */
  query: string;
};

/** The link of the request's address. */
export async function requestedLink(ctx: PaymentsContext, request: FastifyRequest): Promise<PaymentLink> {
  const link = await findLink(ctx.db, (request.params as Params).id);
  if (!link) throw new Problem('payment_link_not_found');
  return link;
}

/** The view of a link. There is none once its business is closed or suspended. */
export async function openLink(
  ctx: PaymentsContext,
  link: PaymentLink,
  request: FastifyRequest,
  reply: FastifyReply,
  country: number | null = Number((request.query as Query).country) || null,
): Promise<LinkView> {
  const view = await viewLink(ctx, link, request, reply, country);
  if (!view) throw new Problem('payment_link_not_found');
  return view;
}

/** The view of a link, or null when its business is closed or suspended. */
export async function viewLink(
  ctx: PaymentsContext,
  link: PaymentLink,
  request: FastifyRequest,
  reply: FastifyReply,
  chosenCountry: number | null,
): Promise<LinkView | null> {
  const integration = link.integration_id === null ? null : await findLiveIntegration(ctx, { id: link.integration_id });
  const holder = integration === null ? await findHolder(ctx.db, link.holder_id) : null;
  if ((integration?.holderStatus ?? holder?.status) !== 'active') return null;
  const payer = findPayerCountry(ctx.catalog, {
    currency: link.currency,
    countryId: link.country_id,
    currencyCountryId: link.currency_country_id,
  });
  const choices = payer.kind === 'payer_chooses' ? payer.countries : [];
  const row =
    payer.kind === 'known' ? payer.country : (choices.find((choice) => choice.countryId === chosenCountry) ?? null);
  const locale = chooseLocale(request, reply, (row ?? findLinkCountry(ctx.catalog, link.country_id))?.country ?? null);
  const path = `/pay/${linkId(link)}`;
  return {
    link: { ...link, item_name: link.item_name && (showName(link.item_name) || null) },
    status: linkStatus(link, ctx.clock.now()),
    business: showName(link.business_name ?? integration?.title ?? holder?.name ?? shownBrand(ctx.config)) || '•',
    row,
    choices,
    locale,
    path,
    query: locale.asked ? `?lang=${locale.language}` : '',
    layout: {
      locale,
      brand: shownBrand(ctx.config),
      phoneUrl: ctx.config.mode === 'sandbox' ? PHONE_PAGE + (link.phone ? `?n=${link.phone}` : '') : null,
      address: path,
      accent: link.accent_colour,
    },
  };
}

/** The attempt of the request's address. */
export async function requestedAttempt(ctx: PaymentsContext, request: FastifyRequest): Promise<Transaction> {
  const transaction = await findLinkAttempt(ctx, await requestedLink(ctx, request), (request.params as Params).ref);
  if (!transaction) throw new Problem('payment_link_not_found');
  return transaction;
}

/** The attempt of the request's address, with the view of its link. */
export async function openAttempt(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ view: LinkView; transaction: Transaction }> {
  const link = await requestedLink(ctx, request);
  const transaction = await findLinkAttempt(ctx, link, (request.params as Params).ref);
  if (!transaction) throw new Problem('payment_link_not_found');
  return { view: await openLink(ctx, link, request, reply, transaction.country_id), transaction };
}

/** A transaction by its reference, if it is an attempt to pay this link. */
export async function findLinkAttempt(
  ctx: PaymentsContext,
  link: PaymentLink,
  ref: string,
): Promise<Transaction | null> {
  const id = idFromRef(ref);
  if (id === null || !(await isAttemptOf(ctx.db, link.id, id))) return null;
  return findTransaction(ctx.db, link.holder_id, id);
}

/** The same view for one attempt: its own address, and the test phone of its payer. */
export function viewAttempt(view: LinkView, transaction: Transaction): LinkView {
  const path = `${view.path}/${refOf(transaction)}`;
  const phoneUrl = view.layout.phoneUrl && `${PHONE_PAGE}?n=${transaction.msisdn ?? ''}`;
  return { ...view, layout: { ...view.layout, address: path, phoneUrl } };
}

/** A path with the view's language, if it was asked for, and further query parameters. */
export function addressWith(view: LinkView, path: string, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...(view.locale.asked ? { lang: view.locale.language } : {}), ...more });
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}
