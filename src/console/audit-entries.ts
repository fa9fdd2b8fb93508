// Entries of the audit log as people read them: a sentence, and its details as names and values.

import { type AuditRow, COMMAND_LINE } from '../holders/audit.ts';
import { isAuditAction } from '../holders/audit-actions.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { shortId } from '../platform/ids.ts';
import { timeTag } from './components.ts';
import { type MemberRequest, money } from './console-request.ts';
import type { ConsoleMessages } from './messages.ts';

type FactName = keyof ConsoleMessages['audit']['facts'];
type Texts = Record<string, string>;

const ISO_MOMENT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
/** Details that the sentences of their actions say already. */
const SAID: Readonly<Record<string, readonly string[]>> = {
  'payout.created': ['amount'],
  'payout_file.created': ['name', 'payouts'],
  'refund.created': ['amount'],
  'transaction.retried': ['amount'],
  'wallet.topped_up': ['amount'],
  'decision.proposed': ['action'],
  'decision.approved': ['action'],
  'decision.rejected': ['action'],
  'decision.overtaken': ['action'],
  'integration.key_added': ['key'],
  'integration.key_revoked': ['key'],
  'integration.revoked': ['status'],
  'member.added': ['role'],
  'member.invited': ['role'],
  'member.role_changed': ['role'],
  'member.removed': ['role'],
  'role_change.requested': ['role'],
  'role_change.withdrawn': ['role'],
  'holder.renamed': ['to'],
  'holder.time_zone': ['to'],
  'route.added': ['connection'],
  'settlement.taken': ['amount'],
  'settlement.proposed': ['reference'],
  'settlement.paid': ['reference'],
  'settlement.cancelled': ['reason'],
  'settlement.rule_changed': ['destination', 'schedule'],
  'operator.settled': ['amount', 'bank', 'direction'],
};

const AMOUNTS: readonly string[] = ['amount', 'without_approval', 'received', 'minimum'];
/** Their amounts are stored as decimals, those of all others in hundredths. Entries never change. */
const IN_DECIMALS: readonly string[] = ['settlement.taken', 'settlement.rule_changed', 'operator.settled'];

/** Pages of what an entry is about, by the form of its reference. */
const PAGES: readonly (readonly [form: RegExp, path: string])[] = [
  [/^(?:TX|RF)_\w{26}$/, '/console/transactions/'],
  [/^pl_\w{26}$/, '/console/links/'],
  [/^case_\w{26}$/, '/console/cases/'],
  [/^evt_\w{26}$/, '/console/callbacks/'],
];

export function auditList(request: MemberRequest, caption: string, rows: readonly AuditRow[]): Html {
  const entry = (row: AuditRow) => {
    const facts = factList(request, row);
    return html`
      <li>
        ${timeTag(request, row.at)}
        <span title="${row.action}"><b class="actor"><bdi>${actorName(request, row)}</bdi></b> ${deedOf(request, row)}</span>
        ${facts.length > 0 && html`<span class="muted wrap audit-facts">${facts}</span>`}
      </li>
    `;
  };
  return html`
    <section class="card" aria-label="${caption}">
      <ol class="timeline audit-list">${rows.map(entry)}</ol>
    </section>
  `;
}

/** The whole entry as text, for a file. */
export function auditSentence(request: MemberRequest, row: AuditRow): string {
  return `${actorName(request, row)} ${deedOf(request, row)}`;
}

export function actorName({ t }: MemberRequest, { actor, name }: Pick<AuditRow, 'actor' | 'name'>): string {
  if (name !== null && name !== '') return name;
  if (actor === COMMAND_LINE.name) return t.audit.commandLine;
  return actor === 'stranger' ? t.audit.stranger : actor;
}

function deedOf(request: MemberRequest, row: AuditRow): string {
  const { action, subject } = row;
  const { t } = request;
  if (!isAuditAction(action)) return t.audit.other(action);
  return t.audit.actions[action](subject, readable(request, row));
}

/** The details as texts. An amount has its currency beside it; that of a rule is what the rule is about. */
function readable(request: MemberRequest, { action, subject, details }: AuditRow): Texts {
  const { t } = request;
  const { currency = action === 'settlement.rule_changed' ? subject : null, ...rest } = details;
  const texts: Texts = typeof currency === 'string' ? { currency } : {};
  const roles: Readonly<Record<string, string>> = t.roles;
  const rules: Readonly<Record<string, string>> = t.audit.rules;
  const decisions: Readonly<Record<string, string>> = t.decisions.labels;
  const schedules: Readonly<Record<string, string>> = t.settlements.schedules;
  for (const [name, value] of Object.entries(rest)) {
    const text = textOf(request, value);
    const amount = AMOUNTS.includes(name) ? hundredthsOf(action, text) : null;
    if (amount !== null && typeof currency === 'string') texts[name] = money(request, amount, currency);
    else if (name === 'role') texts[name] = roles[text] ?? text;
    else if (name === 'action') texts[name] = decisions[text] ?? text;
    else if (name === 'kind') texts[name] = rules[text] ?? text;
    else if (name === 'schedule') texts[name] = schedules[text] ?? text;
    else texts[name] = text;
  }
  return texts;
}

function hundredthsOf(action: string, text: string): bigint | null {
  const [, whole, fraction = ''] = /^(\d{1,18})(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  if (IN_DECIMALS.includes(action)) return BigInt(`${whole}${fraction.padEnd(2, '0')}`);
  return fraction === '' ? BigInt(whole) : null;
}

function textOf({ t }: MemberRequest, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? t.yes : t.no;
  if (Array.isArray(value)) return value.map(String).join(', ');
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

function factList(request: MemberRequest, row: AuditRow): Html[] {
  const { t } = request;
  const said = SAID[row.action] ?? [];
  const labels: Readonly<Record<string, string>> = t.audit.facts satisfies Record<FactName, string>;
  const texts = Object.entries(readable(request, row)).filter(
    ([name, text]) => text !== '' && name !== 'currency' && !said.includes(name),
  );
  const facts = texts.map(
    ([name, text]) => html`<span>${withColon(request, labels[name] ?? name)} ${factValue(request, text)}</span>`,
  );
  const subject = pageLink(row.subject);
  const email = row.name !== null && row.name !== row.actor && html`<span><bdi>${row.actor}</bdi></span>`;
  return [...(subject ? [html`<span>${subject}</span>`] : []), ...facts, ...(email ? [email] : [])];
}

function factValue(request: MemberRequest, text: string): HtmlValue {
  if (ISO_MOMENT.test(text)) return timeTag(request, new Date(text));
  return pageLink(text) ?? html`<bdi>${text}</bdi>`;
}

function pageLink(text: string): Html | null {
  const page = PAGES.find(([form]) => form.test(text));
  return page ? html`<a href="${page[1]}${text}" title="${text}"><code>…${shortId(text)}…</code></a>` : null;
}
