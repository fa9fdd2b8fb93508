// A page that holds one message, such as a link that has expired.

import { type HtmlPage, html } from '../platform/html.ts';
import { type CheckoutLayout, icon, layoutPage, linkButton } from './layout.ts';

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
