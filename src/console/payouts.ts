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
  type PayoutResult,
  type PayoutRow,
  readPayout,
} from '../payments/payouts.ts';
import { isFinal } from '../payments/states.ts';
import { refOf } from '../payments/transactions.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import {
  checkField,
  codeBlock,
  dataTable,
  emptyState,
  errorBox,
  inputField,
  postButton,
  postForm,
  selectField,
  statusTag,
  tag,
  textField,
  timeTag,
} from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { csvLine, parseCsv } from './csv.ts';
import { FormUsedError, onceField, useForm } from './form-idempotency.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER, TREASURERS } from './route.ts';
import { methodName } from './transactions.ts';

const SHOWN = 100;
const MAX_RECORDS = 2_000;
const MAX_FILE_CHARACTERS = 700_000;
const LIVE_SECONDS = 5;
/** The columns of a file, in the order they are asked for. Any order works: the first line names them. */
const COLUMNS = ['amount', 'currency', 'mobile', 'method', 'payee', 'invoice_no', 'detail'] as const;
type ColumnName = (typeof COLUMNS)[number];

export const payoutRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/payouts', listPage),
  forRoles(TREASURERS, 'GET', '/payouts/new', (visit) => newPage(visit), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts', create, { confirm: true }),
  forRoles(TREASURERS, 'GET', '/payouts/import', (visit) => importPage(visit), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/check', dryRun, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/import', importFile, { confirm: true }),
  forRoles(OWNER, 'POST', '/payouts/approval', changeApproval, { confirm: true }),
];

async function listPage(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, words, role, holder } = visit;
  const [payouts, batches] = await Promise.all([
    listPayouts(ctx, holder.id, SHOWN),
    listPayoutBatches(ctx.db, holder.id),
  ]);
  const may = TREASURERS.includes(role);
  const buttons =
    may &&
    html`<a class="btn" href="/console/payouts/new">${words.payouts.create}</a><a class="btn q" href="/console/payouts/import">${words.payouts.import}</a>`;
  const open = payouts.some((each) => !isFinal(each.status));
  return renderPage(visit, {
    title: words.menu.payouts,
    lead: words.payouts.lead,
    active: 'payouts',
    ...(open ? { live: LIVE_SECONDS } : {}),
    ...(buttons ? { actions: buttons } : {}),
    body: html`${payouts.length === 0 ? emptyState(words.payouts.none, words.payouts.noneText, may && html`<a class="btn" href="/console/payouts/new">${words.payouts.create}</a>`) : payoutTable(visit, payouts)}${
      batches.length > 0 &&
      html`<h2>${words.payouts.files}</h2>${dataTable(
        words.payouts.files,
        [
          { label: words.payouts.file },
          { label: words.payouts.progress },
          { label: words.payouts.createdBy },
          { label: words.created },
        ],
        batches.map((batch) => {
          const over = (batch.states.success ?? 0) + (batch.states.failed ?? 0) + (batch.states.reversed ?? 0);
          return [
            html`<bdi>${batch.name}</bdi>`,
            html`<progress max="${Math.max(1, batch.payouts)}" value="${over}" aria-label="${words.payouts.progress}: ${batch.name}"></progress><span class="m">${words.payouts.progressText(over, batch.payouts, batch.states.failed ?? 0)}</span>`,
            html`<bdi>${batch.created_by}</bdi>`,
            timeTag(batch.created_at),
          ];
        }),
      )}`
    }${role === 'owner' && html`<section class="card"><h2>${words.payouts.approvalTitle}</h2>${postForm(visit, '/payouts/approval', html`${checkField('needed', words.payouts.approvalText, holder.payouts_need_approval)}<button class="q">${words.save}</button>`)}</section>`}`,
  });
}

function payoutTable(visit: HolderRequest, payouts: readonly PayoutRow[]): Html {
  const { words, session, role } = visit;
  return dataTable(
    words.menu.payouts,
    [
      { label: words.payee },
      { label: words.state },
      { label: words.amount, right: true },
      { label: words.method },
      { label: words.payouts.createdBy },
      { label: words.payouts.approvedBy },
      { label: words.created },
    ],
    payouts.map((row) => [
      html`<a href="/console/transactions/${refOf(row)}"><bdi>${row.payee ?? `+${row.msisdn}`}</bdi></a>${row.payee && html`<span class="m"><bdi>+${row.msisdn}</bdi></span>`}`,
      row.waits_for_approval ? tag('w', words.payouts.waits) : statusTag(visit, row.status, 'payout'),
      money(visit, row.amount, row.currency),
      methodName(visit, row.method),
      html`<bdi>${row.created_by}</bdi>`,
      row.waits_for_approval && TREASURERS.includes(role) && row.created_by !== session.member.email
        ? postButton(visit, `/transactions/${refOf(row)}/approve`, words.payouts.approve, { look: 'q' })
        : row.approved_by && html`<bdi>${row.approved_by}</bdi>`,
      timeTag(row.created_at),
    ]),
  );
}

function methodChoices(visit: HolderRequest) {
  const methods = [...visit.ctx.catalog.methods.values()].filter((method) => method.payout);
  return [
    ['', visit.words.payouts.byNumber] as const,
    ...methods.map((each) => [each.code, `${each.name} (${each.country.name})`] as const),
  ];
}

function currencies(visit: HolderRequest): string[] {
  return [
    ...new Set(
      [...visit.ctx.catalog.methods.values()].filter((method) => method.payout).map((method) => method.currency),
    ),
  ].sort();
}

function newPage(visit: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { words } = visit;
  const value = (name: string) => fieldOf(visit, name);
  return renderPage(visit, {
    title: words.payouts.create,
    lead: visit.holder.payouts_need_approval ? words.payouts.willWait : words.payouts.willGo,
    active: 'payouts',
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(visit, errors)}${postForm(
      visit,
      '/payouts',
      html`<div class="row">${selectField({ name: 'currency', label: words.currency, value: value('currency'), choices: currencies(visit).map((each) => [each, each] as const), errors })}${inputField({ name: 'amount', label: words.amount, value: value('amount'), required: true, errors, more: html`inputmode="decimal"` })}${inputField({ name: 'mobile', label: words.number, value: value('mobile'), required: true, errors, more: html`inputmode="tel"` })}${selectField({ name: 'method', label: words.method, value: value('method'), choices: methodChoices(visit), errors })}${inputField({ name: 'payee', label: words.payee, value: value('payee'), errors })}${inputField({ name: 'invoice_no', label: words.invoice, value: value('invoice_no'), errors })}${inputField({ name: 'detail', label: words.payouts.detail, value: value('detail'), errors })}</div>${onceField(visit.ctx)}<button>${words.payouts.create}</button>`,
    )}</div>`,
  });
}

async function create(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, words } = visit;
  const value = (name: ColumnName) => fieldOf(visit, name);
  const reading = await readPayout(ctx, holder.id, requestFrom(value));
  if (!reading.ok) return newPage(visit, reading.errors);
  const results = await orderOnce(visit, [reading.order]);
  if (results === null) return redirect(visit, '/console/payouts', 'sentBefore');
  const [result] = results;
  if (!result?.ok) return newPage(visit, { amount: [words.payouts.overdraft] });
  return redirect(
    visit,
    `/console/transactions/${refOf(result.transaction)}`,
    holder.payouts_need_approval ? 'payoutWaits' : 'payoutMade',
  );
}

/** Orders the payouts of a form, once; null when the form was sent before. */
async function orderOnce(
  visit: HolderRequest,
  orders: PayoutOrder[],
  batchName?: string,
): Promise<PayoutResult[] | null> {
  const { ctx, holder, actor } = visit;
  const formId = fieldOf(visit, 'once', 40);
  try {
    return await orderPayouts(ctx, visit.parts.payments.engine, actor, holder.id, orders, {
      ...(batchName === undefined ? {} : { batchName }),
      within: (tx) => useForm(tx, ctx, holder.id, formId),
    });
  } catch (error) {
    if (error instanceof FormUsedError) return null;
    throw error;
  }
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

function importPage(visit: HolderRequest, problem?: string): Promise<FastifyReply> {
  const { words } = visit;
  return renderPage(visit, {
    title: words.payouts.import,
    lead: words.payouts.importLead,
    active: 'payouts',
    ...(problem ? { status: 400 } : {}),
    body: html`<div class="card">${problem && errorBox(visit, undefined, problem)}${postForm(
      visit,
      '/payouts/check',
      html`${inputField({ name: 'name', label: words.payouts.fileName, value: fieldOf(visit, 'name', 120), more: html`maxlength="120"` })}<div class="f" data-js hidden><label for="f-file">${words.payouts.file}</label><input id="f-file" type="file" accept=".csv,text/csv,text/plain" data-text="#f-csv"></div>${textField({ name: 'csv', label: words.payouts.csv, hint: words.payouts.csvHint, value: fieldOf(visit, 'csv', MAX_FILE_CHARACTERS), required: true, rows: 10 })}<button>${words.payouts.check}</button>`,
    )}<p class="m">${words.payouts.example}</p>${codeBlock(visit, 'csv-example', `${COLUMNS.join(',')}\n1500,KES,0712345000,,Wanjiku Otieno,INV-7,Refund`, words.payouts.example)}</div>`,
  });
}

type Line = { number: number; record: string[]; request: PayoutRequest; reading: PayoutReading };
type FileReading = { head: string[]; lines: Line[] };

/** Reads and checks a whole file without writing anything. */
async function readFile(visit: HolderRequest, text: string): Promise<FileReading | string> {
  const { words } = visit;
  const records = parseCsv(text, MAX_RECORDS + 1);
  if (!records) return words.payouts.fileWrong(MAX_RECORDS);
  const [head = [], ...rest] = records;
  const names = head.map((each) => each.toLowerCase().replace(/[\s-]+/g, '_'));
  const missing = (['amount', 'currency', 'mobile'] as const).filter((name) => !names.includes(name));
  if (missing.length > 0) return words.payouts.columnsMissing(missing.join(', '));
  if (rest.length === 0) return words.payouts.fileEmpty;
  const lines: Line[] = [];
  for (const [index, record] of rest.entries()) {
    const request = requestFrom((name) => record[names.indexOf(name)] ?? '');
    lines.push({ number: index + 2, record, request, reading: await readPayout(visit.ctx, visit.holder.id, request) });
  }
  return { head, lines };
}

async function dryRun(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const csv = fieldOf(visit, 'csv', MAX_FILE_CHARACTERS);
  const reading = await readFile(visit, csv);
  if (typeof reading === 'string') return importPage(visit, reading);
  const good = reading.lines.flatMap(({ reading: each }) => (each.ok ? [each.order] : []));
  const wrong = reading.lines.filter(({ reading: each }) => !each.ok);
  return renderPage(visit, {
    title: words.payouts.checked,
    active: 'payouts',
    body: html`<p class="box note">${words.payouts.nothingSent}</p>${sums(visit, good)}${
      wrong.length > 0 &&
      html`<div class="card"><h2>${words.payouts.toMend(wrong.length)}</h2>${dataTable(
        words.payouts.toMend(wrong.length),
        [{ label: words.payouts.line, right: true }, { label: words.payouts.content }, { label: words.payouts.fault }],
        wrong.map((line) => [
          line.number,
          html`<code>${line.record.join(', ')}</code>`,
          line.reading.ok ? '' : Object.values(line.reading.errors).flat().join(' '),
        ]),
      )}<p class="m">${words.payouts.fixFile}</p>${codeBlock(visit, 'fix-file', fixFile(reading), words.payouts.fixFile)}</div>`
    }${good.length > 0 && postForm(visit, '/payouts/import', html`${onceField(visit.ctx)}<input type="hidden" name="name" value="${fieldOf(visit, 'name', 120)}"><input type="hidden" name="csv" value="${csv}"><button>${words.payouts.orderAll(good.length)}</button> <a href="/console/payouts/import">${words.back}</a>`)}`,
  });
}

/** The lines that were not taken, each with what is wrong with it: mended, it can be pasted again. */
function fixFile({ head, lines }: FileReading): string {
  const wrong = lines.filter(({ reading }) => !reading.ok);
  const rows = wrong.map(({ record, reading }) => [
    ...head.map((_, index) => record[index] ?? ''),
    reading.ok ? '' : Object.values(reading.errors).flat().join(' '),
  ]);
  return [[...head, 'problem'], ...rows].map(csvLine).join('');
}

function sums(visit: HolderRequest, orders: readonly PayoutOrder[]): Html {
  const { words } = visit;
  const totals = new Map<string, { count: number; amount: bigint; fee: bigint }>();
  for (const order of orders) {
    const total = totals.get(order.method.currency) ?? { count: 0, amount: 0n, fee: 0n };
    totals.set(order.method.currency, {
      count: total.count + 1,
      amount: total.amount + order.amount,
      fee: total.fee + order.fee,
    });
  }
  return html`<div class="cards">${[...totals].map(([currency, total]) => html`<div class="card"><p class="sum">${money(visit, total.amount, currency)}</p><p class="m">${words.payouts.count(total.count)} · ${words.fee} ${money(visit, total.fee, currency)}</p></div>`)}</div>`;
}

async function importFile(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const reading = await readFile(visit, fieldOf(visit, 'csv', MAX_FILE_CHARACTERS));
  if (typeof reading === 'string') return importPage(visit, reading);
  const orders = reading.lines.flatMap(({ reading: each }) => (each.ok ? [each.order] : []));
  if (orders.length === 0) throw new Problem('invalid_params', { message: words.payouts.fileEmpty });
  const name = fieldOf(visit, 'name', 120) || ctx.clock.now().toISOString().slice(0, 16).replace('T', ' ');
  const results = await orderOnce(visit, orders, name);
  if (results === null) return redirect(visit, '/console/payouts', 'sentBefore');
  const short = results.filter((result) => !result.ok).length;
  return redirect(visit, '/console/payouts', short > 0 ? 'importShort' : 'imported');
}

async function changeApproval(visit: HolderRequest): Promise<FastifyReply> {
  await setPayoutApproval(visit.ctx, visit.actor, visit.holder.id, fieldOf(visit, 'needed') === 'yes');
  return redirect(visit, '/console/payouts', 'saved');
}
