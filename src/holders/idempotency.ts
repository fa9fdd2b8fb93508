// Idempotency keys: the first request with a key is performed; later ones with the same params get the same response.

import { canonicalJson } from '../platform/canonical-json.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { OperationRequest } from '../platform/operations.ts';
import { constantTimeEqual, sha256 } from '../platform/secrets.ts';
import type { JsonObject } from '../platform/strict-json.ts';

const MAX_KEY_CHARACTERS = 128;
/** A key older than this can be used again, even before it is deleted. */
export const KEY_TTL_MS = 24 * 3_600_000;

/** Keys are those of one integration; its holder comes first, as in every key of the database. */
type KeyOwner = { holderId: bigint; integrationId: bigint };

export type IdempotencyKey = { key: string; paramsHash: Buffer };

/** What a request says in its `Idempotency-Key` headers: one text, or several. */
export type IdempotencyHeader = string | readonly string[] | undefined;

/** Node joins two headers to one text. They are read apart, because a key may contain a comma and a space itself. */
export function idempotencyHeaderOf({ headers, raw }: OperationRequest): IdempotencyHeader {
  const header = headers['idempotency-key'];
  if (typeof header !== 'string' || !header.includes(', ')) return header;
  const given = raw.rawHeaders.filter(
    (_, at, names) => at % 2 === 1 && names[at - 1]?.toLowerCase() === 'idempotency-key',
  );
  return given.length > 1 ? given : header;
}

/** Reads the `Idempotency-Key` header. `refusal` is the operation's message for bad params. */
export function readIdempotencyKey(
  header: IdempotencyHeader,
  params: JsonObject,
  refusal: string,
): IdempotencyKey | null {
  if (header === undefined) return null;
  if (
    typeof header !== 'string' ||
    header.length < 1 ||
    header.length > MAX_KEY_CHARACTERS ||
    !/^[\x20-\x7e]+$/.test(header)
  )
    throw new Problem('invalid_params', {
      message: refusal,
      errors: {
        'Idempotency-Key': [
          `The Idempotency-Key header must be one text of 1 to ${MAX_KEY_CHARACTERS} ASCII characters.`,
        ],
      },
    });
  return { key: header, paramsHash: sha256(canonicalJson(params)) };
}

/** The response to the first request with this key within 24 hours, or null. Other params: 409. */
export async function findAnswer(
  reader: Reader,
  { holderId, integrationId }: KeyOwner,
  operation: string,
  { key, paramsHash }: IdempotencyKey,
  now: Date,
): Promise<JsonObject | null> {
  const [row] = await reader.query<{ operation: string; params_hash: Buffer; answer: JsonObject }>(
    {
      name: 'find_idempotent_answer',
      text: `select operation, params_hash, answer from idempotency_keys
             where holder_id = $1 and integration_id = $2 and key = $3 and created_at > $4`,
    },
    [holderId, integrationId, key, new Date(now.getTime() - KEY_TTL_MS)],
  );
  if (!row) return null;
  if (row.operation !== operation || !constantTimeEqual(row.params_hash, paramsHash))
    throw new Problem('idempotency_conflict');
  return row.answer;
}

/**
 * Stores a key with the response that repetitions get. False: another request used it within 24 hours. Of two at the same
 * time, the second waits until the first has committed.
 */
export async function claimKey(
  tx: Tx,
  { holderId, integrationId }: KeyOwner,
  operation: string,
  { key, paramsHash }: IdempotencyKey,
  answer: JsonObject,
  at: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into idempotency_keys as known (holder_id, integration_id, key, operation, params_hash, answer, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (holder_id, integration_id, key) do update
       set operation = excluded.operation, params_hash = excluded.params_hash, answer = excluded.answer,
           created_at = excluded.created_at
       where known.created_at <= $8
     returning 1`,
    [holderId, integrationId, key, operation, paramsHash, answer, at, new Date(at.getTime() - KEY_TTL_MS)],
  );
  return rows.length > 0;
}
