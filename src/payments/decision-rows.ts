// The rows of decisions: what was proposed about a case, on which evidence, and who approved it. The database refuses a
// decision of one person, and two open proposals about one case.

import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { holderOfUuid } from '../platform/ids.ts';

const MAX_DECISIONS_SHOWN = 50;
/** As the database limits it (decision_document_size). */
export const MAX_DOCUMENT_BYTES = 1_048_576;

export type DecisionAction =
  | 'settle_success'
  | 'settle_failed'
  | 'settle_amount'
  | 'settle_reversed'
  | 'send_again'
  | 'keep'
  | 'credit_holder'
  | 'return_to_payer'
  | 'take_to_income'
  | 'write_off'
  | 'dispute_won'
  | 'dispute_lost';

export const DOCUMENT_TYPES = ['text/plain', 'image/png', 'image/jpeg', 'image/webp'] as const;
export type DecisionDocument = { type: (typeof DOCUMENT_TYPES)[number]; bytes: Buffer };

type DecisionStatus = 'proposed' | 'approved' | 'rejected' | 'overtaken';

export type Decision = {
  holder_id: bigint;
  id: string;
  case_id: string;
  action: DecisionAction;
  amount: bigint | null;
  to_holder: bigint | null;
  reason: string;
  reference: string;
  document_type: DecisionDocument['type'] | null;
  status: DecisionStatus;
  proposed_by: string;
  proposed_by_member: bigint;
  proposed_at: Date;
  decided_by: string | null;
  decided_by_member: bigint | null;
  decided_at: Date | null;
};

const COLUMNS = `holder_id, id, case_id, action, amount, to_holder, reason, reference, document_type, status,
  proposed_by, proposed_by_member, proposed_at, decided_by, decided_by_member, decided_at`;

export async function insertDecision(tx: Tx, decision: Decision, document: DecisionDocument | null): Promise<void> {
  try {
    await tx.query(
      `insert into decisions (holder_id, id, case_id, action, amount, to_holder, reason, reference, document, document_type,
                              proposed_by, proposed_by_member, proposed_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      [
        decision.holder_id,
        decision.id,
        decision.case_id,
        decision.action,
        decision.amount,
        decision.to_holder,
        decision.reason,
        decision.reference,
        document?.bytes ?? null,
        document?.type ?? null,
        decision.proposed_by,
        decision.proposed_by_member,
        decision.proposed_at,
      ],
    );
  } catch (error) {
    switch (violatedConstraint(error)) {
      case 'decision_open_once':
        throw new Problem('invalid_params', { message: 'A decision about this case is proposed already.' });
      case 'decision_document_size':
        throw new Problem('invalid_params', { errors: { document: ['A document of at most 1 MB, please.'] } });
      default:
        throw error;
    }
  }
}

export async function findDecision(reader: Reader, id: string): Promise<Decision | null> {
  const [row] = await reader.query<Decision>(`select ${COLUMNS} from decisions where holder_id = $1 and id = $2`, [
    holderOfUuid(id),
    id,
  ]);
  return row ?? null;
}

/** Locks a decision that is still proposed. */
export async function lockDecision(tx: Tx, { holder_id, id }: Decision): Promise<Decision> {
  const [row] = await tx.query<Decision>(
    `select ${COLUMNS} from decisions where holder_id = $1 and id = $2 and status = 'proposed' for update`,
    [holder_id, id],
  );
  if (!row) throw new Problem('decision_overtaken');
  return row;
}

export async function writeDecisionStatus(
  tx: Tx,
  decision: Decision,
  status: DecisionStatus,
  by: { name: string; memberId: bigint },
  at: Date,
): Promise<Decision> {
  const [row] = await tx.query<Decision>(
    `update decisions set status = $3, decided_by = $4, decided_by_member = $5, decided_at = $6
     where holder_id = $1 and id = $2 returning ${COLUMNS}`,
    [decision.holder_id, decision.id, status, by.name, by.memberId, at],
  );
  if (!row) throw new Error('a decision vanished');
  return row;
}

/** The decisions about a case, newest first. */
export function listDecisions(reader: Reader, caseId: string): Promise<Decision[]> {
  return reader.query<Decision>(
    `select ${COLUMNS} from decisions where holder_id = $1 and case_id = $2
     order by proposed_at desc, id desc limit ${MAX_DECISIONS_SHOWN}`,
    [holderOfUuid(caseId), caseId],
  );
}

/** Decisions that wait for a second person, oldest first. For admins. */
export function listProposedDecisions(reader: Reader, limit: number): Promise<Decision[]> {
  return reader.query<Decision>(
    `select ${COLUMNS} from decisions where status = 'proposed' order by proposed_at, id limit $1`,
    [limit],
  );
}

/** The document that was uploaded with a decision. */
export async function readDocument(reader: Reader, id: string): Promise<DecisionDocument | null> {
  const [row] = await reader.query<{ document: Buffer | null; document_type: DecisionDocument['type'] | null }>(
    'select document, document_type from decisions where holder_id = $1 and id = $2',
    [holderOfUuid(id), id],
  );
  return row?.document && row.document_type ? { bytes: row.document, type: row.document_type } : null;
}
