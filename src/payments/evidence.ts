// Evidence: every observation of a transaction as it was said, kept for ever, and what it led to.

import type { Reader, Tx } from '../platform/db.ts';
import type { Observation } from '../rails/rail.ts';
import type { EvidenceSource } from './states.ts';

const MAX_SHOWN = 200;

export type Evidence = {
  at: Date;
  source: EvidenceSource;
  state: string;
  receipt: string | null;
  failure_code: string | null;
  effect: string;
  raw: string;
};

/** In the order in which it came. The caller has found the transaction by its holder. */
export function listEvidence(reader: Reader, transactionId: string): Promise<Evidence[]> {
  return reader.query<Evidence>(
    `select at, source, state, receipt, failure_code, effect, raw from evidence
     where transaction_id = $1 order by at, ctid limit ${MAX_SHOWN}`,
    [transactionId],
  );
}

/** One thing that was said about a transaction. */
export type NewEvidence = {
  transactionId: string;
  source: EvidenceSource;
  observation: Observation;
  raw: string;
  /** What it led to, in a word. */
  effect: string;
};

export async function recordEvidence(tx: Tx, observed: NewEvidence[], at: Date): Promise<void> {
  if (observed.length === 0) return;
  await tx.query(
    {
      name: 'record_evidence',
      text: `insert into evidence (transaction_id, at, source, state, receipt, failure_code, effect, raw)
             select id, $8, source, state, receipt, failure_code, effect, raw
             from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
               as e (id, source, state, receipt, failure_code, effect, raw)`,
    },
    [
      observed.map((entry) => entry.transactionId),
      observed.map((entry) => entry.source),
      observed.map(({ observation }) => observation.state),
      observed.map(({ observation }) => ('receipt' in observation ? observation.receipt : null)),
      observed.map(({ observation }) => (observation.state === 'failed' ? observation.failureCode : null)),
      observed.map((entry) => entry.effect),
      observed.map((entry) => entry.raw || describeObservation(entry.observation).reason || ''),
      at,
    ],
  );
}

/** What the observation said, for the person who opens the case. */
export function describeObservation(observation: Observation): Record<string, string> & { reason?: string } {
  const said: Record<string, string> = { state: observation.state };
  for (const [name, value] of Object.entries(observation))
    if (typeof value === 'string' || typeof value === 'bigint') said[name] = String(value);
  return said;
}
