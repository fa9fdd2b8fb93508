// A refusal says that nothing was taken by this request. The network may have delivered it twice, or an earlier one may have been
// taken without an answer, so the operator is asked once before a refusal ends a transaction.

import type { Exchange } from './exchange.ts';
import type { RailReply } from './rail.ts';

export type Asked = { answer: Exchange; reply: RailReply };

/** The refusal if the operator does not know the reference, or cannot be asked for the same reason; else what it says. */
export async function confirmRefusal(refused: RailReply, ask: () => Promise<Asked>): Promise<RailReply> {
  if (refused.observation.state !== 'failed') return refused;
  const { answer, reply } = await ask();
  const { observation } = reply;
  if (observation.state !== 'unknown') return reply;
  if (observation.definitelyNotFound === true) return refused;
  // Without valid credentials neither the request nor the question was taken.
  const isLockedOut = answer.answered && (answer.status === 401 || answer.status === 403);
  if (isLockedOut && refused.observation.failureCode === 'OPERATOR_UNAVAILABLE') return refused;
  return {
    observation: { state: 'unknown', reason: 'refused, but the operator does not confirm it' },
    raw: refused.raw,
  };
}
