// Importing a list of payouts: the CSV is pasted, checked without writing anything, and created after a confirmation.
// Rows with errors are given back as a list of their own.

import type { FastifyReply } from 'fastify';
import { type PayoutOrder, type PayoutReading, readPayout } from '../payments/payout-requests.ts';
import { parseCsv, writeCsv } from '../platform/csv.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { codeBlock, dataTable } from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import { onceField } from './form-idempotency.ts';
import { redirect, renderPage } from './layout.ts';
import { PAYOUT_FIELDS, payoutRequest } from './payout-fields.ts';
import { orderOnce } from './payout-form.ts';
import { type ConsoleRoute, forRoles, TREASURERS } from './route.ts';

const MAX_ROWS = 2_000;
const MAX_CSV_CHARACTERS = 700_000;
const MAX_NAME = 120;
const REQUIRED_COLUMNS = ['amount', 'currency', 'mobile'] as const;
const EXAMPLE = `${PAYOUT_FIELDS.join(',')}\n1500,KES,0712345000,,Wanjiku Otieno,INV-7,Refund`;

export const payoutImportRoutes: ConsoleRoute[] = [
  forRoles(TREASURERS, 'GET', '/payouts/import', (request) => importPage(request), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/check', checkList, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/import', importList, { confirm: true }),
];

function importPage(request: HolderRequest, problem?: string): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.payouts.import,
    lead: t.payouts.importLead,
    active: 'payouts',
    ...(problem ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${problem && errorBox(request, undefined, problem)}
        ${form(request, {
          action: '/payouts/check',
          fields: [
            {
              name: 'name',
              label: t.payouts.listName,
              value: fieldOf(request, 'name', MAX_NAME),
              attributes: html`maxlength="${MAX_NAME}"`,
            },
            fileField(request),
            {
              type: 'textarea',
              name: 'csv',
              label: t.payouts.csv,
              hint: t.payouts.csvHint,
              value: fieldOf(request, 'csv', MAX_CSV_CHARACTERS),
              required: true,
              rows: 10,
            },
          ],
          submit: t.payouts.check,
        })}
        <p class="muted">${t.payouts.example}</p>
        ${codeBlock(request, 'csv-example', EXAMPLE, t.payouts.example)}
      </div>
    `,
  });
}

/** The script puts the text of the chosen file into the text area, so the file itself is never uploaded. */
function fileField({ t }: HolderRequest): Html {
  return html`
    <div class="field" data-js hidden>
      <label for="f-file">${t.payouts.file}</label>
      <input id="f-file" type="file" accept=".csv,text/csv,text/plain" data-text="#f-csv">
    </div>
  `;
}

type ListRow = { number: number; cells: string[]; reading: PayoutReading };
type PayoutList = { columns: string[]; rows: ListRow[] };

/** Reads and checks a whole list without writing anything; a sentence when it cannot be read at all. */
async function readList(request: HolderRequest, text: string): Promise<PayoutList | string> {
  const { t } = request;
  const records = parseCsv(text, MAX_ROWS + 1);
  if (!records) return t.payouts.listUnreadable(MAX_ROWS);
  const [columns = [], ...rest] = records;
  const names = columns.map((column) => column.toLowerCase().replace(/[\s-]+/g, '_'));
  const missing = REQUIRED_COLUMNS.filter((name) => !names.includes(name));
  if (missing.length > 0) return t.payouts.columnsMissing(missing.join(', '));
  if (rest.length === 0) return t.payouts.listEmpty;
  const rows: ListRow[] = [];
  for (const [index, cells] of rest.entries()) {
    const payout = payoutRequest(request.language, (name) => cells[names.indexOf(name)] ?? '');
    const reading = await readPayout(request.ctx, request.holder.id, payout);
    // The first row holds the names of the columns, and rows are counted from one.
    rows.push({ number: index + 2, cells, reading });
  }
  return { columns, rows };
}

function ordersOf({ rows }: PayoutList): PayoutOrder[] {
  return rows.flatMap(({ reading }) => (reading.ok ? [reading.order] : []));
}

async function checkList(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const csv = fieldOf(request, 'csv', MAX_CSV_CHARACTERS);
  const list = await readList(request, csv);
  if (typeof list === 'string') return importPage(request, list);
  const orders = ordersOf(list);
  return renderPage(request, {
    title: t.payouts.checked,
    active: 'payouts',
    body: html`
      <p class="box neutral">${t.payouts.nothingSent}</p>
      ${totalCards(request, orders)}
      ${orders.length < list.rows.length && errorCard(request, list)}
      ${
        orders.length > 0 &&
        form(request, {
          action: '/payouts/import',
          hidden: { name: fieldOf(request, 'name', MAX_NAME), csv },
          fields: [onceField(request.ctx)],
          submit: t.payouts.createAll(orders.length),
          beside: html`<a href="/console/payouts/import">${t.back}</a>`,
        })
      }
    `,
  });
}

function errorCard(request: HolderRequest, list: PayoutList): Html {
  const { t } = request;
  const rows = list.rows.filter(({ reading }) => !reading.ok);
  const title = t.payouts.rowsToFix(rows.length);
  return html`
    <div class="card">
      <h2>${title}</h2>
      ${dataTable(
        title,
        [{ label: t.payouts.row, right: true }, { label: t.payouts.content }, { label: t.payouts.error }],
        rows.map((row) => [row.number, html`<code>${row.cells.join(', ')}</code>`, errorOf(row)]),
      )}
      <p class="muted">${t.payouts.fixList}</p>
      ${codeBlock(request, 'fix-file', listOfErrors(list.columns, rows), t.payouts.fixList)}
    </div>
  `;
}

function errorOf({ reading }: ListRow): string {
  return reading.ok ? '' : Object.values(reading.errors).flat().join(' ');
}

/** The rows with errors as CSV, each with its error in a column that an import ignores. */
function listOfErrors(columns: readonly string[], rows: readonly ListRow[]): string {
  const records = rows.map((row) => [...columns.map((_, index) => row.cells[index] ?? ''), errorOf(row)]);
  return writeCsv([[...columns, 'problem'], ...records]);
}

/** The sum of each currency, with its fees. */
function totalCards(request: HolderRequest, orders: readonly PayoutOrder[]): Html {
  const { t } = request;
  const totals = new Map<string, { count: number; amount: bigint; fee: bigint }>();
  for (const { method, amount, fee } of orders) {
    const total = totals.get(method.currency) ?? { count: 0, amount: 0n, fee: 0n };
    totals.set(method.currency, { count: total.count + 1, amount: total.amount + amount, fee: total.fee + fee });
  }
  const card = ([currency, total]: [string, { count: number; amount: bigint; fee: bigint }]) => html`
    <div class="card">
      <p class="figure">${money(request, total.amount, currency)}</p>
      <p class="muted">${t.payouts.count(total.count)} · ${t.fee} ${money(request, total.fee, currency)}</p>
    </div>
  `;
  return html`<div class="cards">${[...totals].map(card)}</div>`;
}

async function importList(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const list = await readList(request, fieldOf(request, 'csv', MAX_CSV_CHARACTERS));
  if (typeof list === 'string') return importPage(request, list);
  const orders = ordersOf(list);
  if (orders.length === 0) throw new Problem('invalid_params', { message: t.payouts.listEmpty });
  const name = fieldOf(request, 'name', MAX_NAME) || ctx.clock.now().toISOString().slice(0, 16).replace('T', ' ');
  const results = await orderOnce(request, orders, name);
  if (results === null) return redirect(request, '/console/payouts', 'formAlreadySent');
  return redirect(request, '/console/payouts', results.every((result) => result.ok) ? 'imported' : 'importIncomplete');
}
