// The case file of one transaction: what it is, everything that happened to it in plain words and in order, what moved in
// the ledger, who was told, and what a person can do.

import type { FastifyReply } from 'fastify';
import { type Delivery, listDeliveries, resendEvent } from '../callbacks/resend.ts';
import { recordAudit } from '../holders/audit.ts';
import { type TransferLine, transfersOf } from '../ledger/reports.ts';
import { linkId } from '../links/links.ts';
import { type Case, listCasesOf, resolveCase } from '../payments/cases.ts';
import { type Evidence, listEvidence } from '../payments/evidence.ts';
import { findPayoutOrder, type PayoutOrderRow } from '../payments/payout-orders.ts';
import { approvePayout, cancelPayout, decideLostPayout } from '../payments/payouts.ts';
import { canRefund, refundCollection } from '../payments/refunds.ts';
import { isFinal } from '../payments/states.ts';
import { findFresh } from '../payments/status.ts';
import { findTransaction, idFromRef, refOf, type Transaction } from '../payments/transactions.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { maskNumber } from '../platform/log.ts';
import {
  codeBlock,
  dangerForm,
  dataTable,
  facts,
  inputField,
  postButton,
  postForm,
  statusTag,
  type Tone,
  tag,
  timeTag,
} from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { type LoggedRequest, listRequests } from './request-log.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';
import { STATUS_PATH, writeSamples } from './samples.ts';
import { methodName } from './transactions.ts';

const LIVE_SECONDS = 3;
/** The request that made a transaction was answered within this time of its creation. */
const REQUEST_WINDOW_MS = 60_000;
const MAX_RESOLUTION = 500;

export const transactionPageRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/transactions/:ref', caseFile),
  forRoles(BUILDERS, 'POST', '/transactions/:ref/refresh', refresh),
  forRoles(BUILDERS, 'POST', '/transactions/:ref/resend', resend),
  forRoles(TREASURERS, 'POST', '/transactions/:ref/refund', refund, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/transactions/:ref/approve', approve, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/transactions/:ref/cancel', cancel, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/transactions/:ref/lost', decideLost, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/cases/:id/resolve', resolve),
];

async function openTransaction(visit: HolderRequest): Promise<Transaction> {
  const id = idFromRef(paramOf(visit, 'ref'));
  const transaction = id === null ? null : await findTransaction(visit.ctx.db, visit.holder.id, id);
  if (!transaction) throw new Problem('not_found', { message: visit.words.file.unknown });
  return transaction;
}

type File = {
  transaction: Transaction;
  requests: LoggedRequest[];
  evidence: Evidence[];
  transfers: TransferLine[];
  deliveries: Delivery[];
  cases: Case[];
  order: PayoutOrderRow | null;
};

async function openFile(visit: HolderRequest): Promise<File> {
  const { ctx, holder } = visit;
  const transaction = await openTransaction(visit);
  const created = transaction.created_at.getTime();
  const [requests, evidence, transfers, deliveries, cases, order] = await Promise.all([
    listRequests(
      ctx.db,
      holder.id,
      {
        since: new Date(created - 1_000),
        before: new Date(created + REQUEST_WINDOW_MS),
        transactionId: transaction.id,
      },
      20,
    ),
    listEvidence(ctx.db, holder.id, transaction.id),
    transfersOf(ctx.db, holder.id, transaction.id),
    listDeliveries(ctx.db, holder.id, { transactionId: transaction.id }),
    listCasesOf(ctx.db, holder.id, transaction.id),
    transaction.direction === 'payout' ? findPayoutOrder(ctx.db, holder.id, transaction.id) : null,
  ]);
  return { transaction, requests, evidence, transfers, deliveries, cases, order };
}

async function caseFile(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const file = await openFile(visit);
  const { transaction, transfers, deliveries } = file;
  const ref = refOf(transaction);
  const open = !isFinal(transaction.status) || deliveries.some((each) => each.status === 'waiting');
  return renderPage(visit, {
    title: money(visit, transaction.amount, transaction.currency),
    active: transaction.direction === 'collection' ? 'transactions' : 'payouts',
    ...(open ? { live: LIVE_SECONDS } : {}),
    body: html`<p>${statusTag(visit, transaction.status, transaction.direction)} <code id="ref">${ref}</code> <button type="button" class="lk" data-copy="#ref" data-done="${words.copied}" hidden>${words.copy}</button></p>${nextStep(visit, transaction)}${openCases(visit, file)}
<div class="card">${facts(describe(visit, file))}${actions(visit, file)}</div>
<div class="two"><section class="card"><h2>${words.file.timeline}</h2><ol class="line">${timeline(visit, file)}</ol></section><div><section class="card"><h2>${words.file.ledger}</h2>${ledger(visit, transfers)}</section><section class="card"><h2>${words.menu.callbacks}</h2>${callbacks(visit, ref, deliveries)}</section></div></div>
${copies(visit, transaction)}`,
  });
}

/** In sandbox mode the person who looks is also the payer: where to go on. */
function nextStep(visit: HolderRequest, transaction: Transaction): Html | false {
  const { ctx, words } = visit;
  if (ctx.config.mode !== 'sandbox' || isFinal(transaction.status) || transaction.direction !== 'collection')
    return false;
  return html`<p class="box note">${words.file.phone} <a href="/sandbox/phone?n=${transaction.msisdn ?? ''}" target="_blank" rel="noopener">${words.openPhone}</a></p>`;
}

function describe(visit: HolderRequest, { transaction: t, order }: File): [string, HtmlValue][] {
  const { words, ctx } = visit;
  return [
    [words.transactions.type, words.directions[t.direction]],
    [words.fee, money(visit, t.fee, t.currency)],
    [words.method, `${methodName(visit, t.method)} · ${ctx.catalog.methods.get(t.method)?.country.name ?? ''}`],
    [words.number, t.msisdn && html`<bdi>+${t.msisdn}</bdi>`],
    [words.payee, t.payee && html`<bdi>${t.payee}</bdi>`],
    [words.invoice, t.invoice_no && html`<bdi>${t.invoice_no}</bdi>`],
    [
      words.yourReference,
      (t.reference_1 || t.reference_2) &&
        html`<bdi>${[t.reference_1, t.reference_2].filter(Boolean).join(' · ')}</bdi>`,
    ],
    [words.file.receipt, t.receipt && html`<code>${t.receipt}</code>`],
    [words.file.operatorReference, t.rail_reference && html`<code>${t.rail_reference}</code>`],
    [words.file.failure, t.failure_code && html`${t.failure_message} <span class="m">${t.failure_code}</span>`],
    [words.file.balanceAfter, t.balance_after === null ? null : money(visit, t.balance_after, t.currency)],
    [
      words.menu.links,
      t.link_id && html`<a href="/console/links/${linkId({ id: t.link_id })}">${linkId({ id: t.link_id })}</a>`,
    ],
    [words.integrations.callbackUrl, t.callback_url],
    [words.payouts.createdBy, order?.created_by],
    [words.payouts.approvedBy, order?.approved_by],
    [words.created, timeTag(t.created_at)],
    [words.file.settled, timeTag(t.settled_at)],
  ];
}

function actions(visit: HolderRequest, { transaction, order, cases }: File): Html | false {
  const { words, role, session } = visit;
  const path = `/transactions/${refOf(transaction)}`;
  const treasurer = TREASURERS.includes(role);
  const list: Html[] = [];
  if (BUILDERS.includes(role) && transaction.status === 'processing')
    list.push(postButton(visit, `${path}/refresh`, words.file.refresh, { look: 'q' }));
  if (treasurer && order?.waits_for_approval) {
    if (order.created_by_member === session.member.id)
      list.push(html`<p class="box note">${words.payouts.needsAnother}</p>`);
    else list.push(postButton(visit, `${path}/approve`, words.payouts.approve));
  }
  if (treasurer && order && transaction.status === 'pending')
    list.push(dangerForm(visit, `${path}/cancel`, words.payouts.cancel, words.payouts.cancelMeaning));
  if (treasurer && cases.some((each) => each.kind === 'payout_not_found' && each.status === 'open'))
    list.push(
      postButton(visit, `${path}/lost`, words.payouts.sendAgain, { look: 'q', fields: { decision: 'send_again' } }),
      postButton(visit, `${path}/lost`, words.payouts.release, { look: 'x', fields: { decision: 'release' } }),
    );
  if (treasurer && canRefund(visit.ctx, transaction))
    list.push(
      dangerForm(
        visit,
        `${path}/refund`,
        words.file.refund,
        words.file.refundMeaning(money(visit, transaction.amount, transaction.currency)),
      ),
    );
  return list.length > 0 && html`<div class="acts">${list.map((each) => html`${each} `)}</div>`;
}

function openCases(visit: HolderRequest, { cases }: File): Html[] {
  return cases
    .filter((each) => each.status === 'open')
    .map((each) => html`<div class="box warn">${caseBody(visit, each)}</div>`);
}

/** What a case means and, for whoever may, the form that ends it. */
export function caseBody(visit: HolderRequest, each: Case): Html {
  const { words, role } = visit;
  return html`<p><b>${words.cases.kinds[each.kind]}</b> ${words.cases.advice[each.kind]}</p>${
    TREASURERS.includes(role) &&
    html`<details><summary>${words.cases.resolve}…</summary>${postForm(visit, `/cases/${publicId('case', each.id)}/resolve`, html`${inputField({ name: 'resolution', label: words.cases.resolution, required: true, more: html`maxlength="500"` })}<button>${words.cases.resolve}</button>`)}</details>`
  }`;
}

type Moment = { at: Date; tone: Tone | ''; title: string; body?: HtmlValue };

function timeline(visit: HolderRequest, file: File): Html[] {
  const moments = [
    ...beginnings(visit, file),
    ...file.evidence.map((each) => evidenceMoment(visit, file.transaction, each)),
    ...endings(visit, file),
  ];
  return moments
    .map((moment, index) => ({ moment, index }))
    .sort((left, right) => left.moment.at.getTime() - right.moment.at.getTime() || left.index - right.index)
    .map(
      ({ moment }) =>
        html`<li class="${moment.tone}"><span class="m">${timeTag(moment.at)}</span><b>${moment.title}</b>${moment.body}</li>`,
    );
}

function beginnings(visit: HolderRequest, { transaction, requests, order }: File): Moment[] {
  const { words } = visit;
  const moments: Moment[] = [];
  const made: Moment = {
    at: transaction.created_at,
    tone: '',
    title: order
      ? words.file.ordered(order.created_by)
      : transaction.link_id
        ? words.file.fromLink
        : transaction.integration_id
          ? words.file.accepted
          : words.file.byPerson,
    body: words.file.verification[transaction.verification],
  };
  moments.push(made);
  for (const request of requests)
    moments.push({
      at: request.at,
      tone: request.status < 400 ? 's' : 'e',
      title: request.status < 400 ? words.file.requestOk : words.file.requestRefused,
      body: html`<code>${request.route}</code> → ${request.status}${request.code && html` ${request.code}`} · ${Math.round(request.ms)} ms · ${request.address} · <a href="/console/requests?id=${publicId('req', request.id)}">${publicId('req', request.id)}</a>`,
    });
  if (order?.approved_at && order.approved_by)
    moments.push({ at: order.approved_at, tone: 's', title: words.file.approved(order.approved_by) });
  return moments;
}

const EVIDENCE_TONES: Record<string, Tone | ''> = {
  succeeded: 's',
  failed: 'e',
  reversed: 'w',
  unknown: 'w',
  pending: '',
};

function evidenceMoment(visit: HolderRequest, transaction: Transaction, each: Evidence): Moment {
  const { words } = visit;
  const said = words.file.states[each.state as keyof typeof words.file.states] ?? each.state;
  const effect = words.file.effects[each.effect as keyof typeof words.file.effects] ?? each.effect;
  return {
    at: each.at,
    tone: EVIDENCE_TONES[each.state] ?? '',
    title: words.file.sources[each.source](said),
    body: html`${effect}${each.failure_code && html` <code>${each.failure_code}</code>`}${each.receipt && html` · ${words.file.receipt} <code>${each.receipt}</code>`}${each.raw !== '' && html`<details><summary>${words.file.raw}</summary><pre tabindex="0" aria-label="${words.file.raw}">${redact(transaction, each.raw)}</pre></details>`}`,
  };
}

/** An operator's own words, without the whole of anybody's number. */
function redact(transaction: Transaction, raw: string): string {
  const text = transaction.msisdn ? raw.replaceAll(transaction.msisdn, maskNumber(transaction.msisdn)) : raw;
  return text.replace(/\d{9,15}/g, (digits) => maskNumber(digits));
}

function endings(visit: HolderRequest, { transfers, deliveries, cases }: File): Moment[] {
  const { words } = visit;
  const moments: Moment[] = [];
  const [first] = transfers;
  if (first) moments.push({ at: first.posted_at, tone: 's', title: words.file.booked, body: words.file.bookedText });
  for (const delivery of deliveries)
    for (const attempt of delivery.attempts)
      moments.push({
        at: attempt.at,
        tone: attempt.delivered ? 's' : 'w',
        title: attempt.delivered ? words.file.told(delivery.type) : words.file.notTold(delivery.type),
        body: html`${delivery.url} → ${attempt.status ?? attempt.error ?? '–'} · ${attempt.latencyMs} ms`,
      });
  for (const each of cases) {
    moments.push({ at: each.opened_at, tone: 'w', title: `${words.cases.opened}: ${words.cases.kinds[each.kind]}` });
    if (each.resolved_at)
      moments.push({
        at: each.resolved_at,
        tone: 's',
        title: words.cases.resolvedBy(each.resolved_by ?? ''),
        body: html`<bdi>${each.resolution}</bdi>`,
      });
  }
  return moments;
}

function ledger(visit: HolderRequest, transfers: readonly TransferLine[]): Html {
  const { words } = visit;
  if (transfers.length === 0) return html`<p class="m">${words.file.ledgerNone}</p>`;
  return dataTable(
    words.file.ledger,
    [{ label: words.file.what }, { label: words.from }, { label: words.to }, { label: words.amount, right: true }],
    transfers.map((each) => [
      words.transfers[each.kind],
      accountName(visit, each.debit),
      accountName(visit, each.credit),
      money(visit, each.amount, each.currency),
    ]),
  );
}

/** A ledger account in words; the key itself on hover. */
function accountName({ words }: HolderRequest, key: string): Html {
  const name = key.startsWith('wallet:')
    ? key.endsWith(':reserved')
      ? words.accounts.reserved
      : words.accounts.available
    : key.startsWith('clearing:')
      ? words.accounts.clearing
      : key.startsWith('fees:')
        ? words.accounts.fees
        : key.startsWith('suspense:')
          ? words.accounts.suspense
          : words.accounts.funding;
  return html`<span title="${key}">${name}</span>`;
}

function callbacks(visit: HolderRequest, ref: string, deliveries: readonly Delivery[]): Html | Html[] {
  const { words } = visit;
  if (deliveries.length === 0) return html`<p class="m">${words.callbacks.noneYet}</p>`;
  return deliveries.map((each) => html`<div>${deliveryBody(visit, each, `/transactions/${ref}/resend`)}</div>`);
}

export const DELIVERY_TONES: Record<Delivery['status'], Tone> = {
  waiting: 'n',
  retrying: 'w',
  paused: 'e',
  delivered: 's',
  given_up: 'e',
  feed_only: 'n',
};

/** One delivery with its attempts, and the button that sends it again. */
export function deliveryBody(visit: HolderRequest, each: Delivery, resendPath: string): Html {
  const { words, role } = visit;
  return html`<p><b>${each.type}</b> ${tag(DELIVERY_TONES[each.status], words.callbacks.states[each.status])} <span class="m">${each.url ?? words.callbacks.feedOnly}</span></p>${each.nextAttemptAt && each.status === 'retrying' && html`<p class="m">${words.callbacks.next} ${timeTag(each.nextAttemptAt)}</p>`}<details><summary>${words.callbacks.attempts(each.attempts.length)}</summary>${each.attempts.map(
    (attempt) =>
      html`<p>${timeTag(attempt.at)} · ${attempt.delivered ? tag('s', String(attempt.status ?? '')) : tag('e', String(attempt.status ?? attempt.error ?? '–'))} · ${attempt.latencyMs} ms</p>${attempt.answerStart && html`<pre tabindex="0" aria-label="${words.callbacks.answer}">${attempt.answerStart.slice(0, 2_000)}</pre>`}`,
  )}<p class="m">${words.callbacks.body}</p><pre tabindex="0" aria-label="${words.callbacks.body}">${each.body}</pre></details>${each.url && BUILDERS.includes(role) && postButton(visit, resendPath, words.callbacks.resend, { look: 'q', fields: { event: each.eventId } })}`;
}

/** The same question asked by a program. The secret stays out: whoever has it fills it in. */
function copies(visit: HolderRequest, transaction: Transaction): Html {
  const { ctx, words } = visit;
  const ref = refOf(transaction);
  const samples = writeSamples(
    { baseUrl: publicUrl(ctx.config), clientId: 'YOUR_CLIENT_ID', sender: 'YOUR_SENDER', secretKey: 'YOUR_SECRET_KEY' },
    { id: ref },
    STATUS_PATH,
  );
  return html`<details class="card"><summary>${words.file.copyAs}</summary><h3>CLI</h3>${codeBlock(visit, 'as-cli', `npx simbi transaction ${ref} --json`, 'CLI')}<h3>curl</h3>${codeBlock(visit, 'as-curl', samples.curl, 'curl')}<h3>TypeScript</h3>${codeBlock(visit, 'as-typescript', samples.typescript, 'TypeScript')}</details>`;
}

function back(visit: HolderRequest): string {
  return `/console/transactions/${paramOf(visit, 'ref')}`;
}

async function refresh(visit: HolderRequest): Promise<FastifyReply> {
  await openTransaction(visit);
  await findFresh(visit.ctx, visit.parts.payments.engine, visit.holder.id, paramOf(visit, 'ref'));
  return redirect(visit, back(visit), 'asked');
}

async function resend(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, parts } = visit;
  await openTransaction(visit);
  const event = fieldOf(visit, 'event', 60);
  await resendEvent(ctx, holder.id, event);
  await ctx.db.transaction((tx) =>
    recordAudit(
      tx,
      { holderId: holder.id, actor: visit.actor, action: 'callback.resent', subject: event },
      ctx.clock.now(),
    ),
  );
  await parts.deliverer.pass();
  return redirect(visit, back(visit), 'resent');
}

async function refund(visit: HolderRequest): Promise<FastifyReply> {
  const result = await refundCollection(
    visit.ctx,
    visit.parts.payments.engine,
    visit.actor,
    visit.holder.id,
    paramOf(visit, 'ref'),
  );
  return redirect(
    visit,
    back(visit),
    result === 'reversed' ? 'refunded' : result === 'refused' ? 'refundRefused' : 'refundAsked',
  );
}

async function approve(visit: HolderRequest): Promise<FastifyReply> {
  await approvePayout(visit.ctx, visit.parts.payments.engine, visit.actor, visit.holder.id, paramOf(visit, 'ref'));
  return redirect(visit, back(visit), 'approved');
}

async function cancel(visit: HolderRequest): Promise<FastifyReply> {
  await cancelPayout(visit.ctx, visit.actor, visit.holder.id, paramOf(visit, 'ref'));
  return redirect(visit, back(visit), 'cancelled');
}

async function decideLost(visit: HolderRequest): Promise<FastifyReply> {
  const decision = fieldOf(visit, 'decision') === 'release' ? 'release' : 'send_again';
  await decideLostPayout(
    visit.ctx,
    visit.parts.payments.engine,
    visit.actor,
    visit.holder.id,
    paramOf(visit, 'ref'),
    decision,
  );
  return redirect(visit, back(visit), 'decided');
}

async function resolve(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, actor } = visit;
  const id = uuidFromPublicId('case', paramOf(visit, 'id'));
  const resolution = fieldOf(visit, 'resolution', MAX_RESOLUTION);
  if (id === null) throw new Problem('not_found');
  if (resolution === '') throw new Problem('invalid_params', { message: visit.words.cases.resolutionMissing });
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    if (!(await resolveCase(tx, holder.id, id, actor.name, resolution, at)))
      throw new Problem('not_found', { message: visit.words.cases.gone });
    await recordAudit(
      tx,
      { holderId: holder.id, actor, action: 'case.resolved', subject: publicId('case', id), details: { resolution } },
      at,
    );
  });
  return redirect(visit, '/console/cases', 'resolved');
}
