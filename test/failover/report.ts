// The table of a run, in Markdown, and what was not as it must be.

import type { Outcome } from './checks.ts';
import { KINDS, type Kind, type Operation } from './load.ts';
import type { RequestFigures } from './requests.ts';

const WRITING_AGAIN_MS = 2_000;

export type Result = {
  title: string;
  promotes: boolean;
  operations: readonly Operation[];
  /** Acknowledged a second before the strike. */
  reached: Record<Kind, number>;
  /** From the strike to the new primary. */
  promotedAfterMs: number | null;
  /** From there to the first acknowledged change. */
  writingAfterMs: number | null;
  longestGapMs: number;
  requests: RequestFigures;
  outcome: Outcome;
};

const COLUMNS = [
  'scenario',
  'collections / payouts / refunds a second before it',
  'new primary after',
  'writing again after that',
  'longest time without an acknowledged change',
  'requests',
  'later than 10 s',
  'longest',
  'acknowledged',
  'lost / doubled',
  'ledger',
  "operator's book",
  'callbacks missing',
  'for a person',
];

export function tableHead(): string {
  return `| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}`;
}

const seconds = (ms: number | null) => (ms === null ? '–' : `${(ms / 1000).toFixed(1)} s`);

export function tableRow(result: Result): string {
  const { operations, reached, requests, outcome } = result;
  const acknowledged = operations.filter(({ acknowledgedAt }) => acknowledgedAt !== null).length;
  const cells = [
    result.title,
    KINDS.map((kind) => reached[kind].toFixed(0)).join(' / '),
    seconds(result.promotedAfterMs),
    seconds(result.writingAfterMs),
    seconds(result.longestGapMs),
    requests.sent,
    requests.late,
    seconds(requests.longestMs),
    acknowledged,
    `${outcome.lost} / ${outcome.doubled}`,
    outcome.ledger,
    outcome.book,
    outcome.callbacksMissing,
    outcome.forPeople,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** What a table does not show. */
export function notesOf({ requests, outcome }: Result): string {
  const statuses = Object.entries(requests.statuses).map(([status, count]) => `${count} × ${status}`);
  return (
    `answers: ${statuses.join(', ')}; everything had ended ${seconds(outcome.settledAfterMs)} after the load; ` +
    `${outcome.sentLater} were sent after the operator did not know them`
  );
}

/** Empty: all is as it must be. */
export function problemsOf({ promotes, promotedAfterMs, writingAfterMs, requests, outcome }: Result): string[] {
  const problems: [boolean, string][] = [
    [outcome.lost > 0, `${outcome.lost} acknowledged payments are lost`],
    [outcome.doubled > 0, `${outcome.doubled} payments are there twice`],
    [outcome.unanswered.length > 0, `not acknowledged: ${outcome.unanswered.slice(0, 5).join('; ')}`],
    [outcome.notEnded > 0, `${outcome.notEnded} payments have not ended`],
    [outcome.ledger !== 'right', `the ledger is not right: ${outcome.ledger}`],
    [outcome.book !== 'equal', `the books differ: ${outcome.book}`],
    [outcome.callbacksMissing > 0, `${outcome.callbacksMissing} callbacks did not arrive`],
    [outcome.forged > 0, `${outcome.forged} callbacks did not verify`],
    [requests.late > 0, `${requests.late} requests took longer than 10 s`],
    [promotes && promotedAfterMs === null, 'no server became the primary'],
    [
      promotes && (writingAfterMs ?? 0) > WRITING_AGAIN_MS,
      `writing again ${seconds(writingAfterMs)} after the new primary, not 2 s`,
    ],
  ];
  return problems.filter(([isSo]) => isSo).map(([, sentence]) => sentence);
}
