// The switch for receipts by SMS, on the settings page: which ways to pay it reaches, because not every operator can send one.

import type { FastifyReply } from 'fastify';
import { receiptTextsAreOn, switchReceiptTexts } from '../checkout/receipt-texts.ts';
import { type Html, html } from '../platform/html.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { form } from './form-components.ts';
import { redirect } from './layout.ts';
import { methodInCountry } from './names.ts';
import { type ConsoleRoute, forRoles, OWNER } from './route.ts';

export const receiptTextRoutes: ConsoleRoute[] = [forRoles(OWNER, 'POST', '/settings/receipts', save)];

export async function receiptTextCard(request: HolderRequest): Promise<Html> {
  const { ctx, t, holder, role } = request;
  const isOn = await receiptTextsAreOn(ctx.db, holder.id);
  const { receiptTexts } = t.accountSettings;
  return html`
    <section class="card" aria-labelledby="receipts-title">
      <h2 id="receipts-title">${receiptTexts.title}</h2>
      <p class="muted">${receiptTexts.text}</p>
      ${reach(request)}
      ${
        role === 'owner'
          ? form(request, {
              action: '/settings/receipts',
              fields: [{ type: 'checkbox', name: 'on', label: receiptTexts.label, checked: isOn }],
              submit: t.save,
            })
          : html`<p>${isOn ? receiptTexts.on : receiptTexts.off}</p><p class="muted">${t.accountSettings.ownerOnly}</p>`
      }
    </section>
  `;
}

/** The ways to pay whose operator sends the text, by name and country. */
function reach(request: HolderRequest): Html {
  const { ctx, t, holder } = request;
  const { receiptTexts } = t.accountSettings;
  const methods = [...ctx.catalog.methods.values()].filter((method) => method.type === 'mobile operator');
  const offered = methods.flatMap((method) => {
    const can = ctx.rails.railFor(method, 'collection', holder.id)?.capabilitiesOf(method, 'collection');
    return can ? [{ name: methodInCountry(request, method), isReached: can.textsPayers === true }] : [];
  });
  const reached = offered.filter(({ isReached }) => isReached).map(({ name }) => name);
  if (reached.length === 0) return html`<p class="box neutral">${receiptTexts.reachesNone}</p>`;
  return html`
    <p>
      ${
        reached.length === offered.length
          ? receiptTexts.reachesAll
          : receiptTexts.reaches([...new Set(reached)].join(', '))
      }
    </p>
  `;
}

async function save(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder } = request;
  await switchReceiptTexts(ctx, actor, holder.id, fieldOf(request, 'on') === 'yes');
  return redirect(request, '/console/settings', 'saved');
}
