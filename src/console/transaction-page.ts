// The case file of one transaction: what it is, everything that happened to it in plain words and in order, what moved in
// the ledger, who was told, and what a person can do.

import type { FastifyReply } from 'fastify';
import { type Delivery, listDeliveries, resendEvent } from '../callbacks/resend.ts';
import { recordAudit } from '../holders/audit.ts';
import { type LoggedRequest, listRequests } from '../holders/request-log.ts';
import { type JournalLine, transfersOf } from '../ledger/reports.ts';
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
import { caseDetails, MAX_RESOLUTION } from './case-details.ts';
import { codeBlock, dataTable, facts, statusTag, type Tone, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf } from './console-request.ts';
import { deliveryDetails } from './delivery-details.ts';
import { dangerForm, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';
import { STATUS_PATH, writeSamples } from './samples.ts';
import { methodName } from './transaction-table.ts';

const LIVE_SECONDS = 3;
/** The request that made a transaction was answered within this time of its creation. */
const REQUEST_WINDOW_MS = 60_000;

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

async function openTransaction(request: HolderRequest): Promise<Transaction> {
  const id = idFromRef(paramOf(request, 'ref'));
  const transaction = id === null ? null : await findTransaction(request.ctx.db, request.holder.id, id);
  if (!transaction) throw new Problem('not_found', { message: request.t.file.unknown });
  return transaction;
}

type File = {
  transaction: Transaction;
  requests: LoggedRequest[];
  evidence: Evidence[];
  transfers: JournalLine[];
  deliveries: Delivery[];
  cases: Case[];
  order: PayoutOrderRow | null;
};

async function openFile(request: HolderRequest): Promise<File> {
  const { ctx, holder } = request;
  const transaction = await openTransaction(request);
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
    listEvidence(ctx.db, transaction.id),
    transfersOf(ctx.db, transaction.id),
    listDeliveries(ctx.db, holder.id, { transactionId: transaction.id }),
    listCasesOf(ctx.db, transaction.id),
    transaction.direction === 'payout' ? findPayoutOrder(ctx.db, holder.id, transaction.id) : null,
  ]);
  return { transaction, requests, evidence, transfers, deliveries, cases, order };
}

async function caseFile(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const file = await openFile(request);
  const { transaction, transfers, deliveries } = file;
  const ref = refOf(transaction);
  const open = !isFinal(transaction.status) || deliveries.some((each) => each.status === 'waiting');
  return renderPage(request, {
    title: money(request, transaction.amount, transaction.currency),
    active: transaction.direction === 'payin' ? 'transactions' : 'payouts',
    ...(open ? { live: LIVE_SECONDS } : {}),
    body: html`<p>${statusTag(request, transaction.status, transaction.direction)} <code id="ref">${ref}</code> <button type="button" class="button-link" data-copy="#ref" data-done="${t.copied}" hidden>${t.copy}</button></p>${nextStep(request, transaction)}${openCases(request, file)}
<div class="card">${facts(describe(request, file))}${actions(request, file)}</div>
<div class="columns"><section class="card"><h2>${t.file.timeline}</h2><ol class="timeline">${timeline(request, file)}</ol></section><div><section class="card"><h2>${t.file.ledger}</h2>${ledger(request, transfers)}</section><section class="card"><h2>${t.menu.callbacks}</h2>${callbacks(request, ref, deliveries)}</section></div></div>
${copies(request, transaction)}`,
  });
}

/** In sandbox mode the person who looks is also the payer: where to go on. */
function nextStep(request: HolderRequest, transaction: Transaction): Html | false {
  const { ctx, t } = request;
  if (ctx.config.mode !== 'sandbox' || isFinal(transaction.status) || transaction.direction !== 'payin') return false;
  return html`<p class="box neutral">${t.file.phone} <a href="/sandbox/phone?n=${transaction.msisdn ?? ''}" target="_blank" rel="noopener">${t.openPhone}</a></p>`;
}

function describe(request: HolderRequest, { transaction, order }: File): [string, HtmlValue][] {
  const { t, ctx } = request;
  return [
    [t.transactions.type, t.directions[transaction.direction]],
    [t.fee, money(request, transaction.fee, transaction.currency)],
    [
      t.method,
      `${methodName(request, transaction.method)} · ${ctx.catalog.methods.get(transaction.method)?.country.name ?? ''}`,
    ],
    [t.number, transaction.msisdn && html`<bdi>+${transaction.msisdn}</bdi>`],
    [t.payee, transaction.payee && html`<bdi>${transaction.payee}</bdi>`],
    [t.invoice, transaction.invoice_no && html`<bdi>${transaction.invoice_no}</bdi>`],
    [
      t.yourReference,
      (transaction.reference_1 || transaction.reference_2) &&
        html`<bdi>${[transaction.reference_1, transaction.reference_2].filter(Boolean).join(' · ')}</bdi>`,
    ],
    [t.file.receipt, transaction.receipt && html`<code>${transaction.receipt}</code>`],
    [t.file.operatorReference, transaction.rail_reference && html`<code>${transaction.rail_reference}</code>`],
    [
      t.file.failure,
      transaction.failure_code &&
        html`${transaction.failure_message} <span class="muted">${transaction.failure_code}</span>`,
    ],
    [
      t.file.balanceAfter,
      transaction.balance_after === null ? null : money(request, transaction.balance_after, transaction.currency),
    ],
    [
      t.menu.links,
      transaction.link_id &&
        html`<a href="/console/links/${linkId({ id: transaction.link_id })}">${linkId({ id: transaction.link_id })}</a>`,
    ],
    [t.integrations.callbackUrl, transaction.callback_url],
    [t.payouts.createdBy, order?.created_by],
    [t.payouts.approvedBy, order?.approved_by],
    [t.created, timeTag(transaction.created_at)],
    [t.file.settled, timeTag(transaction.settled_at)],
  ];
}

function actions(request: HolderRequest, { transaction, order, cases }: File): Html | false {
  const { t, role, session } = request;
  const path = `/transactions/${refOf(transaction)}`;
  const treasurer = TREASURERS.includes(role);
  const list: Html[] = [];
  if (BUILDERS.includes(role) && transaction.status === 'processing')
    list.push(postButton(request, `${path}/refresh`, t.file.refresh, { variant: 'secondary' }));
  if (treasurer && order?.waits_for_approval) {
    if (order.created_by_member === session.member.id)
      list.push(html`<p class="box neutral">${t.payouts.needsAnother}</p>`);
    else list.push(postButton(request, `${path}/approve`, t.payouts.approve));
  }
  if (treasurer && order && transaction.status === 'pending')
    list.push(dangerForm(request, `${path}/cancel`, t.payouts.cancel, t.payouts.cancelMeaning));
  if (treasurer && cases.some((each) => each.kind === 'payout_not_found' && each.status === 'open'))
    list.push(
      postButton(request, `${path}/lost`, t.payouts.sendAgain, {
        variant: 'secondary',
        hidden: { decision: 'send_again' },
      }),
      postButton(request, `${path}/lost`, t.payouts.release, { variant: 'danger', hidden: { decision: 'release' } }),
    );
  if (treasurer && canRefund(request.ctx, transaction))
    list.push(
      dangerForm(
        request,
        `${path}/refund`,
        t.file.refund,
        t.file.refundMeaning(money(request, transaction.amount, transaction.currency)),
      ),
    );
  return list.length > 0 && html`<div class="actions">${list.map((each) => html`${each} `)}</div>`;
}

function openCases(request: HolderRequest, { cases }: File): Html[] {
  return cases
    .filter((each) => each.status === 'open')
    .map((each) => html`<div class="box warning">${caseDetails(request, each)}</div>`);
}

type Moment = { at: Date; tone: Tone | ''; title: string; body?: HtmlValue };

function timeline(request: HolderRequest, file: File): Html[] {
  const moments = [
    ...beginnings(request, file),
    ...file.evidence.map((each) => evidenceMoment(request, file.transaction, each)),
    ...endings(request, file),
  ];
  return moments
    .map((moment, index) => ({ moment, index }))
    .sort((left, right) => left.moment.at.getTime() - right.moment.at.getTime() || left.index - right.index)
    .map(
      ({ moment }) =>
        html`<li class="${moment.tone}"><span class="muted">${timeTag(moment.at)}</span><b>${moment.title}</b>${moment.body}</li>`,
    );
}

function beginnings(request: HolderRequest, { transaction, requests, order }: File): Moment[] {
  const { t } = request;
  const moments: Moment[] = [];
  const made: Moment = {
    at: transaction.created_at,
    tone: '',
    title: order
      ? t.file.ordered(order.created_by)
      : transaction.link_id
        ? t.file.fromLink
        : transaction.integration_id
          ? t.file.accepted
          : t.file.byPerson,
    body: t.file.verification[transaction.verification],
  };
  moments.push(made);
  for (const logged of requests)
    moments.push({
      at: logged.at,
      tone: logged.status < 400 ? 'success' : 'error',
      title: logged.status < 400 ? t.file.requestOk : t.file.requestRefused,
      body: html`<code>${logged.route}</code> → ${logged.status}${logged.code && html` ${logged.code}`} · ${Math.round(logged.ms)} ms · ${logged.address} · <a href="/console/requests?id=${publicId('req', logged.id)}">${publicId('req', logged.id)}</a>`,
    });
  if (order?.approved_at && order.approved_by)
    moments.push({ at: order.approved_at, tone: 'success', title: t.file.approved(order.approved_by) });
  return moments;
}

const EVIDENCE_TONES: Record<string, Tone | ''> = {
  succeeded: 'success',
  failed: 'error',
  reversed: 'warning',
  unknown: 'warning',
  pending: '',
};

function evidenceMoment(request: HolderRequest, transaction: Transaction, each: Evidence): Moment {
  const { t } = request;
  const said = t.file.states[each.state as keyof typeof t.file.states] ?? each.state;
  const effect = t.file.effects[each.effect as keyof typeof t.file.effects] ?? each.effect;
  return {
    at: each.at,
    tone: EVIDENCE_TONES[each.state] ?? '',
    title: t.file.sources[each.source](said),
    body: html`${effect}${each.failure_code && html` <code>${each.failure_code}</code>`}${each.receipt && html` · ${t.file.receipt} <code>${each.receipt}</code>`}${each.raw !== '' && html`<details><summary>${t.file.raw}</summary><pre tabindex="0" aria-label="${t.file.raw}">${redact(transaction, each.raw)}</pre></details>`}`,
  };
}

/** An operator's own words, without the whole of anybody's number. */
function redact(transaction: Transaction, raw: string): string {
  const text = transaction.msisdn ? raw.replaceAll(transaction.msisdn, maskNumber(transaction.msisdn)) : raw;
  return text.replace(/\d{9,15}/g, (digits) => maskNumber(digits));
}

function endings(request: HolderRequest, { transfers, deliveries, cases }: File): Moment[] {
  const { t } = request;
  const moments: Moment[] = [];
  const [first] = transfers;
  if (first) moments.push({ at: first.posted_at, tone: 'success', title: t.file.booked, body: t.file.bookedText });
  for (const delivery of deliveries)
    for (const attempt of delivery.attempts)
      moments.push({
        at: attempt.at,
        tone: attempt.delivered ? 'success' : 'warning',
        title: attempt.delivered ? t.file.told(delivery.type) : t.file.notTold(delivery.type),
        body: html`${delivery.url} → ${attempt.status ?? attempt.error ?? '–'} · ${attempt.latencyMs} ms`,
      });
  for (const each of cases) {
    moments.push({ at: each.opened_at, tone: 'warning', title: `${t.cases.opened}: ${t.cases.kinds[each.kind]}` });
    if (each.resolved_at)
      moments.push({
        at: each.resolved_at,
        tone: 'success',
        title: t.cases.resolvedBy(each.resolved_by ?? ''),
        body: html`<bdi>${each.resolution}</bdi>`,
      });
  }
  return moments;
}

function ledger(request: HolderRequest, transfers: readonly JournalLine[]): Html {
  const { t } = request;
  if (transfers.length === 0) return html`<p class="muted">${t.file.ledgerNone}</p>`;
  return dataTable(
    t.file.ledger,
    [{ label: t.file.what }, { label: t.from }, { label: t.to }, { label: t.amount, right: true }],
    transfers.map((each) => [
      t.transfers[each.kind],
      accountName(request, each.debit),
      accountName(request, each.credit),
      money(request, each.amount, each.currency),
    ]),
  );
}

/** A ledger account in words; the key itself on hover. */
function accountName({ t }: HolderRequest, key: string): Html {
  const name = key.startsWith('wallet:')
    ? key.endsWith(':reserved')
      ? t.accounts.reserved
      : t.accounts.available
    : key.startsWith('clearing:')
      ? t.accounts.clearing
      : key.startsWith('fees:')
        ? t.accounts.fees
        : key.startsWith('suspense:')
          ? t.accounts.suspense
          : t.accounts.funding;
  return html`<span title="${key}">${name}</span>`;
}

function callbacks(request: HolderRequest, ref: string, deliveries: readonly Delivery[]): Html | Html[] {
  const { t } = request;
  if (deliveries.length === 0) return html`<p class="muted">${t.callbacks.noneYet}</p>`;
  return deliveries.map((each) => html`<div>${deliveryDetails(request, each, `/transactions/${ref}/resend`)}</div>`);
}

/** The same question asked by a program. The secret stays out: whoever has it fills it in. */
function copies(request: HolderRequest, transaction: Transaction): Html {
  const { ctx, t } = request;
  const ref = refOf(transaction);
  const samples = writeSamples(
    { baseUrl: publicUrl(ctx.config), clientId: 'YOUR_CLIENT_ID', sender: 'YOUR_SENDER', secretKey: 'YOUR_SECRET_KEY' },
    { id: ref },
    STATUS_PATH,
  );
  return html`<details class="card"><summary>${t.file.copyAs}</summary><h3>CLI</h3>${codeBlock(request, 'as-cli', `npx simbi transaction ${ref} --json`, 'CLI')}<h3>curl</h3>${codeBlock(request, 'as-curl', samples.curl, 'curl')}<h3>TypeScript</h3>${codeBlock(request, 'as-typescript', samples.typescript, 'TypeScript')}</details>`;
}

function back(request: HolderRequest): string {
  return `/console/transactions/${paramOf(request, 'ref')}`;
}

async function refresh(request: HolderRequest): Promise<FastifyReply> {
  await openTransaction(request);
  await findFresh(request.ctx, request.services.payments.engine, request.holder.id, paramOf(request, 'ref'));
  return redirect(request, back(request), 'asked');
}

async function resend(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, services } = request;
  await openTransaction(request);
  const event = fieldOf(request, 'event', 60);
  await resendEvent(ctx, holder.id, event);
  await ctx.db.transaction((tx) =>
    recordAudit(
      tx,
      { holderId: holder.id, actor: request.actor, action: 'callback.resent', subject: event },
      ctx.clock.now(),
    ),
  );
  await services.deliverer.pass();
  return redirect(request, back(request), 'resent');
}

async function refund(request: HolderRequest): Promise<FastifyReply> {
  const result = await refundCollection(
    request.ctx,
    request.services.payments.engine,
    request.actor,
    request.holder.id,
    paramOf(request, 'ref'),
  );
  return redirect(
    request,
    back(request),
    result === 'reversed' ? 'refunded' : result === 'refused' ? 'refundRefused' : 'refundAsked',
  );
}

async function approve(request: HolderRequest): Promise<FastifyReply> {
  await approvePayout(
    request.ctx,
    request.services.payments.engine,
    request.actor,
    request.holder.id,
    paramOf(request, 'ref'),
  );
  return redirect(request, back(request), 'approved');
}

async function cancel(request: HolderRequest): Promise<FastifyReply> {
  await cancelPayout(request.ctx, request.actor, request.holder.id, paramOf(request, 'ref'));
  return redirect(request, back(request), 'cancelled');
}

async function decideLost(request: HolderRequest): Promise<FastifyReply> {
  const decision = fieldOf(request, 'decision') === 'release' ? 'release' : 'send_again';
  await decideLostPayout(
    request.ctx,
    request.services.payments.engine,
    request.actor,
    request.holder.id,
    paramOf(request, 'ref'),
    decision,
  );
  return redirect(request, back(request), 'decided');
}

async function resolve(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, actor } = request;
  const id = uuidFromPublicId('case', paramOf(request, 'id'));
  const resolution = fieldOf(request, 'resolution', MAX_RESOLUTION);
  if (id === null) throw new Problem('not_found');
  if (resolution === '') throw new Problem('invalid_params', { message: request.t.cases.resolutionMissing });
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    if (!(await resolveCase(tx, holder.id, id, actor.name, resolution, at)))
      throw new Problem('not_found', { message: request.t.cases.gone });
    await recordAudit(
      tx,
      { holderId: holder.id, actor, action: 'case.resolved', subject: publicId('case', id), details: { resolution } },
      at,
    );
  });
  return redirect(request, '/console/cases', 'resolved');
}
