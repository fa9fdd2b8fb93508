// Payouts: one at a time, or a pasted file that is first only read (the dry run), with the lines to mend as a file; who
// must allow them, and how far they have come. A payout itself is looked at in its case file.

import type { FastifyReply } from 'fastify';
import { setPayoutApproval } from '../holders/holders.ts';
import { listPayoutBatches } from '../payments/payout-orders.ts';
import {
  listPayouts,
  orderPayouts,
  type PayoutOrder,
  type PayoutReading,
  type PayoutRequest,
  type PayoutRow,
  readPayout,
} from '../payments/payouts.ts';
import { isFinal } from '../payments/states.ts';
import { refOf } from '../payments/transactions.ts';
import { parseCsv, writeCsv } from '../platform/csv.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { codeBlock, dataTable, emptyState, statusTag, tag, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { errorBox, formField, postButton, postForm } from './form-components.ts';
import { isFirst, onceField } from './form-idempotency.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER, TREASURERS } from './route.ts';
import { methodName } from './transaction-table.ts';

const SHOWN = 100;
const MAX_RECORDS = 2_000;
const MAX_FILE_CHARACTERS = 700_000;
const LIVE_SECONDS = 5;
/** The columns of a file, in the order they are asked for. Any order works: the first line names them. */
const COLUMNS = ['amount', 'currency', 'mobile', 'method', 'payee', 'invoice_no', 'detail'] as const;
type ColumnName = (typeof COLUMNS)[number];

export const payoutRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/payouts', listPage),
  forRoles(TREASURERS, 'GET', '/payouts/new', (request) => newPage(request), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts', create, { confirm: true }),
  forRoles(TREASURERS, 'GET', '/payouts/import', (request) => importPage(request), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/check', dryRun, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/import', importFile, { confirm: true }),
  forRoles(OWNER, 'POST', '/payouts/approval', changeApproval, { confirm: true }),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, role, holder } = request;
  const [payouts, batches] = await Promise.all([
    listPayouts(ctx, holder.id, SHOWN),
    listPayoutBatches(ctx.db, holder.id),
  ]);
  const may = TREASURERS.includes(role);
  const buttons =
    may &&
    html`<a class="button" href="/console/payouts/new">${t.payouts.create}</a><a class="button button-secondary" href="/console/payouts/import">${t.payouts.import}</a>`;
  const open = payouts.some((each) => !isFinal(each.status));
  return renderPage(request, {
    title: t.menu.payouts,
    lead: t.payouts.lead,
    active: 'payouts',
    ...(open ? { live: LIVE_SECONDS } : {}),
    ...(buttons ? { actions: buttons } : {}),
    body: html`${payouts.length === 0 ? emptyState(t.payouts.none, t.payouts.noneText, may && html`<a class="button" href="/console/payouts/new">${t.payouts.create}</a>`) : payoutTable(request, payouts)}${
      batches.length > 0 &&
      html`<h2>${t.payouts.files}</h2>${dataTable(
        t.payouts.files,
        [
          { label: t.payouts.file },
          { label: t.payouts.progress },
          { label: t.payouts.createdBy },
          { label: t.created },
        ],
        batches.map((batch) => {
          const over = (batch.states.success ?? 0) + (batch.states.failed ?? 0) + (batch.states.reversed ?? 0);
          return [
            html`<bdi>${batch.name}</bdi>`,
            html`<progress max="${Math.max(1, batch.payouts)}" value="${over}" aria-label="${t.payouts.progress}: ${batch.name}"></progress><span class="muted">${t.payouts.progressText(over, batch.payouts, batch.states.failed ?? 0)}</span>`,
            html`<bdi>${batch.created_by}</bdi>`,
            timeTag(batch.created_at),
          ];
        }),
      )}`
    }${role === 'owner' && html`<section class="card"><h2>${t.payouts.approvalTitle}</h2>${postForm(request, '/payouts/approval', html`${formField({ type: 'checkbox', name: 'needed', label: t.payouts.approvalText, checked: holder.payouts_need_approval })}<button class="button-secondary">${t.save}</button>`)}</section>`}`,
  });
}

function payoutTable(request: HolderRequest, payouts: readonly PayoutRow[]): Html {
  const { t, session, role } = request;
  return dataTable(
    t.menu.payouts,
    [
      { label: t.payee },
      { label: t.state },
      { label: t.amount, right: true },
      { label: t.method },
      { label: t.payouts.createdBy },
      { label: t.payouts.approvedBy },
      { label: t.created },
    ],
    payouts.map((row) => [
      html`<a href="/console/transactions/${refOf(row)}"><bdi>${row.payee ?? `+${row.msisdn}`}</bdi></a>${row.payee && html`<span class="muted"><bdi>+${row.msisdn}</bdi></span>`}`,
      row.waits_for_approval ? tag('warning', t.payouts.waits) : statusTag(request, row.status, 'payout'),
      money(request, row.amount, row.currency),
      methodName(request, row.method),
      html`<bdi>${row.created_by}</bdi>`,
      row.waits_for_approval && TREASURERS.includes(role) && row.created_by !== session.member.email
        ? postButton(request, `/transactions/${refOf(row)}/approve`, t.payouts.approve, { variant: 'secondary' })
        : row.approved_by && html`<bdi>${row.approved_by}</bdi>`,
      timeTag(row.created_at),
    ]),
  );
}

function methodChoices(request: HolderRequest) {
  const methods = [...request.ctx.catalog.methods.values()].filter((method) => method.payout);
  return [
    ['', request.t.payouts.byNumber] as const,
    ...methods.map((each) => [each.code, `${each.name} (${each.country.name})`] as const),
  ];
}

function currencies(request: HolderRequest): string[] {
  return [
    ...new Set(
      [...request.ctx.catalog.methods.values()].filter((method) => method.payout).map((method) => method.currency),
    ),
  ].sort();
}

function newPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  const value = (name: string) => fieldOf(request, name);
  return renderPage(request, {
    title: t.payouts.create,
    lead: request.holder.payouts_need_approval ? t.payouts.willWait : t.payouts.willGo,
    active: 'payouts',
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(request, errors)}${postForm(
      request,
      '/payouts',
      html`<div class="field-row">${formField({ type: 'select', name: 'currency', label: t.currency, value: value('currency'), choices: currencies(request).map((each) => [each, each] as const), errors })}${formField({ name: 'amount', label: t.amount, value: value('amount'), required: true, errors, attributes: html`inputmode="decimal"` })}${formField({ name: 'mobile', label: t.number, value: value('mobile'), required: true, errors, attributes: html`inputmode="tel"` })}${formField({ type: 'select', name: 'method', label: t.method, value: value('method'), choices: methodChoices(request), errors })}${formField({ name: 'payee', label: t.payee, value: value('payee'), errors })}${formField({ name: 'invoice_no', label: t.invoice, value: value('invoice_no'), errors })}${formField({ name: 'detail', label: t.payouts.detail, value: value('detail'), errors })}</div>${onceField(request.ctx)}<button>${t.payouts.create}</button>`,
    )}</div>`,
  });
}

async function create(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const value = (name: ColumnName) => fieldOf(request, name);
  const reading = await readPayout(ctx, holder.id, requestFrom(value));
  if (!reading.ok) return newPage(request, reading.errors);
  if (!(await isFirst(ctx, fieldOf(request, 'once', 40)))) return redirect(request, '/console/payouts', 'sentBefore');
  const [result] = await orderPayouts(ctx, request.services.payments.engine, request.actor, holder.id, [reading.order]);
  if (!result?.ok) return newPage(request, { amount: [t.payouts.overdraft] });
  return redirect(
    request,
    `/console/transactions/${refOf(result.transaction)}`,
    holder.payouts_need_approval ? 'payoutWaits' : 'payoutMade',
  );
}

function requestFrom(value: (name: ColumnName) => string): PayoutRequest {
  return {
    amount: value('amount').replace(/[\s,]/g, ''),
    currency: value('currency').toUpperCase(),
    mobile: value('mobile'),
    method: value('method') || undefined,
    payee: value('payee') || undefined,
    invoiceNo: value('invoice_no') || undefined,
    detail: value('detail') || undefined,
  };
}

function importPage(request: HolderRequest, problem?: string): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.payouts.import,
    lead: t.payouts.importLead,
    active: 'payouts',
    ...(problem ? { status: 400 } : {}),
    body: html`<div class="card">${problem && errorBox(request, undefined, problem)}${postForm(
      request,
      '/payouts/check',
      html`${formField({ name: 'name', label: t.payouts.fileName, value: fieldOf(request, 'name', 120), attributes: html`maxlength="120"` })}<div class="field" data-js hidden><label for="f-file">${t.payouts.file}</label><input id="f-file" type="file" accept=".csv,text/csv,text/plain" data-text="#f-csv"></div>${formField({ type: 'textarea', name: 'csv', label: t.payouts.csv, hint: t.payouts.csvHint, value: fieldOf(request, 'csv', MAX_FILE_CHARACTERS), required: true, rows: 10 })}<button>${t.payouts.check}</button>`,
    )}<p class="muted">${t.payouts.example}</p>${codeBlock(request, 'csv-example', `${COLUMNS.join(',')}\n1500,KES,0712345000,,Wanjiku Otieno,INV-7,Refund`, t.payouts.example)}</div>`,
  });
}

type Line = { number: number; record: string[]; payout: PayoutRequest; reading: PayoutReading };
type FileReading = { head: string[]; lines: Line[] };

/** Reads and checks a whole file without writing anything. */
async function readFile(request: HolderRequest, text: string): Promise<FileReading | string> {
  const { t } = request;
  const records = parseCsv(text, MAX_RECORDS + 1);
  if (!records) return t.payouts.fileWrong(MAX_RECORDS);
  const [head = [], ...rest] = records;
  const names = head.map((each) => each.toLowerCase().replace(/[\s-]+/g, '_'));
  const missing = (['amount', 'currency', 'mobile'] as const).filter((name) => !names.includes(name));
  if (missing.length > 0) return t.payouts.columnsMissing(missing.join(', '));
  if (rest.length === 0) return t.payouts.fileEmpty;
  const lines: Line[] = [];
  for (const [index, record] of rest.entries()) {
    const payout = requestFrom((name) => record[names.indexOf(name)] ?? '');
    lines.push({
      number: index + 2,
      record,
      payout,
      reading: await readPayout(request.ctx, request.holder.id, payout),
    });
  }
  return { head, lines };
}

async function dryRun(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const csv = fieldOf(request, 'csv', MAX_FILE_CHARACTERS);
  const reading = await readFile(request, csv);
  if (typeof reading === 'string') return importPage(request, reading);
  const good = reading.lines.flatMap(({ reading: each }) => (each.ok ? [each.order] : []));
  const wrong = reading.lines.filter(({ reading: each }) => !each.ok);
  return renderPage(request, {
    title: t.payouts.checked,
    active: 'payouts',
    body: html`<p class="box neutral">${t.payouts.nothingSent}</p>${sums(request, good)}${
      wrong.length > 0 &&
      html`<div class="card"><h2>${t.payouts.toMend(wrong.length)}</h2>${dataTable(
        t.payouts.toMend(wrong.length),
        [{ label: t.payouts.line, right: true }, { label: t.payouts.content }, { label: t.payouts.fault }],
        wrong.map((line) => [
          line.number,
          html`<code>${line.record.join(', ')}</code>`,
          line.reading.ok ? '' : Object.values(line.reading.errors).flat().join(' '),
        ]),
      )}<p class="muted">${t.payouts.fixFile}</p>${codeBlock(request, 'fix-file', fixFile(reading), t.payouts.fixFile)}</div>`
    }${good.length > 0 && postForm(request, '/payouts/import', html`${onceField(request.ctx)}<input type="hidden" name="name" value="${fieldOf(request, 'name', 120)}"><input type="hidden" name="csv" value="${csv}"><button>${t.payouts.orderAll(good.length)}</button> <a href="/console/payouts/import">${t.back}</a>`)}`,
  });
}

/** The lines that were not taken, each with what is wrong with it: mended, it can be pasted again. */
function fixFile({ head, lines }: FileReading): string {
  const wrong = lines.filter(({ reading }) => !reading.ok);
  const rows = wrong.map(({ record, reading }) => [
    ...head.map((_, index) => record[index] ?? ''),
    reading.ok ? '' : Object.values(reading.errors).flat().join(' '),
  ]);
  return writeCsv([[...head, 'problem'], ...rows]);
}

function sums(request: HolderRequest, orders: readonly PayoutOrder[]): Html {
  const { t } = request;
  const totals = new Map<string, { count: number; amount: bigint; fee: bigint }>();
  for (const order of orders) {
    const total = totals.get(order.method.currency) ?? { count: 0, amount: 0n, fee: 0n };
    totals.set(order.method.currency, {
      count: total.count + 1,
      amount: total.amount + order.amount,
      fee: total.fee + order.fee,
    });
  }
  return html`<div class="cards">${[...totals].map(([currency, total]) => html`<div class="card"><p class="figure">${money(request, total.amount, currency)}</p><p class="muted">${t.payouts.count(total.count)} · ${t.fee} ${money(request, total.fee, currency)}</p></div>`)}</div>`;
}

async function importFile(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const reading = await readFile(request, fieldOf(request, 'csv', MAX_FILE_CHARACTERS));
  if (typeof reading === 'string') return importPage(request, reading);
  const orders = reading.lines.flatMap(({ reading: each }) => (each.ok ? [each.order] : []));
  if (orders.length === 0) throw new Problem('invalid_params', { message: t.payouts.fileEmpty });
  const name = fieldOf(request, 'name', 120) || ctx.clock.now().toISOString().slice(0, 16).replace('T', ' ');
  if (!(await isFirst(ctx, fieldOf(request, 'once', 40)))) return redirect(request, '/console/payouts', 'sentBefore');
  const results = await orderPayouts(ctx, request.services.payments.engine, request.actor, holder.id, orders, name);
  const short = results.filter((result) => !result.ok).length;
  return redirect(request, '/console/payouts', short > 0 ? 'importShort' : 'imported');
}

async function changeApproval(request: HolderRequest): Promise<FastifyReply> {
  await setPayoutApproval(request.ctx, request.actor, request.holder.id, fieldOf(request, 'needed') === 'yes');
  return redirect(request, '/console/payouts', 'saved');
}
