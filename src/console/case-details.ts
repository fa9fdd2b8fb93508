// What a case means, what to do about it, and the form that closes it.

import type { Case } from '../payments/cases.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import type { HolderRequest, MemberRequest } from './console-request.ts';
import { form } from './form-components.ts';
import { TREASURERS } from './route.ts';

export const MAX_RESOLUTION = 500;

export function caseDetails(request: HolderRequest, each: Case): Html {
  return html`
    ${caseMeaning(request, each)}
    ${
      TREASURERS.includes(request.role) &&
      html`
        <details>
          <summary>${request.t.cases.resolve}…</summary>
          ${resolveForm(request, `/cases/${publicId('case', each.id)}/resolve`)}
        </details>
      `
    }
  `;
}

export function caseMeaning({ t }: MemberRequest, each: Case): Html {
  return html`<p><b>${t.cases.kinds[each.kind]}</b> ${t.cases.advice[each.kind]}</p>`;
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
