// What the pages of one link share: the link, who is paid, where the payer is, and how he reads.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LinkCountry } from '../catalog/catalog.ts';
import { findLinkCountry, findPayerCountry } from '../catalog/countries.ts';
import { findHolder } from '../holders/holders.ts';
import { findLiveIntegration } from '../holders/integrations.ts';
import { type LinkStatus, linkId, linkStatus, type PaymentLink } from '../links/links.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { type Reading, readLanguage } from './language.ts';
import type { CheckoutFrame } from './layout.ts';
import { showName } from './names.ts';

const PHONE_PAGE = '/sandbox/phone';

export type LinkView = {
  link: PaymentLink;
  status: LinkStatus;
  business: string;
  /** Where the payer is; null until he has said so. */
  row: LinkCountry | null;
  /** The countries he may choose from; empty where there is no choice. */
  choices: readonly LinkCountry[];
  reading: Reading;
  frame: CheckoutFrame;
  /** "/pay/pl_…". */
  path: string;
  /** "?lang=fr" when the language was asked for in the address, else nothing. */
  query: string;
};

/** The view of a link, or null where its business is no longer open: then there is nothing to pay. */
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
  const reading = readLanguage(request, reply, (row ?? findLinkCountry(ctx.catalog, link.country_id))?.country ?? null);
  const path = `/pay/${linkId(link)}`;
  return {
    link: { ...link, item_name: link.item_name && (showName(link.item_name) || null) },
    status: linkStatus(link, ctx.clock.now()),
    business: showName(link.business_name ?? integration?.title ?? holder?.name ?? ctx.config.brandName) || '•',
    row,
    choices,
    reading,
    path,
    query: reading.asked ? `?lang=${reading.language}` : '',
    frame: {
      reading,
      brand: ctx.config.brandName,
      phoneUrl: ctx.config.mode === 'sandbox' ? PHONE_PAGE + (link.phone ? `?n=${link.phone}` : '') : null,
      address: path,
      accent: link.accent_colour,
    },
  };
}

/** The same view for one attempt: its own address, and the test phone of its payer. */
export function viewAttempt(view: LinkView, transaction: Transaction): LinkView {
  const path = `${view.path}/${refOf(transaction)}`;
  const phoneUrl = view.frame.phoneUrl && `${PHONE_PAGE}?n=${transaction.msisdn ?? ''}`;
  return { ...view, frame: { ...view.frame, address: path, phoneUrl } };
}

/** The view's address with its language and what else it says. */
export function addressWith(view: LinkView, path: string, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...(view.reading.asked ? { lang: view.reading.language } : {}), ...more });
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}
