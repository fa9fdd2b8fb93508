// The part of a case that is about a dispute: until when it must be answered, what is missing, and the evidence of both sides. And
// the form with which admins open a dispute.

import type { FastifyReply } from 'fastify';
import { type Case, findCase } from '../payments/cases.ts';
import {
  addDisputeEvidence,
  findDispute,
  listDisputeEvidence,
  MAX_DISPUTE_NOTE,
  MAX_DISPUTE_REASON,
  MAX_DISPUTE_REFERENCE,
  openDispute,
  readDisputeDocument,
} from '../payments/disputes.ts';
import { findTransaction, idFromRef } from '../payments/transactions.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { holderOfUuid, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { facts } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type HolderRequest, type MemberRequest, money, paramOf, readDay } from './console-request.ts';
import { documentField, readDocumentField, replyWithDocument } from './decision-document.ts';
import { form, isRefused } from './form-components.ts';
import { redirect } from './layout.ts';
import { type ConsoleRoute, forAdmin, forRoles, TREASURERS } from './route.ts';

/** Where the form of a new dispute is sent. */
const OPEN = '/admin/disputes';

export const disputeRoutes: ConsoleRoute[] = [
  forRoles(TREASURERS, 'POST', '/cases/:id/evidence', addAsMember, {
    largeForm: true,
    whenSuspended: true,
    formOn: '/cases/:id',
  }),
  forRoles(TREASURERS, 'GET', '/cases/:id/evidence/:evidence', (request) => sendEvidence(request, request.holder.id)),
  forAdmin('POST', '/admin/cases/:id/evidence', (request) => add(request, null, '/admin/cases'), {
    largeForm: true,
    formOn: '/admin/cases/:id',
  }),
  forAdmin('GET', '/admin/cases/:id/evidence/:evidence', (request) => sendEvidence(request, null)),
  forAdmin('POST', OPEN, open, { confirm: true, formOn: '/admin/cases' }),
];

/** The card of a dispute on the page of its case. `path` is below /console. */
export async function disputeCard(
  request: MemberRequest,
  each: Case,
  { path, canAdd }: { path: string; canAdd: boolean },
): Promise<Html | false> {
  const { ctx, t } = request;
  const dispute = each.kind === 'dispute' ? await findDispute(ctx.db, each.id) : null;
  if (!dispute) return false;
  const evidence = await listDisputeEvidence(ctx.db, each.id);
  const address = `${path}/${publicId('case', each.id)}/evidence`;
  return html`
    <section class="card">
      <h2>${t.cases.dispute.evidence}</h2>
      ${facts([
        [t.cases.dispute.answerBy, timeTag(request, dispute.answer_by)],
        [t.cases.facts.reason, html`<bdi>${dispute.reason}</bdi>`],
        [t.cases.dispute.source[dispute.source], dispute.reference && html`<code>${dispute.reference}</code>`],
        [t.cases.dispute.short, dispute.short > 0n && money(request, dispute.short, dispute.currency)],
      ])}
      ${evidence.length === 0 && html`<p class="muted">${t.cases.dispute.none}</p>`}
      ${evidence.map(
        (entry) => html`
          <p><bdi>${entry.note}</bdi></p>
          <p class="muted">
            <bdi>${entry.added_by}</bdi> · ${timeTag(request, entry.added_at)}
            ${
              entry.document_type &&
              html` · <a href="/console${address}/${entry.id}" download>${t.decisions.documentLink}</a>`
            }
          </p>
        `,
      )}
      ${
        canAdd &&
        each.status === 'open' &&
        form(request, {
          action: address,
          fields: [
            {
              type: 'textarea',
              name: 'note',
              label: t.cases.dispute.note,
              hint: t.cases.dispute.noteHint,
              required: true,
              attributes: html`maxlength="${MAX_DISPUTE_NOTE}"`,
            },
            documentField(request, undefined),
          ],
          submit: t.cases.dispute.add,
          variant: 'secondary',
        })
      }
    </section>
  `;
}

/** Opens a dispute about a payment of any merchant. For admins. */
export function openDisputeForm(request: MemberRequest): Html {
  const { t } = request;
  return html`
    <details class="card"${isRefused(request, OPEN) && html` open`}>
      <summary>${t.cases.dispute.open}</summary>
      <p class="muted">${t.cases.dispute.openLead}</p>
      ${form(request, {
        action: OPEN,
        fields: [
          { name: 'ref', label: t.cases.dispute.ref, required: true },
          { name: 'amount', label: t.amount, hint: t.cases.dispute.amountHint, attributes: html`inputmode="decimal"` },
          {
            name: 'reason',
            label: t.cases.facts.reason,
            required: true,
            attributes: html`maxlength="${MAX_DISPUTE_REASON}"`,
          },
          {
            name: 'notice',
            label: t.cases.dispute.notice,
            hint: t.cases.dispute.noticeHint,
            attributes: html`maxlength="${MAX_DISPUTE_REFERENCE}"`,
          },
          { type: 'date', name: 'day', label: t.cases.dispute.answerBy },
        ],
        submit: t.cases.dispute.open,
        variant: 'secondary',
      })}
    </details>
  `;
}

async function open(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const ref = fieldOf(request, 'ref', 60);
  const id = idFromRef(ref);
  const collection = id === null ? null : await findTransaction(ctx.db, holderOfUuid(id), id);
  if (!collection) throw wrongField('ref', t.cases.notFound);
  const typed = fieldOf(request, 'amount');
  const amount = typed === '' ? null : readTypedAmount(typed, request.language, { currency: collection.currency });
  if (amount && !amount.ok) throw wrongField('amount', amount.sentence);
  const dispute = await openDispute(ctx, actor, {
    collection: ref,
    amount: amount?.amount ?? null,
    reason: fieldOf(request, 'reason', MAX_DISPUTE_REASON),
    reference: fieldOf(request, 'notice', MAX_DISPUTE_REFERENCE) || null,
    answerBy: readDay(fieldOf(request, 'day', 10)),
  });
  return redirect(request, `/console/admin/cases/${publicId('case', dispute.case_id)}`, 'saved');
}

function addAsMember(request: HolderRequest): Promise<FastifyReply> {
  return add(request, request.holder.id, '/cases');
}

async function add(request: MemberRequest, holderId: bigint | null, path: string): Promise<FastifyReply> {
  const { ctx, actor } = request;
  const each = await disputeOf(request, holderId);
  const evidence = { note: fieldOf(request, 'note', MAX_DISPUTE_NOTE), document: readDocumentField(request) };
  await addDisputeEvidence(ctx, actor, holderId, each.id, evidence);
  return redirect(request, `/console${path}/${publicId('case', each.id)}`, 'saved');
}

async function sendEvidence(request: MemberRequest, holderId: bigint | null): Promise<FastifyReply> {
  const each = await disputeOf(request, holderId);
  const id = paramOf(request, 'evidence');
  const isId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(id);
  return replyWithDocument(request, isId ? await readDisputeDocument(request.ctx.db, each.id, id) : null, 'evidence');
}

async function disputeOf(request: MemberRequest, holderId: bigint | null): Promise<Case> {
  const id = uuidFromPublicId('case', paramOf(request, 'id'));
  const each = id === null ? null : await findCase(request.ctx.db, id);
  if (each?.kind !== 'dispute' || (holderId !== null && each.holder_id !== holderId))
    throw new Problem('not_found', { message: request.t.cases.notFound });
  return each;
}
