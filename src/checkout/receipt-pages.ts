// The card for a counter, and the pages that hold one message, such as a link that has expired.

import { linkUrl } from '../links/links.ts';
import { linkQrSvg } from '../links/qr.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { type Html, type HtmlPage, html, trusted } from '../platform/html.ts';
import { amountLines, businessHead, type CheckoutLayout, icon, layoutPage, linkButton } from './layout.ts';
import type { LinkView } from './link-view.ts';
import type { CheckoutMessages } from './messages.ts';

/** The card for a counter: a large code to scan, and the address for phones without a camera. */
export function cardPage(ctx: PaymentsContext, view: LinkView): HtmlPage {
  const { t, money } = view.locale;
  const { link, business } = view;
  const url = linkUrl(ctx.config, link);
  return layoutPage(view.layout, {
    title: `${t.scan} – ${business}`,
    body: html`
      <div class="card counter-card">
        ${businessHead(link, business)}
        <h1>${t.scan}</h1>
        ${qrPicture(url, t.scan)}
        ${
          link.amount === null
            ? html`
                <p class="muted">${t.cardAnyAmount}</p>
                ${link.item_name !== null && html`<p><bdi>${link.item_name}</bdi></p>`}
              `
            : amountLines(money(link.amount, link.currency), link.item_name)
        }
        <br>
        <p class="muted">${t.cardOpen}<br>${url}</p>
        ${printButton(t)}
      </div>
    `,
  });
}

export type MessageContent = { title: string; text: string; status: number; back?: string | null };

/** A page with one message. */
export function messagePage(layout: CheckoutLayout, message: MessageContent): HtmlPage {
  return layoutPage(layout, {
    title: message.title,
    status: message.status,
    script: false,
    body: html`
      <div class="card">
        ${icon('warning', '!')}
        <h1>${message.title}</h1>
        <p>${message.text}</p>
        ${message.back && linkButton(message.back, layout.locale.t.back)}
      </div>
    `,
  });
}

/** Shown by the script, which is what prints. */
function printButton(t: CheckoutMessages): Html {
  return html`<br><button type="button" class="secondary" id="print" hidden>${t.print}</button>`;
}

function qrPicture(url: string, label: string): Html {
  // Inline, because another request costs a payer on 2G a second and a half. Trusted: made by us from our own address.
  const svg = linkQrSvg(url).replace('<svg ', '<svg class="qr" role="img" aria-label="QR" ');
  return html`<span title="${label}">${trusted(svg)}</span>`;
}
