// The card for a counter, to print: a large code to scan, and the short address for phones without a camera.

import { linkQrSvg } from '../links/qr.ts';
import { shortPath, shortUrl } from '../links/short-urls.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { publicUrl } from '../platform/config.ts';
import { type HtmlPage, html, trusted } from '../platform/html.ts';
import { businessHead, layoutPage, total } from './layout.ts';
import type { LinkView } from './link-view.ts';

export function cardPage(ctx: PaymentsContext, view: LinkView): HtmlPage {
  const { t, money } = view.locale;
  const { link, business } = view;
  const url = shortUrl(ctx.config, link);
  const host = publicUrl(ctx.config).replace(/^https?:\/\//, '');
  // Inline and trusted: made by us from our own address.
  const code = trusted(linkQrSvg(url).replace('<svg ', '<svg class="qr" role="img" aria-label="QR" '));
  return layoutPage(view.layout, {
    title: `${t.scan} – ${business}`,
    body: html`
      <div class="card counter-card">
        ${businessHead(link, business)}
        <h1>${t.scan}</h1>
        ${code}
        ${
          link.amount === null
            ? html`
                ${link.item_name !== null && html`<p><bdi>${link.item_name}</bdi></p>`}
                <p class="muted spaced">${t.cardAnyAmount}</p>
              `
            : total(money(link.amount, link.currency), link.item_name)
        }
        <p class="muted">${t.cardOpen}</p>
        <p class="short-address">${host}<wbr><span>${shortPath(link)}</span></p>
        <button type="button" class="secondary" id="print" hidden>${t.print}</button>
      </div>
    `,
  });
}
