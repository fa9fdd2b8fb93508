// What a payer has to do next, as the operator said it last. Checkout, API and console show it. Where to send money to is kept
// with the pay instructions, because incoming payments are matched by them.

import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import type { PayerStep } from '../rails/rail.ts';
import { findInstructions } from './incoming-payments.ts';
import { isFinal, type Outcome } from './states.ts';
import type { Transaction } from './transactions.ts';

export type { PayerStep };

type KeptStep = Exclude<PayerStep, { kind: 'transfer' }>;
export type NewPayerStep = { row: Transaction; step: KeptStep };

/** Dates are texts in JSON. */
type StoredStep = Omit<KeptStep, 'expiresAt'> & { expiresAt?: string | null };

/** The step that an outcome brings, where it says more than the method's own style does. */
export function stepOf({ source, observation }: Outcome): KeptStep | null {
  if (observation.state !== 'pending' || !observation.step || observation.step.kind === 'transfer') return null;
  const { step } = observation;
  // After a code the payer may get a prompt: then the code is not asked for any more.
  const saysMuch = step.kind !== 'prompt' || step.text !== null || source === 'verification';
  return saysMuch ? step : null;
}

const STEPS = columns<NewPayerStep>(2, {
  holder_id: ['bigint', ({ row }) => row.holder_id],
  transaction_id: ['uuid', ({ row }) => row.id],
  step: ['jsonb', ({ step }) => JSON.stringify(step)],
});

export async function recordPayerSteps(tx: Tx, steps: NewPayerStep[], at: Date): Promise<void> {
  const latest = [...new Map(steps.map((entry) => [entry.row.id, entry])).values()];
  if (latest.length === 0) return;
  await tx.query(
    `insert into payer_steps (${STEPS.names}, at) select ${STEPS.names}, $1 from ${STEPS.rows}
     order by holder_id, transaction_id
     on conflict (holder_id, transaction_id) do update set step = excluded.step, at = excluded.at`,
    [at, ...STEPS.arrays(latest)],
  );
}

/** Null: what the method's own style says, or nothing any more. */
export async function findPayerStep(reader: Reader, transaction: Transaction): Promise<PayerStep | null> {
  const { direction, status, holder_id: holderId, id, verification } = transaction;
  if (direction !== 'collection' || isFinal(status)) return null;
  const [row] = await reader.query<{ step: StoredStep }>(
    'select step from payer_steps where holder_id = $1 and transaction_id = $2',
    [holderId, id],
  );
  if (row) return readStep(row.step);
  const instructions = verification === 'instructions' ? await findInstructions(reader, holderId, id) : null;
  return instructions && { kind: 'transfer', ...instructions };
}

function readStep(stored: StoredStep): PayerStep {
  const { expiresAt } = stored;
  return (expiresAt === undefined
    ? stored
    : { ...stored, expiresAt: expiresAt && new Date(expiresAt) }) as unknown as PayerStep;
}
