// What a case means, what to do about it, and the form that closes it.

import { type Case, closesByNote } from '../payments/cases.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import { type HolderRequest, type MemberRequest, money } from './console-request.ts';
import { form } from './form-components.ts';
import { TREASURERS } from './route.ts';

export const MAX_RESOLUTION = 500;

export function caseDetails(request: HolderRequest, each: Case): Html {
  return html`
    ${caseMeaning(request, each)}
    ${
      TREASURERS.includes(request.role) &&
      closesByNote(each) &&
      html`
        <details>
          <summary>${request.t.cases.resolve}…</summary>
          ${resolveForm(request, `/cases/${publicId('case', each.id)}/resolve`)}
        </details>
      `
    }
  `;
}

export function caseMeaning(request: MemberRequest, each: Case): Html {
  const { t } = request;
  return html`
    <p><b>${t.cases.kinds[each.kind]}</b> ${t.cases.advice[each.kind]}</p>
    ${
      each.amount !== null &&
      html`
        <p>
          ${t.cases.openAmount} <b>${money(request, each.amount - each.settled, each.currency ?? '')}</b>
          ${' '}
          <span class="muted">${t.cases.needsDecision}</span>
        </p>
      `
    }
  `;
}

export function resolveForm(request: MemberRequest, action: string): Html {
  const { t } = request;
  return form(request, {
    action,
    fields: [
      {
        name: 'resolution',
        label: t.cases.resolution,
        required: true,
        attributes: html`maxlength="${MAX_RESOLUTION}"`,
      },
    ],
    submit: t.cases.resolve,
  });
}
