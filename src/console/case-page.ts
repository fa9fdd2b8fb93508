// The page of one case, for the members of its holder and for admins: what happened, the money it holds, the payment with
// its evidence, and the decisions about it. One person proposes a decision here, and an admin who is another one approves it.

import type { FastifyReply } from 'fastify';
import { formatNumber } from '../catalog/phone.ts';
import { holderNames } from '../holders/holders.ts';
import { type Case, closesByNote, findCase } from '../payments/cases.ts';
import { type Decision, findDecision, listDecisions } from '../payments/decision-rows.ts';
import {
  ADMINS_ONLY,
  approveDecision,
  type Decider,
  decisionsFor,
  proposeDecision,
  rejectDecision,
} from '../payments/decisions.ts';
import { type Evidence, listEvidence } from '../payments/evidence.ts';
import { findTransaction, refOf, type Transaction } from '../payments/transactions.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html, styleFile } from '../platform/html.ts';
import { NO_HOLDER, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { breadcrumbs, facts, operatorTile, tag, who } from '../ui/components.ts';
import { resolveForm } from './case-details.ts';
import { statusTag, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, type MemberRequest, money, paramOf, queryOf } from './console-request.ts';
import { sendDocument } from './decision-document.ts';
import { type CaseSubject, decisionForm, readDecisionForm } from './decision-form.ts';
import { decisionCard } from './decision-list.ts';
import { disputeCard } from './dispute-evidence.ts';
import { errorBox } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { methodName } from './names.ts';
import { type ConsoleRoute, EVERYONE, forAdmin, forRoles, TREASURERS } from './route.ts';

import { evidenceTimeline } from './transaction-timeline.ts';

const STYLE = styleFile(new URL('./transaction.css', import.meta.url));

export const casePageRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/cases/:id', (request) => showCase(memberView(request))),
  forRoles(TREASURERS, 'POST', '/cases/:id/decisions', (request) => propose(memberView(request)), { largeForm: true }),
  forRoles(TREASURERS, 'POST', '/cases/:id/withdraw', withdraw, { whenSuspended: true }),
  forRoles(TREASURERS, 'GET', '/cases/:id/documents/:decision', memberDocument),
  forAdmin('GET', '/admin/cases/:id', (request) => showCase(adminView(request))),
  forAdmin('POST', '/admin/cases/:id/decisions', (request) => propose(adminView(request)), { largeForm: true }),
  forAdmin('POST', '/admin/decisions/:id/approve', approve, { confirm: true }),
  forAdmin('POST', '/admin/decisions/:id/reject', reject, { confirm: true }),
  forAdmin('GET', '/admin/decisions/:id/document', adminDocument),
];

/** Who looks at the case. */
type CaseView = {
  request: MemberRequest;
  decider: Decider;
  /** Below /console. */
  path: string;
  canPropose: boolean;
};

function memberView(request: HolderRequest): CaseView {
  return {
    request,
    decider: { actor: memberActor(request), isAdmin: false, holderId: request.holder.id },
    path: '/cases',
    canPropose: TREASURERS.includes(request.role),
  };
}

function adminView(request: MemberRequest): CaseView {
  return {
    request,
    decider: { actor: memberActor(request), isAdmin: true, holderId: null },
    path: '/admin/cases',
    canPropose: true,
  };
}

function memberActor({ session }: MemberRequest): Decider['actor'] {
  return { memberId: session.member.id, name: session.member.email };
}

/** The case that the address names, and its transaction. */
async function requireSubject({ request, decider }: CaseView): Promise<CaseSubject> {
  const { ctx, t } = request;
  const id = uuidFromPublicId('case', paramOf(request, 'id'));
  const each = id === null ? null : await findCase(ctx.db, id);
  if (!each || (!decider.isAdmin && each.holder_id !== decider.holderId))
    throw new Problem('not_found', { message: t.cases.notFound });
  const transactionId = each.transaction_id;
  return {
    each,
    transaction: (transactionId && (await findTransaction(ctx.db, each.holder_id, transactionId))) || null,
  };
}

async function showCase(view: CaseView, errors?: FieldErrors): Promise<FastifyReply> {
  const { request, decider } = view;
  const { ctx, t } = request;
  const subject = await requireSubject(view);
  const { each, transaction } = subject;
  const [decisions, evidence] = await Promise.all([
    listDecisions(ctx.db, each.id),
    transaction ? listEvidence(ctx.db, each.holder_id, transaction.id) : null,
  ]);
  const names = await holderNames(
    ctx.db,
    [each.holder_id, ...decisions.map((decision) => decision.to_holder)].filter((id) => id !== null),
  );
  const disputeSection = await disputeCard(request, each, { path: view.path, canAdd: view.canPropose });
  const shown = { isAdmin: decider.isAdmin, canPropose: view.canPropose, toHolder: names };
  return renderPage(request, {
    title: t.cases.kinds[each.kind],
    titleDetail: publicId('case', each.id),
    breadcrumbs: pathTo(request, each, decider.isAdmin),
    badge: each.status === 'open' ? tag('warning', t.cases.needsYou) : tag('success', t.cases.closed),
    styles: [STYLE],
    ...(each.status === 'open' ? { lead: t.cases.advice[each.kind] } : {}),
    active: decider.isAdmin ? 'allCases' : 'cases',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${queryOf(request, 'overtaken') === 'yes' && overtakenBox(request, transaction)}
      ${each.status === 'resolved' && closedBox(request, each)}
      <div class="columns-wide">
        <div>
          ${
            decisions.length > 0 &&
            decisionSection(request, decisions, (decision) => decisionCard(request, decision, subject, shown))
          }
          ${disputeSection}
          ${proposeCard(view, subject, decisions, errors)}
          ${transaction && evidenceCard(request, transaction, evidence?.entries ?? [])}
        </div>
        <div>
          ${transaction && transactionCard(request, transaction, decider.isAdmin)}
          <section class="card">
            <h2>${t.cases.whatHappened}</h2>
            ${facts(caseFacts(request, subject, names, decider.isAdmin))}
            ${decider.isAdmin && Object.keys(each.detail).length > 0 && rawDetail(request, each)}
          </section>
        </div>
      </div>
    `,
  });
}

function pathTo({ t }: MemberRequest, { id }: Case, isAdmin: boolean): Html {
  const parent = isAdmin
    ? ([t.menu.allCases, '/console/admin/cases'] as const)
    : ([t.menu.cases, '/console/cases'] as const);
  return breadcrumbs(t.transaction.breadcrumbs, [parent], html`<code>${publicId('case', id)}</code>`);
}

function decisionSection(
  { t }: MemberRequest,
  decisions: readonly Decision[],
  card: (decision: Decision) => Html,
): Html {
  return html`
    <h2>${t.decisions.title}</h2>
    ${decisions.map(card)}
  `;
}

function overtakenBox(request: MemberRequest, transaction: Transaction | null): Html {
  const { t } = request;
  return html`
    <p class="box warning" role="alert">
      ${t.decisions.overtaken}
      ${transaction && html` ${t.decisions.statusNow} ${statusTag(request, transaction.status, transaction.direction)}`}
    </p>
  `;
}

function closedBox(request: MemberRequest, each: Case): Html {
  const { t } = request;
  const labels: Record<string, string> = t.decisions.labels;
  // A decision begins with its name, as decision-effects.ts writes it.
  const resolution = (each.resolution ?? '').replace(/^\w+(?=: )/, (name) => labels[name] ?? name);
  return html`
    <div class="box success">
      <p><b>${t.decisions.closed}</b> ${t.cases.resolvedBy(each.resolved_by ?? '')} · ${timeTag(request, each.resolved_at)}</p>
      <p>${withColon(request, t.cases.closedWith)} <bdi>${resolution}</bdi></p>
    </div>
  `;
}

function caseFacts(
  request: MemberRequest,
  { each, transaction }: CaseSubject,
  names: ReadonlyMap<bigint, string>,
  isAdmin: boolean,
): [string, HtmlValue][] {
  const { t } = request;
  const sum = (amount: bigint | null) => amount !== null && money(request, amount, each.currency ?? '');
  const holder = each.holder_id === NO_HOLDER ? t.admin.noHolder : names.get(each.holder_id);
  const labels = each.kind === 'debt' ? t.debts.money : t.cases.money;
  return [
    [labels.amount, sum(each.amount)],
    [labels.settled, each.settled > 0n && sum(each.settled)],
    [labels.open, each.settled > 0n && each.amount !== null && sum(each.amount - each.settled)],
    ...detailFacts(request, each, transaction),
    [t.admin.holder, isAdmin && html`<bdi>${holder}</bdi>`],
    [t.cases.opened, timeTag(request, each.opened_at)],
    [t.cases.caseNumber, html`<code>${publicId('case', each.id)}</code>`],
  ];
}

/** What the operator reported, with names for what is known. */
function detailFacts(request: MemberRequest, { detail }: Case, transaction: Transaction | null): [string, HtmlValue][] {
  const names: Record<string, string> = request.t.cases.facts;
  return Object.entries(detail).flatMap(([key, value]): [string, HtmlValue][] => {
    const name = names[key];
    if (name === undefined || value === null || value === '') return [];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (key === 'amount' && /^\d{1,18}$/.test(text)) {
      const currency = typeof detail.currency === 'string' ? detail.currency : (transaction?.currency ?? '');
      return currency === '' ? [] : [[name, money(request, BigInt(text), currency)]];
    }
    return [[name, html`<bdi>${key === 'state' ? stateText(request, text) : text}</bdi>`]];
  });
}

/** What an operator reported, in the words of our own statuses. */
function stateText({ t }: MemberRequest, state: string): string {
  const names: Record<string, string> = { ...t.status, succeeded: t.status.success };
  return names[state] ?? state;
}

function rawDetail({ t }: MemberRequest, { detail }: Case): Html | false {
  if (Object.keys(detail).length === 0) return false;
  return html`
    <details>
      <summary>${t.details}</summary>
      <pre tabindex="0" aria-label="${t.details}">${JSON.stringify(detail, null, 1)}</pre>
    </details>
  `;
}

function transactionCard(request: MemberRequest, transaction: Transaction, isAdmin: boolean): Html {
  const { t } = request;
  const ref = refOf(transaction);
  const { msisdn, payee, account_number: account } = transaction;
  const method = methodName(request, transaction.method);
  const number = msisdn === null ? (account ?? '') : formatNumber(msisdn);
  const href = isAdmin ? {} : { href: `/console/transactions/${ref}` };
  const isPaid = transaction.status === 'success' || transaction.status === 'reversed';
  return html`
    <section class="card">
      <div class="card-head">
        <h2>${t.cases.payment}</h2>
        ${statusTag(request, transaction.status, transaction.direction)}
      </div>
      ${who(html`<bdi>${payee ?? number}</bdi>`, payee ? number : method, { tile: operatorTile(method), ...href })}
      <p class="figure case-amount">${money(request, transaction.amount, transaction.currency)}</p>
      ${facts([
        [t.transactions.type, t.directions[transaction.direction]],
        [t.fee, isPaid && money(request, transaction.fee, transaction.currency)],
        [t.transaction.receipt, transaction.receipt && html`<code>${transaction.receipt}</code>`],
        [
          t.transaction.operatorReference,
          transaction.rail_reference && html`<code>${transaction.rail_reference}</code>`,
        ],
        [t.created, timeTag(request, transaction.created_at)],
        [
          t.reference,
          isAdmin ? html`<code>${ref}</code>` : html`<a href="/console/transactions/${ref}"><code>${ref}</code></a>`,
        ],
      ])}
    </section>
  `;
}

function evidenceCard(request: MemberRequest, transaction: Transaction, evidence: readonly Evidence[]): Html {
  const { t } = request;
  return html`
    <section class="card">
      <h2>${t.cases.evidence}</h2>
      ${
        evidence.length > 0
          ? evidenceTimeline(request, transaction, evidence)
          : html`<p class="muted">${t.cases.noEvidence}</p>`
      }
    </section>
  `;
}

/** The form, or the sentence that says why there is none. */
function proposeCard(
  view: CaseView,
  subject: CaseSubject,
  decisions: readonly Decision[],
  errors: FieldErrors | undefined,
): Html | false {
  const { request, canPropose } = view;
  const { t } = request;
  const { each } = subject;
  if (each.status !== 'open') return false;
  const path = `${view.path}/${publicId('case', each.id)}`;
  if (closesByNote(each)) return canPropose && noteCard(request, path);
  const possible = possibleFor(view, subject);
  if (!canPropose) return html`<p class="muted">${t.decisions.noRole}</p>`;
  if (possible.length === 0) return html`<p class="muted">${t.decisions.adminsOnly}</p>`;
  if (decisions.some(({ status }) => status === 'proposed'))
    return html`<p class="muted">${t.decisions.oneAtATime}</p>`;
  return html`
    <section class="card" id="propose">
      <h2>${t.decisions.propose}</h2>
      <p>${t.decisions.twoPeople}</p>
      ${errorBox(request, errors)}
      ${decisionForm(request, subject, { action: `${path}/decisions`, possible, errors })}
    </section>
  `;
}

function noteCard(request: MemberRequest, path: string): Html {
  return html`
    <section class="card">
      <h2>${request.t.cases.resolve}</h2>
      ${resolveForm(request, `${path}/resolve`)}
    </section>
  `;
}

function possibleFor({ decider }: CaseView, { each, transaction }: CaseSubject) {
  const possible = decisionsFor(each, transaction);
  return decider.isAdmin ? possible : possible.filter((action) => !ADMINS_ONLY.includes(action));
}

async function propose(view: CaseView): Promise<FastifyReply> {
  const { request, decider, path } = view;
  const subject = await requireSubject(view);
  const address = `/console${path}/${publicId('case', subject.each.id)}`;
  try {
    const wanted = await readDecisionForm(request, subject, possibleFor(view, subject));
    await proposeDecision(request.ctx, decider, subject.each.id, wanted);
  } catch (error) {
    if (isOvertaken(error)) return redirect(request, `${address}?overtaken=yes`);
    if (error instanceof Problem && error.details.errors) return showCase(view, error.details.errors);
    throw error;
  }
  return redirect(request, address, 'decisionProposed');
}

function isOvertaken(error: unknown): boolean {
  return error instanceof Problem && error.code === 'decision_overtaken';
}

/** The decision that the address of an admin names. */
async function requireDecision(request: MemberRequest): Promise<Decision> {
  const id = uuidFromPublicId('dec', paramOf(request, 'id'));
  const decision = id === null ? null : await findDecision(request.ctx.db, id);
  if (!decision) throw new Problem('not_found');
  return decision;
}

async function approve(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, services } = request;
  const { id, case_id: caseId } = await requireDecision(request);
  const address = `/console/admin/cases/${publicId('case', caseId)}`;
  try {
    await approveDecision(ctx, services.payments.engine, adminView(request).decider, publicId('dec', id));
  } catch (error) {
    if (isOvertaken(error)) return redirect(request, `${address}?overtaken=yes`);
    throw error;
  }
  return redirect(request, address, 'decisionApproved');
}

async function reject(request: MemberRequest): Promise<FastifyReply> {
  const { id, case_id: caseId } = await requireDecision(request);
  const address = `/console/admin/cases/${publicId('case', caseId)}`;
  return endProposal(request, adminView(request).decider, publicId('dec', id), address);
}

async function withdraw(request: HolderRequest): Promise<FastifyReply> {
  const view = memberView(request);
  const { each } = await requireSubject(view);
  const ref = fieldOf(request, 'decision', 40);
  const decisions = await listDecisions(request.ctx.db, each.id);
  if (!decisions.some(({ id }) => publicId('dec', id) === ref)) throw new Problem('not_found');
  return endProposal(request, view.decider, ref, `/console/cases/${publicId('case', each.id)}`);
}

async function endProposal(
  request: MemberRequest,
  decider: Decider,
  ref: string,
  address: string,
): Promise<FastifyReply> {
  try {
    await rejectDecision(request.ctx, decider, ref);
  } catch (error) {
    if (isOvertaken(error)) return redirect(request, `${address}?overtaken=yes`);
    throw error;
  }
  return redirect(request, address, 'decisionRejected');
}

async function memberDocument(request: HolderRequest): Promise<FastifyReply> {
  const { each } = await requireSubject(memberView(request));
  const decisions = await listDecisions(request.ctx.db, each.id);
  const decision = decisions.find(({ id }) => publicId('dec', id) === paramOf(request, 'decision'));
  if (!decision) throw new Problem('not_found');
  return sendDocument(request, decision.id);
}

async function adminDocument(request: MemberRequest): Promise<FastifyReply> {
  return sendDocument(request, (await requireDecision(request)).id);
}
