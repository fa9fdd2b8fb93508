// What WhatsApp and others show for a shared link: a title, a text and a picture. They read it from the page itself.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { PREVIEW_HEIGHT, PREVIEW_WIDTH, previewPicture } from '../links/preview-picture.ts';
import { shortUrl } from '../links/short-urls.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { type LinkView, openLink, requestedLink } from './link-view.ts';

const PICTURE_SECONDS = 3_600;

export function previewTags(ctx: PaymentsContext, view: LinkView): Html {
  const { link, locale, business, layout } = view;
  const amount = link.amount === null ? null : locale.money(link.amount, link.currency);
  const tag = (name: string, content: string) => html`<meta property="og:${name}" content="${content}">`;
  return html`
    ${tag('title', [locale.t.payTo(business), amount].filter(Boolean).join(' · '))}
    ${tag('description', link.item_name ?? locale.t.poweredBy(layout.brand))}
    ${tag('url', shortUrl(ctx.config, link))}
    ${tag('image', `${publicUrl(ctx.config)}${view.path}/preview.png`)}
    ${tag('image:width', String(PREVIEW_WIDTH))}
    ${tag('image:height', String(PREVIEW_HEIGHT))}
  `;
}

export async function showPreview(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { link, business, locale, layout } = await openLink(ctx, await requestedLink(ctx, request), request, reply);
  const png = await previewPicture(ctx, {
    link,
    business,
    item: link.item_name,
    amount: link.amount === null ? null : locale.money(link.amount, link.currency),
    brand: layout.brand,
    sandbox: ctx.config.mode === 'sandbox',
  });
  if (png === null) throw new Problem('not_found');
  return reply
    .headers({
      'Content-Type': 'image/png',
      'Cache-Control': `public, max-age=${PICTURE_SECONDS}`,
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; sandbox",
    })
    .send(png);
}
