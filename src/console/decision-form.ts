// The form that proposes a decision about a case, and what each decision does to the money, in one sentence.

import { findHolder, findHoldersNamed } from '../holders/holders.ts';
import type { Case } from '../payments/cases.ts';
import type { DecisionAction } from '../payments/decision-rows.ts';
import {
  type DecisionRequest,
  MAX_DECISION_REASON_CHARACTERS,
  MAX_DECISION_REFERENCE_CHARACTERS,
} from '../payments/decisions.ts';
import type { Transaction } from '../payments/transactions.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { fieldOf, type MemberRequest, money } from './console-request.ts';
import { documentField, readDocumentField } from './decision-document.ts';
import { type FormField, form } from './form-components.ts';

const MAX_ALIKE = 5;
const MAX_ACCOUNT_CHARACTERS = 120;

export type CaseSubject = { each: Case; transaction: Transaction | null };

/** What the decision does to the money. */
export function effectOf(request: MemberRequest, action: DecisionAction, { each, transaction }: CaseSubject): string {
  const { settled, effects } = request.t.decisions;
  const isSettled = action === 'settle_success' || action === 'settle_failed' || action === 'settle_reversed';
  if (isSettled || action === 'send_again') {
    if (!transaction) return '';
    return settled[transaction.direction][action](money(request, transaction.amount, transaction.currency));
  }
  const effect = effects[action];
  return typeof effect === 'string' ? effect : effect(openMoney(request, each));
}

function openMoney(request: MemberRequest, { amount, settled, currency }: Case): string {
  return money(request, (amount ?? 0n) - settled, currency ?? '');
}

export function decisionForm(
  request: MemberRequest,
  subject: CaseSubject,
  options: { action: string; possible: readonly DecisionAction[]; errors: FieldErrors | undefined },
): Html {
  const { t } = request;
  const { possible, errors } = options;
  const [first, ...others] = possible;
  return form(request, {
    action: options.action,
    errors,
    fields: [
      {
        type: 'radio',
        name: 'action',
        label: t.decisions.action,
        // Where there is only one thing to decide, it is chosen already.
        value: fieldOf(request, 'action') || (others.length === 0 ? first : ''),
        required: true,
        choices: possible.map((each) => [each, t.decisions.labels[each], effectOf(request, each, subject)] as const),
      },
      possible.includes('settle_amount') && amountField(request, subject),
      possible.includes('credit_holder') && accountField(request),
      ...evidenceFields(request),
      documentField(request, errors?.document),
    ],
    submit: t.decisions.submit,
  });
}

function amountField(request: MemberRequest, { transaction }: CaseSubject): FormField {
  const { t } = request;
  return {
    name: 'amount',
    label: `${t.decisions.amount} (${transaction?.currency ?? ''})`,
    hint: t.decisions.amountHint,
    value: fieldOf(request, 'amount'),
    attributes: html`inputmode="decimal" autocomplete="off"`,
  };
}

function accountField(request: MemberRequest): FormField {
  const { t } = request;
  return {
    name: 'holder',
    label: t.decisions.account,
    hint: t.decisions.accountHint,
    value: fieldOf(request, 'holder', MAX_ACCOUNT_CHARACTERS),
    attributes: html`maxlength="${MAX_ACCOUNT_CHARACTERS}" autocomplete="off"`,
  };
}

function evidenceFields(request: MemberRequest): FormField[] {
  const { t } = request;
  return [
    {
      name: 'reason',
      label: t.decisions.reason,
      hint: t.decisions.reasonHint,
      value: fieldOf(request, 'reason', MAX_DECISION_REASON_CHARACTERS),
      required: true,
      attributes: html`maxlength="${MAX_DECISION_REASON_CHARACTERS}"`,
    },
    {
      name: 'reference',
      label: t.decisions.reference,
      hint: t.decisions.referenceHint,
      value: fieldOf(request, 'reference'),
      required: true,
      attributes: html`maxlength="${MAX_DECISION_REFERENCE_CHARACTERS}"`,
    },
  ];
}

/** What the form asks for. Throws a Problem with the errors of its fields. */
export async function readDecisionForm(
  request: MemberRequest,
  { transaction }: CaseSubject,
  possible: readonly DecisionAction[],
): Promise<DecisionRequest> {
  const { t } = request;
  const action = possible.find((each) => each === fieldOf(request, 'action'));
  if (!action) throw new Problem('invalid_params', { errors: { action: [t.fieldRequired] } });
  return {
    action,
    reason: fieldOf(request, 'reason', MAX_DECISION_REASON_CHARACTERS + 1),
    reference: fieldOf(request, 'reference', MAX_DECISION_REFERENCE_CHARACTERS + 1),
    amount: action === 'settle_amount' ? readAmount(request, transaction) : null,
    toHolder: action === 'credit_holder' ? await readAccount(request) : null,
    document: readDocumentField(request),
  };
}

function readAmount(request: MemberRequest, transaction: Transaction | null): bigint | null {
  const text = fieldOf(request, 'amount');
  if (text === '' || !transaction) return null;
  const amount = readTypedAmount(text, request.language, { currency: transaction.currency });
  if (!amount.ok) throw new Problem('invalid_params', { errors: { amount: [amount.sentence] } });
  return amount.amount;
}

/** An account by its number or its exact name. A name that several have is refused: this is about money. */
async function readAccount(request: MemberRequest): Promise<bigint | null> {
  const { ctx, t } = request;
  const text = fieldOf(request, 'holder', MAX_ACCOUNT_CHARACTERS);
  if (text === '') return null;
  const refuse = (sentence: string) => new Problem('invalid_params', { errors: { holder: [sentence] } });
  const named = await findHoldersNamed(ctx.db, text, MAX_ALIKE);
  const numbered = /^[1-9]\d{0,17}$/.test(text) ? await findHolder(ctx.db, BigInt(text)) : null;
  const open = numbered && numbered.status !== 'closed' ? [numbered] : [];
  const found = [...new Map([...open, ...named].map((each) => [each.id, each])).keys()];
  const [only, ...others] = found;
  if (only === undefined) throw refuse(t.decisions.accountUnknown);
  if (others.length > 0) throw refuse(t.decisions.accountsAlike(found.join(', ')));
  return only;
}
