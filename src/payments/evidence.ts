// What was observed about one transaction, as it was said: the part of a case file that operators wrote.

import type { Reader } from '../platform/db.ts';
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
