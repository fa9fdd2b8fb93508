// /sandbox/components: every component of the design on one page, for people who build pages.

import type { Config } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { type Html, type HtmlPage, html, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import {
  breadcrumbs,
  chips,
  dataTable,
  emptyState,
  facts,
  figureCard,
  menuButton,
  operatorTile,
  segments,
  status,
  sum,
  tag,
  todo,
  who,
} from '../ui/components.ts';
import { ICON_NAMES, icon } from '../ui/icons.ts';
import { sandboxPage } from './sandbox-layout.ts';

const TONES = ['success', 'warning', 'error', 'neutral'] as const;
const HERE = '/sandbox/components';
const OPERATORS = [
  'M-PESA',
  'MTN MoMo',
  'Airtel Money',
  'Orange Money',
  'Wave',
  'Tigo Pesa',
  'Bank transfer',
  'Halopesa',
];

export function componentsRoute(app: HttpServer, { config }: Context): void {
  if (config.mode !== 'sandbox') return;
  const page = componentsPage(config);
  app.get(HERE, (request, reply) => sendPage(request, reply, page));
}

function componentsPage(config: Config): HtmlPage {
  return sandboxPage(config, {
    title: 'Components',
    lead: html`What every page is made of. The rules are in docs/design.md, the code is in src/ui.`,
    body: html`
      ${section('Type', typeScale())}
      ${section('Buttons', buttons())}
      ${section('Status and tags', statuses())}
      ${section(
        'Messages',
        TONES.map((tone) => html`<p class="box ${tone}">A message in the tone “${tone}”.</p>`),
      )}
      ${section('Figures', figures())}
      ${section('Choices', choices())}
      ${section('Table', table())}
      ${section('Needs you', html`<ul class="plain">${todos()}</ul>`)}
      ${section('Facts and sums', factsAndSums())}
      ${section('Form', fields())}
      ${section('Timeline', timeline())}
      ${section('Operators', html`<div class="actions">${OPERATORS.map(operatorWithName)}</div>`)}
      ${section('Icons', html`<div class="actions">${ICON_NAMES.map(iconWithName)}</div>`)}
      <h2>Empty list</h2>
      ${emptyState(
        'No payments yet',
        'Payments appear here as soon as a customer pays.',
        html`<a class="button" href="${HERE}">Create a link</a>`,
      )}
    `,
  });
}

function section(title: string, body: Html | readonly Html[]): Html {
  return html`
    <section class="card">
      <h2>${title}</h2>
      ${body}
    </section>
  `;
}

function typeScale(): Html {
  return html`
    <p class="figure">KES 732 400</p>
    <p>Text in 14 px. <span class="muted">Secondary text in 13 px.</span> <code>A reference</code></p>
    <p><a href="${HERE}">A link</a> <a class="quiet-link" href="${HERE}">A quiet link</a></p>
  `;
}

function buttons(): Html {
  return html`
    <div class="actions">
      <a class="button" href="${HERE}">Primary</a>
      <a class="button button-secondary" href="${HERE}">${icon('download')}Secondary</a>
      <button class="button-danger" type="button">Danger</button>
      <button class="button-link" type="button">Link</button>
      ${menuButton(html`${icon('plus')}New`, [
        { label: 'Payment link', href: HERE, icon: 'link' },
        { label: 'Payout', href: HERE, icon: 'send' },
      ])}
    </div>
  `;
}

function statuses(): Html {
  return html`
    <p class="actions">
      ${status('success', 'Succeeded')}
      ${status('warning', 'Awaiting PIN')}
      ${status('error', 'Failed', 'Not enough money')}
      ${status('neutral', 'Refunded')}
    </p>
    <p class="actions">${TONES.map((tone) => tag(tone, tone))}</p>
  `;
}

function figures(): Html {
  return html`
    <div class="cards">
      ${figureCard('Collected', 'KES 732 400', html`<span class="up">12 %</span> more than the 14 days before`)}
      ${figureCard('Available balance', 'KES 214 310', 'KES 18 400 on its way out')}
      ${figureCard('Success rate', '91.4 %', html`<span class="down">2.1 points</span> less than before`)}
    </div>
  `;
}

function choices(): Html {
  const choice = (label: string, current: boolean, count?: number) => ({
    label,
    href: HERE,
    current,
    ...(count === undefined ? {} : { count }),
  });
  return html`
    ${breadcrumbs('Where this page is', [['Transactions', HERE]], 'KES 2 500')}
    ${chips('Status', [choice('All', true, 214), choice('Succeeded', false, 190), choice('Failed', false, 24)])}
    ${segments('Range', [choice('7 days', false), choice('14 days', true), choice('Month', false)])}
  `;
}

function table(): Html {
  const row = (name: string, number: string, method: string, state: Html, amount: string) => [
    who(name, number, { href: HERE, tile: operatorTile(method) }),
    state,
    html`<span class="money">${amount}</span>`,
  ];
  return dataTable(
    'Payments',
    [
      { label: 'Customer', phone: 'main' },
      { label: 'Status', phone: 'status' },
      { label: 'Amount', right: true, phone: 'amount' },
    ],
    [
      row('Wanjiku Otieno', '0712 345 678', 'M-PESA', status('success', 'Succeeded'), '+2 500 KES'),
      row('Okello J.', '0772 123 004', 'MTN MoMo', status('error', 'Failed', 'Not enough money'), '+85 000 UGX'),
    ],
  );
}

function todos(): Html[] {
  const review = html`<a class="button button-secondary" href="${HERE}">Review</a>`;
  return [
    todo('warning', '2 payouts to approve', 'KES 36 800, by Brian, 20 minutes ago', review),
    todo('error', 'Callbacks to shop.example.org are failing', '14 queued since 13:10', review),
  ];
}

function factsAndSums(): Html {
  return html`
    <div class="columns">
      ${facts([
        ['Reference', html`<code>TX_01M7GKBE1Z</code>`],
        ['Receipt', 'SJK4H7L2P9'],
      ])}
      ${sum([
        ['Paid by the customer', 'KES 2 500'],
        ['Fee', '− KES 25'],
        ['To your wallet', 'KES 2 475'],
      ])}
    </div>
  `;
}

function fields(): Html {
  return html`
    <form>
      <div class="field">
        <label for="c-amount">Amount</label>
        <input id="c-amount" inputmode="decimal" value="2500" aria-describedby="c-amount-hint">
        <span class="muted" id="c-amount-hint">In whole shillings</span>
      </div>
      <div class="field">
        <label for="c-phone">Phone number</label>
        <input id="c-phone" value="07" aria-invalid="true" aria-describedby="c-phone-error">
        <p class="field-error" id="c-phone-error">A number has nine digits after 0.</p>
      </div>
      <div class="field">
        <label for="c-country">Country</label>
        <select id="c-country"><option>Kenya</option><option>Uganda</option></select>
      </div>
    </form>
  `;
}

function timeline(): Html {
  return html`
    <ol class="timeline">
      <li class="success"><time>14:31:20</time><b>M-PESA confirmed the payment</b><br>Receipt SJK4H7L2P9</li>
      <li><time>14:31:02</time><b>Sent to M-PESA: accepted</b></li>
      <li><time>14:31:01</time><b>Request received</b></li>
    </ol>
  `;
}

function operatorWithName(name: string): Html {
  return html`<span class="who">${operatorTile(name)}<span>${name}</span></span>`;
}

function iconWithName(name: string): Html {
  return html`<span class="muted">${icon(name)} ${name}</span>`;
}
