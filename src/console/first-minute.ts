// The guided first minute of a sandbox: four steps that tick themselves from what is in the database.

import { listDeliveries } from '../callbacks/resend.ts';
import { KEPT_DAYS, listRequests } from '../holders/request-log.ts';
import { listTransactions } from '../payments/listing.ts';
import type { Transaction } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import { type Html, html } from '../platform/html.ts';
import { status, todo } from '../ui/components.ts';
import type { HolderRequest } from './console-request.ts';
import { MAKERS } from './route.ts';
import { sampleShopButton } from './sample-shop-button.ts';

/** With more transactions than this nobody needs the steps. */
const FEW = 10;
/** A number without a scenario: its prompt waits on the test phone. */
const FIRST_PHONE = '254712345678';

type Step = { title: string; text: string; isDone: boolean; button: Html | false };

/** Nothing in live mode, for those who may not create payments, and when all steps are done. */
export async function firstMinute(request: HolderRequest): Promise<Html | false> {
  const { ctx, holder, role, t } = request;
  if (ctx.config.mode !== 'sandbox' || !MAKERS.includes(role)) return false;
  const { rows } = await listTransactions(ctx.db, holder.id, {}, { limit: FEW });
  if (rows.length === FEW) return false;
  const steps = await stepsOf(request, rows);
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length) return false;
  return html`
    <section class="card" id="first-minute">
      <div class="card-head">
        <h2>${t.firstMinute.title}</h2>
        <span class="muted">${t.firstMinute.done(done, steps.length)}</span>
      </div>
      <ul class="plain">${steps.map((step) => stepItem(request, step))}</ul>
      ${sampleShopButton(request)}
    </section>
  `;
}

function stepItem({ t }: HolderRequest, { title, text, isDone, button }: Step): Html {
  return todo(isDone ? 'success' : 'neutral', title, text, isDone ? status('success', t.firstMinute.stepDone) : button);
}

async function stepsOf({ ctx, holder, t }: HolderRequest, rows: readonly Transaction[]): Promise<Step[]> {
  const since = new Date(ctx.clock.millis() - KEPT_DAYS * DAY_MS);
  const [deliveries, requests] = await Promise.all([
    listDeliveries(ctx.db, holder.id, { limit: FEW }),
    listRequests(ctx.db, holder.id, { since }, 1),
  ]);
  const texts = t.firstMinute;
  const collections = rows.filter(({ direction }) => direction === 'collection');
  const phone = `/sandbox/phone?n=${collections[0]?.msisdn ?? FIRST_PHONE}`;
  const step = (title: string, text: string, isDone: boolean, button: Html | false = false): Step => ({
    title,
    text,
    isDone,
    button,
  });
  return [
    step(texts.payment, texts.paymentText, collections.length > 0),
    step(
      texts.phone,
      texts.phoneText,
      collections.some(({ status: state }) => state === 'success' || state === 'reversed'),
      buttonTo(phone, texts.phoneButton),
    ),
    step(
      texts.callback,
      texts.callbackText,
      deliveries.some(({ status: state }) => state === 'delivered'),
      buttonTo('/sandbox/callbacks', texts.callbackButton),
    ),
    step(texts.request, texts.requestText, requests.length > 0, buttonTo('/docs/quickstart', texts.requestButton)),
  ];
}

function buttonTo(href: string, label: string): Html {
  return html`<a class="button button-secondary" href="${href}" target="_blank" rel="noopener">${label}</a>`;
}
