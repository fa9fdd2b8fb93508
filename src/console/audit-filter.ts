// The filter over an audit log: who, what kind, which days. It stands in the address, so that pages and files share it.

import type { AuditFilter } from '../holders/audit.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { AUDIT_KINDS } from '../holders/audit-actions.ts';
import { type Html, html } from '../platform/html.ts';
import { icon } from '../ui/icons.ts';
import { zoneOf } from './components.ts';
import { idOf, type MemberRequest, queryOf } from './console-request.ts';
import { rangeOfDays } from './date-ranges.ts';
import { form } from './form-components.ts';

const NAMES = ['person', 'kind', 'from', 'to'] as const;
const MAX_PERSON = 254;

export function readAuditFilter(request: MemberRequest): AuditFilter {
  const after = queryOf(request, 'after', 20);
  return {
    before: after === '' ? undefined : idOf(after),
    actor: queryOf(request, 'person', MAX_PERSON) || undefined,
    kind: AUDIT_KINDS.find((kind) => kind === queryOf(request, 'kind')),
    ...rangeOfDays(queryOf(request, 'from', 10), queryOf(request, 'to', 10), zoneOf(request)),
  };
}

/** What the address says, without the place in the list. */
export function auditQuery(request: MemberRequest, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = queryOf(request, name, MAX_PERSON);
    if (value !== '') query.set(name, value);
  }
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.toString();
}

type Person = { email: string; name: string };

/** `path` is that of the page, below /console. */
export function auditFilterForm(request: MemberRequest, path: string, people: readonly Person[]): Html {
  const { t } = request;
  const person = queryOf(request, 'person', MAX_PERSON);
  const isUsed = auditQuery(request) !== '';
  // Somebody who has left the team can still be asked for.
  const isKnown = person === '' || person === COMMAND_LINE.name || people.some(({ email }) => email === person);
  const fields = form(request, {
    method: 'get',
    action: path,
    row: true,
    fields: [
      {
        type: 'select',
        name: 'person',
        label: t.audit.person,
        value: person,
        choices: [
          ['', t.all],
          ...people.map(({ email, name }) => [email, name === email ? email : `${name} (${email})`] as const),
          ...(isKnown ? [] : [[person, person] as const]),
          [COMMAND_LINE.name, t.audit.commandLine],
        ],
      },
      {
        type: 'select',
        name: 'kind',
        label: t.audit.kind,
        value: queryOf(request, 'kind'),
        choices: [['', t.all], ...AUDIT_KINDS.map((kind) => [kind, t.audit.kinds[kind]] as const)],
      },
      { type: 'date', name: 'from', label: t.from, value: queryOf(request, 'from', 10) },
      { type: 'date', name: 'to', label: t.to, value: queryOf(request, 'to', 10) },
    ],
    submit: t.show,
    variant: 'secondary',
    ...(isUsed ? { beside: html`<a href="/console${path}">${t.audit.clear}</a>` } : {}),
  });
  return html`
    <details class="filters"${isUsed && html` open`}>
      <summary>${icon('funnel')} ${t.transactions.filter}</summary>
      ${fields}
    </details>
  `;
}
