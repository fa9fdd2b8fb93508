// Evidence: every observation of a transaction as it was received, and its effect. The service never deletes any; an
// administrator may remove months that were archived.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { maintainPartitions, type PartitionPlan } from '../platform/partitions.ts';
import type { Observation } from '../rails/rail.ts';
import { visibleText } from './observations.ts';
import type { EvidenceSource, Transition } from './states.ts';

const MAX_SHOWN = 200;

/** By the month in the id of the transaction. */
export const EVIDENCE_MONTHS: PartitionPlan = {
  table: 'evidence',
  span: 'month',
  ahead: 2,
  keepMs: null,
  hasDefault: true,
};

/** Creates the partitions of the months to come. Returns how many. */
export function keepEvidenceMonths(ctx: Context): Promise<number> {
  return maintainPartitions(ctx, EVIDENCE_MONTHS);
}

export type Evidence = {
  at: Date;
  source: EvidenceSource;
  state: string;
  receipt: string | null;
  failure_code: string | null;
  effect: string;
  raw: string;
};

export type EvidencePage = {
  /** In the order of arrival. */
  entries: Evidence[];
  /** Give it as `before` to read what came before these; null: nothing did. */
  older: bigint | null;
};

/** The newest evidence of a transaction, or the newest before an entry. */
export async function listEvidence(
  reader: Reader,
  holderId: bigint,
  transactionId: string,
  before: bigint | null = null,
): Promise<EvidencePage> {
  const rows = await reader.query<Evidence & { id: bigint }>(
    `select id, at, source, state, receipt, failure_code, effect, raw from evidence
     where holder_id = $1 and transaction_id = $2 and ($3::bigint is null or id < $3) order by id desc limit $4`,
    [holderId, transactionId, before, MAX_SHOWN + 1],
  );
  const entries = rows.slice(0, MAX_SHOWN).reverse();
  return { entries, older: rows.length > MAX_SHOWN ? (entries[0]?.id ?? null) : null };
}

/** One observation of a transaction, and its effect. */
export type NewEvidence = {
  transactionId: string;
  source: EvidenceSource;
  observation: Observation;
  raw: string;
  effect: Transition['effect'];
};

const EVIDENCE = columns<NewEvidence>(2, {
  holder_id: ['bigint', (entry) => holderOfUuid(entry.transactionId)],
  transaction_id: ['uuid', (entry) => entry.transactionId],
  source: 'text',
  state: ['text', (entry) => entry.observation.state],
  receipt: ['text', ({ observation }) => ('receipt' in observation ? observation.receipt : null)],
  failure_code: ['text', ({ observation }) => (observation.state === 'failed' ? observation.failureCode : null)],
  effect: 'text',
  raw: ['text', (entry) => visibleText(entry.raw || describeObservation(entry.observation).reason || '')],
});

export async function recordEvidence(tx: Tx, evidence: NewEvidence[], at: Date): Promise<void> {
  if (evidence.length === 0) return;
  await tx.query(
    {
      name: 'record_evidence',
      text: `insert into evidence (${EVIDENCE.names}, at) select ${EVIDENCE.names}, $1 from ${EVIDENCE.rows}`,
    },
    [at, ...EVIDENCE.arrays(evidence)],
  );
}

/** The content of an observation, for the details of a case. */
export function describeObservation(observation: Observation): Record<string, string> & { reason?: string } {
  const said: Record<string, string> = { state: observation.state };
  for (const [name, value] of Object.entries(observation))
    if (typeof value === 'string' || typeof value === 'bigint') said[name] = String(value);
  return said;
}
