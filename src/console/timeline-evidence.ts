// What operators and people reported of a transaction, as entries of its timeline: in plain words, with the raw answer behind
// a click. Answers that changed nothing and follow each other are one entry.

import { isFailureCode } from '../catalog/failures.ts';
import type { Evidence } from '../payments/evidence.ts';
import type { Status } from '../payments/states.ts';
import type { Transaction } from '../payments/transactions.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { maskNumber } from '../platform/log.ts';
import type { Tone } from '../ui/components.ts';
import { exactTimeTag } from './components.ts';
import type { MemberRequest } from './console-request.ts';
import { methodName } from './names.ts';

export type TimelineEntry = {
  at: Date;
  /** Set when the entry is several things that ended then. */
  until?: Date;
  tone: Tone | '';
  title: HtmlValue;
  body?: HtmlValue;
};

/** A reply within this time is shown with how long it took. */
const QUICK_REPLY_MS = 60_000;

const TONES: Record<string, Tone | ''> = {
  succeeded: 'success',
  failed: 'error',
  reversed: 'warning',
  unknown: 'warning',
  pending: '',
};
const STATUSES: Partial<Record<string, Status>> = { succeeded: 'success', failed: 'failed', reversed: 'reversed' };

type StateName = keyof MemberRequest['t']['transaction']['answers'];

/** `posted`: what stands beside a result that moved money. */
export function evidenceEntries(
  request: MemberRequest,
  transaction: Transaction,
  evidence: readonly Evidence[],
  posted: HtmlValue = false,
): TimelineEntry[] {
  return runsOf(evidence).map((run) => {
    const [first] = run;
    return run.length === 1 && !isUnchanged(first)
      ? singleEntry(request, transaction, first, posted)
      : repeatedEntry(request, transaction, run);
  });
}

type Run = readonly [Evidence, ...Evidence[]];

/** Answers in a row that said the same and changed nothing. */
function runsOf(evidence: readonly Evidence[]): Run[] {
  const runs: [Evidence, ...Evidence[]][] = [];
  for (const each of evidence) {
    const run = runs.at(-1);
    if (run && isUnchanged(each) && isUnchanged(run[0]) && run[0].state === each.state) run.push(each);
    else runs.push([each]);
  }
  return runs;
}

function isUnchanged({ effect, source }: Evidence): boolean {
  return source !== 'person' && source !== 'submit' && (effect === 'ignored' || effect === 'confirmed');
}

function repeatedEntry(request: MemberRequest, transaction: Transaction, run: Run): TimelineEntry {
  const { t } = request;
  const [first] = run;
  const last = run.at(-1) ?? first;
  const title = t.transaction.again[stateOf(first)](methodName(request, transaction.method), run.length);
  const entry = { at: last.at, tone: '', title } as const;
  return {
    ...entry,
    ...(run.length > 1 ? { at: first.at, until: last.at } : {}),
    body: html`
      <details>
        <summary>${t.transaction.showAnswers}</summary>
        ${run.map(
          (each) => html`
            <p class="muted">${exactTimeTag(request, each.at)}${t.transaction.channels[each.source]}</p>
            ${each.raw !== '' && rawText(t.transaction.rawResponse, transaction, each.raw)}
          `,
        )}
      </details>
    `,
  };
}

function singleEntry(
  request: MemberRequest,
  transaction: Transaction,
  evidence: Evidence,
  posted: HtmlValue,
): TimelineEntry {
  const { t } = request;
  const operator = methodName(request, transaction.method);
  const state = stateOf(evidence);
  const rawLabel = evidence.source === 'person' ? t.transaction.decision : t.transaction.rawResponse;
  const notes = notesOf(request, transaction, evidence, operator);
  const hasMoved = evidence.effect === 'applied' && (state === 'succeeded' || state === 'reversed');
  const lines = [...notes, hasMoved && posted].filter(Boolean);
  return {
    at: evidence.at,
    tone: evidence.effect === 'case' ? 'warning' : (TONES[evidence.state] ?? ''),
    title: titleOf(request, transaction, evidence, operator),
    body: html`
      <span class="muted">${lines.map((line, index) => html`${index > 0 && ' · '}${line}`)}</span>
      ${
        evidence.raw !== '' &&
        html`
          <details>
            <summary>${rawLabel}</summary>
            <p class="muted">${t.transaction.channels[evidence.source]}</p>
            ${rawText(rawLabel, transaction, evidence.raw)}
          </details>
        `
      }
    `,
  };
}

/** A result is named by the status that it led to; everything else by what the operator answered. */
function titleOf(request: MemberRequest, transaction: Transaction, evidence: Evidence, operator: string): string {
  const { t } = request;
  const state = stateOf(evidence);
  const status = STATUSES[state];
  if (evidence.source === 'person') return personTitle(request, status, evidence.raw);
  if (evidence.effect === 'applied' && status !== undefined) {
    const ended = status === 'failed' && transaction.status === 'expired' ? 'expired' : status;
    const reason = failureText(request, evidence.failure_code);
    return reason === null || status !== 'failed'
      ? t.status[ended]
      : `${withColon(request, t.status[ended])} ${reason}`;
  }
  if (evidence.source === 'submit' && state === 'pending') {
    const isAsked = transaction.direction === 'collection' && transaction.verification !== 'none';
    return isAsked ? t.transaction.verification[transaction.verification] : t.transaction.sent(operator);
  }
  return t.transaction.answers[state](operator);
}

/** "dec_…: amina decided: …" and "cancelled by amina …", as payments writes them. */
function personTitle(request: MemberRequest, status: Status | undefined, raw: string): string {
  const { t } = request;
  const cancelled = /^cancelled by (.+) before it was sent/.exec(raw)?.[1];
  if (cancelled !== undefined) return t.transaction.cancelledBy(cancelled);
  const decided = /^dec_\w+: (.+?) decided: /.exec(raw)?.[1];
  const result = status === undefined ? t.transaction.channels.person : t.status[status];
  return decided === undefined
    ? `${withColon(request, t.transaction.decision)} ${result}`
    : t.transaction.decidedBy(result, decided);
}

function notesOf(
  { t }: MemberRequest,
  transaction: Transaction,
  evidence: Evidence,
  operator: string,
): (string | false)[] {
  const { source, effect, receipt } = evidence;
  const state = stateOf(evidence);
  const ms = evidence.at.getTime() - transaction.created_at.getTime();
  const seconds = ms > 0 && ms < QUICK_REPLY_MS ? (ms / 1_000).toFixed(1) : null;
  const isResult = effect === 'applied' && STATUSES[state] !== undefined && source !== 'person';
  return [
    source === 'submit' && state === 'pending' && t.transaction.accepted(operator, seconds),
    isResult && t.transaction.answers[state](operator),
    receipt !== null && t.transaction.receiptOf(operator, receipt),
    effect === 'case' && t.transaction.contradicts,
  ];
}

function stateOf({ state }: Evidence): StateName {
  return state === 'pending' || state === 'succeeded' || state === 'failed' || state === 'reversed' ? state : 'unknown';
}

/** The reason of a failure in a few words. */
export function failureText({ t }: MemberRequest, code: string | null): string | null {
  return code !== null && isFailureCode(code) ? t.failures[code][0] : code;
}

function rawText(label: string, { msisdn }: Transaction, raw: string): Html {
  const text = msisdn ? raw.replaceAll(msisdn, maskNumber(msisdn)) : raw;
  const masked = text.replace(/\d{9,15}/g, (digits) => maskNumber(digits));
  return html`<pre tabindex="0" aria-label="${label}">${masked}</pre>`;
}
