// A case in a list: what it means, and what to do about it. And the form that closes one which reports a fact.

import type { Case } from '../payments/cases.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import { type MemberRequest, money } from './console-request.ts';
import { form } from './form-components.ts';

export const MAX_RESOLUTION = 500;

/** A case in a list: what it means, and the way to its page. `path` is below /console. */
export function caseDetails(request: MemberRequest, each: Case, path: '/cases' | '/admin/cases'): Html {
  return html`
    ${caseMeaning(request, each)}
    <p><a href="/console${path}/${publicId('case', each.id)}">${request.t.decisions.openCase}</a></p>
  `;
}

function caseMeaning(request: MemberRequest, each: Case): Html {
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
