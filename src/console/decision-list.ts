// Decisions about cases as they are shown: what was proposed, on which evidence, by whom, and what a member can do with it.

import { holderNames } from '../holders/holders.ts';
import { type Decision, listProposedDecisions } from '../payments/decision-rows.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import { dataTable, facts, type Tone, tag } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { type MemberRequest, money } from './console-request.ts';
import { type CaseSubject, effectOf } from './decision-form.ts';
import { form, postButton } from './form-components.ts';

const MAX_WAITING = 50;
const TONES: Record<Decision['status'], Tone> = {
  proposed: 'warning',
  approved: 'success',
  rejected: 'neutral',
  overtaken: 'neutral',
};

/** Which page shows a decision: that of the holder's members, or that of admins. */
export type DecisionView = { isAdmin: boolean; canPropose: boolean; toHolder: ReadonlyMap<bigint, string> };

export function decisionCard(
  request: MemberRequest,
  decision: Decision,
  subject: CaseSubject,
  view: DecisionView,
): Html {
  const { t } = request;
  return html`
    <section class="card">
      <p><b>${t.decisions.labels[decision.action]}</b> ${statusOf(request, decision)}</p>
      ${facts(decisionFacts(request, decision, subject, view))}
      ${decision.status === 'proposed' && proposedButtons(request, decision, subject, view)}
    </section>
  `;
}

function statusOf({ t }: MemberRequest, { status }: Decision): Html {
  return tag(TONES[status], t.decisions.statuses[status]);
}

function decisionFacts(
  request: MemberRequest,
  decision: Decision,
  { transaction }: CaseSubject,
  view: DecisionView,
): [string, HtmlValue][] {
  const { t } = request;
  const { amount, to_holder: toHolder, document_type: documentType } = decision;
  const canRead = view.isAdmin || view.canPropose;
  return [
    [t.decisions.amount, amount !== null && money(request, amount, transaction?.currency ?? '')],
    [
      t.decisions.account,
      toHolder !== null && html`<bdi>${view.toHolder.get(toHolder) ?? ''}</bdi> <span class="muted">${toHolder}</span>`,
    ],
    [t.decisions.reason, html`<bdi>${decision.reason}</bdi>`],
    [t.decisions.reference, html`<bdi>${decision.reference}</bdi>`],
    [
      t.decisions.documentGiven,
      documentType !== null &&
        (canRead ? html`<a href="${documentPath(decision, view)}" download>${t.decisions.documentLink}</a>` : t.yes),
    ],
    [t.decisions.proposedBy, html`<bdi>${decision.proposed_by}</bdi> · ${timeTag(request, decision.proposed_at)}`],
    [
      t.decisions.decidedBy,
      decision.decided_by !== null &&
        html`<bdi>${decision.decided_by}</bdi> · ${timeTag(request, decision.decided_at)}`,
    ],
  ];
}

function documentPath({ id, case_id: caseId }: Decision, { isAdmin }: DecisionView): string {
  const ref = publicId('dec', id);
  return isAdmin
    ? `/console/admin/decisions/${ref}/document`
    : `/console/cases/${publicId('case', caseId)}/documents/${ref}`;
}

/** Approve and Reject for an admin who did not propose it; for others a sentence that says who must. */
function proposedButtons(request: MemberRequest, decision: Decision, subject: CaseSubject, view: DecisionView): Html {
  const { t, session } = request;
  const ref = publicId('dec', decision.id);
  const isOwn = decision.proposed_by_member === session.member.id;
  if (isOwn || !view.isAdmin) {
    const path = view.isAdmin
      ? `/admin/decisions/${ref}/reject`
      : `/cases/${publicId('case', decision.case_id)}/withdraw`;
    return html`
      <p class="box neutral">${isOwn && view.isAdmin ? t.decisions.youProposed : t.decisions.waitsForAdmin}</p>
      ${isOwn && postButton(request, path, t.decisions.withdraw, { variant: 'secondary', hidden: { decision: ref } })}
    `;
  }
  return html`
    <p>${t.decisions.approveMeaning} ${effectOf(request, decision.action, subject)}</p>
    <div class="actions">
      ${form(request, { action: `/admin/decisions/${ref}/approve`, submit: t.decisions.approve })}
      ${' '}
      ${postButton(request, `/admin/decisions/${ref}/reject`, t.decisions.reject, { variant: 'danger' })}
    </div>
  `;
}

/** The decisions of all cases that wait for a second person. For admins. */
export async function waitingDecisions(request: MemberRequest): Promise<Html | false> {
  const { ctx, t } = request;
  const decisions = await listProposedDecisions(ctx.db, MAX_WAITING);
  if (decisions.length === 0) return false;
  const names = await holderNames(
    ctx.db,
    decisions.map((each) => each.holder_id),
  );
  return html`
    <section class="card" id="waiting-decisions">
      <h2>${t.decisions.waiting}</h2>
      ${dataTable(
        t.decisions.waiting,
        [
          { label: t.decisions.title },
          { label: t.admin.holder },
          { label: t.decisions.reason },
          { label: t.decisions.proposedBy },
          { label: t.created },
        ],
        decisions.map((each) => [
          html`<a href="/console/admin/cases/${publicId('case', each.case_id)}">${t.decisions.labels[each.action]}</a>`,
          html`<bdi>${names.get(each.holder_id) ?? t.admin.noHolder}</bdi>`,
          html`<bdi>${each.reason}</bdi>`,
          html`<bdi>${each.proposed_by}</bdi>`,
          timeTag(request, each.proposed_at),
        ]),
      )}
    </section>
  `;
}
