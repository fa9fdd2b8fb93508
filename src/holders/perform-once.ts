// Performs a signed request once: its signature, its idempotency key and its effect are written together or not at all, and
// a repetition with the same key gets the answer of the first.

import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { withPartitions } from '../platform/partitions.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { type OperationMessages, type SignedRequest, signatureReused, spendOrRefuse } from './envelope.ts';
import { claimKey, findAnswer, type IdempotencyHeader, readIdempotencyKey } from './idempotency.ts';
import { SIGNATURE_PARTITIONS, spendSignatures } from './signatures.ts';

type Operation = {
  /** Keys of different operations are different. */
  name: string;
  messages: OperationMessages;
  idempotencyHeader: IdempotencyHeader;
};

/** Called inside the transaction of the effect, with what the request is answered. */
export type RecordOnce = (tx: Tx, answer: JsonObject) => Promise<void>;

/** `perform` writes the effect in one transaction, calls `record` inside it, and returns the answer. */
export async function performOnce(
  ctx: Context,
  request: SignedRequest,
  { name, messages, idempotencyHeader }: Operation,
  perform: (record: RecordOnce) => Promise<JsonObject>,
): Promise<{ data: JsonObject; replayed: boolean }> {
  const { integration, params } = request;
  const owner = { holderId: integration.holderId, integrationId: integration.id };
  const key = readIdempotencyKey(idempotencyHeader, params, messages.badParams);
  const find = () => (key ? findAnswer(ctx.db, owner, name, key, ctx.clock.now()) : Promise.resolve(null));
  const replay = async (data: JsonObject) => {
    await spendOrRefuse(ctx, messages, request);
    return { data, replayed: true };
  };
  const earlier = await find();
  if (earlier) return replay(earlier);
  const record: RecordOnce = async (tx, answer) => {
    const [fresh] = await spendSignatures(tx, [request]);
    if (!fresh) throw signatureReused(messages);
    const isTaken = key !== null && !(await claimKey(tx, owner, name, key, answer, ctx.clock.now()));
    // Everything is rolled back; the replay of the first answer spends the signature.
    if (isTaken) throw new Problem('overloaded', { retryAfterSeconds: 1 });
  };
  try {
    const write = () => perform(record);
    return { data: await withPartitions(ctx, SIGNATURE_PARTITIONS, request.signedAt, write), replayed: false };
  } catch (error) {
    // Also where the effect was refused: the first request with this key may have taken the money, or the place, that it lacks.
    const first = error instanceof Problem ? await find() : null;
    if (!first) throw error;
    return replay(first);
  }
}
