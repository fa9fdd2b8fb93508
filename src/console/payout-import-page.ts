// Importing a file of payouts: the CSV is pasted, checked without writing anything, and ordered as a whole after a
// confirmation. Rows with errors are given back as a list of their own.

import type { FastifyReply } from 'fastify';
import { BlockedNumberProblem } from '../payments/payment-limits.ts';
import {
  type CheckedRow,
  type ColumnProblems,
  MAX_PAYOUT_FILE_BYTES,
  MAX_PAYOUT_FILE_ROWS,
  type PayoutFileReading,
  problemOf,
  readPayoutFile,
  rowsToFix,
} from '../payments/payout-file-reader.ts';
import {
  MAX_PAYOUT_FILE_NAME,
  type OrderedFile,
  orderPayoutFile,
  RepeatedFileError,
  ShortWalletError,
  totalsOf,
} from '../payments/payout-files.ts';
import type { PayoutOrder } from '../payments/payout-requests.ts';
import type { PayoutFileRow } from '../payments/payouts.ts';
import {
  findSimilarPayouts,
  RepeatedPayoutsError,
  repeatsKey,
  type SimilarPayout,
} from '../payments/similar-payouts.ts';
import { writeCsvToRead } from '../platform/csv.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable } from '../ui/components.ts';
import { codeBlock, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import { FormUsedError, onceField, useForm } from './form-idempotency.ts';
import { redirect, renderPage } from './layout.ts';
import { payeeTable, shortageBox } from './payout-check-list.ts';
import { PAYOUT_FIELDS } from './payout-fields.ts';
import { totalCards } from './payout-file-page.ts';
import { confirmedRepeats, fingerprintOf } from './payout-form.ts';
import { type ConsoleRoute, forRoles, TREASURERS } from './route.ts';

/** Repetitions that are listed; all of them are counted. */
const MAX_REPEATS_SHOWN = 100;
const EXAMPLE = `${PAYOUT_FIELDS.join(',')}\n1500,KES,0712345000,,Wanjiku Otieno,INV-7,Refund`;

export const payoutImportRoutes: ConsoleRoute[] = [
  forRoles(TREASURERS, 'GET', '/payouts/import', (request) => importPage(request), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/check', checkFile, { confirm: true, largeForm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/import', importFile, { confirm: true, largeForm: true }),
];

type ReadFile = Extract<PayoutFileReading, { ok: true }>;

function nameOf(request: HolderRequest): string {
  return fieldOf(request, 'name', MAX_PAYOUT_FILE_NAME);
}

/** One character more than a file may have: a longer one is refused, never cut. */
function csvOf(request: HolderRequest): string {
  return fieldOf(request, 'csv', MAX_PAYOUT_FILE_BYTES + 1);
}

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
              value: nameOf(request),
              attributes: html`maxlength="${MAX_PAYOUT_FILE_NAME}"`,
            },
            fileField(request),
            {
              type: 'textarea',
              name: 'csv',
              label: t.payouts.csv,
              hint: t.payouts.csvHint,
              value: csvOf(request),
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

/** The checked file, or a sentence when it cannot be read at all. */
async function readFile(request: HolderRequest): Promise<ReadFile | string> {
  const { t } = request;
  const file = await readPayoutFile(request.ctx, request.holder.id, csvOf(request), { language: request.language });
  if (file.ok) return file;
  switch (file.reason) {
    case 'too_large':
      return t.payouts.listTooLarge;
    case 'unreadable':
      return t.payouts.listUnreadable(MAX_PAYOUT_FILE_ROWS);
    case 'encoding':
      return t.payouts.listEncoding;
    case 'empty':
      return t.payouts.listEmpty;
    case 'columns':
      return columnProblem(request, file);
  }
}

function columnProblem({ t }: HolderRequest, { missing, unknown, repeated }: ColumnProblems): string {
  if (missing.length > 0) return t.payouts.columnsMissing(missing.join(', '));
  if (unknown.length > 0) return t.payouts.columnsUnknown(unknown.join(', '));
  return t.payouts.columnsRepeated(repeated.join(', '));
}

function goodRows({ rows }: ReadFile): PayoutFileRow[] {
  return rows.flatMap(({ line, reading }) => (reading.ok ? [{ line, order: reading.order }] : []));
}

async function checkFile(request: HolderRequest): Promise<FastifyReply> {
  const file = await readFile(request);
  return typeof file === 'string' ? importPage(request, file) : checkedPage(request, file);
}

/** What the file would order, the rows to fix, what looks like a repetition, and the button if every row is right. */
async function checkedPage(request: HolderRequest, file: ReadFile, problem?: string): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const rows = goodRows(file);
  const isComplete = rows.length === file.rows.length;
  const orders = rows.map(({ order }) => order);
  const similar = isComplete ? await findSimilarPayouts(ctx, ctx.db, holder.id, orders) : [];
  return renderPage(request, {
    title: t.payouts.checked,
    active: 'payouts',
    ...(problem ? { status: 409 } : {}),
    body: html`
      ${problem ? errorBox(request, undefined, problem) : html`<p class="box neutral">${t.payouts.nothingSent}</p>`}
      ${totalCards(request, [...totalsOf(rows)])}
      ${!problem && (await shortageBox(request, rows))}
      ${payeeTable(request, rows)}
      ${!isComplete && errorCard(request, file)}
      ${similar.length > 0 && repeatsCard(request, rows, similar)}
      ${isComplete && orderForm(request, orders, similar)}
    `,
  });
}

function orderForm(request: HolderRequest, orders: readonly PayoutOrder[], similar: readonly SimilarPayout[]): Html {
  const { t, ctx } = request;
  return form(request, {
    action: '/payouts/import',
    hidden: {
      name: nameOf(request),
      csv: csvOf(request),
      shown: fingerprintOf(request, orders),
      repeats: repeatsKey(similar),
    },
    fields: [
      similar.length > 0 && {
        type: 'checkbox' as const,
        name: 'confirm_repeats',
        label: t.payouts.confirmFileRepeats(similar.length),
        checked: false,
        required: true,
      },
      onceField(ctx),
    ],
    submit: t.payouts.createAll(orders.length),
    beside: html`<a href="/console/payouts/import">${t.back}</a>`,
  });
}

function errorCard(request: HolderRequest, { columns, rows }: ReadFile): Html {
  const { t } = request;
  const wrong = rows.filter(({ reading }) => !reading.ok);
  const title = t.payouts.rowsToFix(wrong.length);
  const cellsOf = (row: CheckedRow) => [row.line, html`<code>${row.cells.join(', ')}</code>`, problemOf(row)];
  return html`
    <div class="card">
      <h2>${title}</h2>
      <p>${t.payouts.fixFirst}</p>
      ${dataTable(
        title,
        [{ label: t.payouts.row, right: true }, { label: t.payouts.content }, { label: t.payouts.error }],
        wrong.map(cellsOf),
      )}
      <p class="muted">${t.payouts.fixList}</p>
      ${codeBlock(request, 'fix-file', writeCsvToRead(rowsToFix(columns, wrong)), t.payouts.fixList)}
    </div>
  `;
}

function repeatsCard(request: HolderRequest, rows: readonly PayoutFileRow[], similar: readonly SimilarPayout[]): Html {
  const { t } = request;
  const title = t.payouts.repeats(similar.length);
  const before = ({ earlier, sameAs }: SimilarPayout) =>
    earlier
      ? html`
          <a href="/console/transactions/${earlier.ref}">${timeTag(request, earlier.createdAt)}</a>
          <span class="muted"><bdi>${earlier.fileName ?? earlier.createdBy}</bdi></span>
        `
      : t.payouts.sameAsRow(rows[sameAs ?? 0]?.line ?? 0);
  return html`
    <div class="card">
      <h2>${title}</h2>
      <p>${t.payouts.repeatsText}</p>
      ${dataTable(
        title,
        [
          { label: t.payouts.row, right: true },
          { label: t.payee },
          { label: t.amount, right: true },
          { label: t.payouts.orderedBefore },
        ],
        similar
          .slice(0, MAX_REPEATS_SHOWN)
          .map((each) => [
            rows[each.index]?.line ?? '',
            html`<bdi>${each.order.payee ?? ''}</bdi> <span class="muted"><bdi>+${each.order.msisdn}</bdi></span>`,
            money(request, each.order.amount, each.order.method.currency),
            before(each),
          ]),
      )}
    </div>
  `;
}

async function importFile(request: HolderRequest): Promise<FastifyReply> {
  const file = await readFile(request);
  if (typeof file === 'string') return importPage(request, file);
  const rows = goodRows(file);
  if (rows.length < file.rows.length) return checkedPage(request, file, request.t.payouts.fixFirst);
  const orders = rows.map(({ order }) => order);
  if (fieldOf(request, 'shown') !== fingerprintOf(request, orders))
    return checkedPage(request, file, request.t.payouts.listChanged);
  try {
    const ordered = await orderOnce(request, rows);
    const notice = ordered.waitsForApproval ? 'importNeedsApproval' : 'imported';
    return await redirect(request, `/console/payouts/files/${ordered.ref}`, notice);
  } catch (error) {
    if (error instanceof FormUsedError) return redirect(request, '/console/payouts', 'formAlreadySent');
    const refusal = refusalOf(request, error);
    if (refusal === null) throw error;
    return checkedPage(request, file, refusal);
  }
}

/** The form is spent in the transaction of its payouts: after a refusal it can be sent again. */
function orderOnce(request: HolderRequest, rows: PayoutFileRow[]): Promise<OrderedFile> {
  const { ctx, holder, actor, services } = request;
  const name = nameOf(request) || ctx.clock.now().toISOString().slice(0, 16).replace('T', ' ');
  return orderPayoutFile(
    ctx,
    services.payments.engine,
    actor,
    holder.id,
    { name, rows },
    {
      confirmedRepeats: confirmedRepeats(request),
      within: (tx) => useForm(tx, ctx, holder.id, fieldOf(request, 'once', 40)),
    },
  );
}

/** Why a file was refused, in the language of the page; null for other errors. */
function refusalOf(request: HolderRequest, error: unknown): string | null {
  const { t } = request;
  if (error instanceof RepeatedFileError) {
    const { name, createdBy, createdAt } = error.earlier;
    const at = `${createdAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    return t.payouts.fileRepeated(at, createdBy, name);
  }
  if (error instanceof RepeatedPayoutsError) return t.payouts.confirmRepeatsFirst;
  if (error instanceof BlockedNumberProblem) return t.numberBlocked(`+${error.msisdn}`);
  if (error instanceof Problem && error.code === 'limit_reached') return t.limitReached;
  if (!(error instanceof ShortWalletError)) return null;
  const shortages = error.shortages.map(({ currency, needed, available, missing }) =>
    t.payouts.shortage(
      money(request, needed, currency),
      money(request, available, currency),
      money(request, missing, currency),
    ),
  );
  return `${t.payouts.fileShort} ${shortages.join(' ')}`;
}
