// The secrets of integrations, sealed in the database by the vault. Each kind has two slots, so that a secret can
// be rotated while the one before it still works.

import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { randomSecret } from '../platform/ids.ts';
import type { Vault } from '../platform/secrets.ts';

export type SecretKind = 'api' | 'callback';

/** The row that a secret belongs to. A sealed secret opens in its own row only. */
export type SecretPlace = { holderId: bigint; integrationId: bigint; kind: SecretKind; slot: number };

function newSecret(kind: SecretKind): string {
  // Standard Webhooks secrets are whsec_ and base 64.
  return kind === 'api'
    ? `sk_${randomSecret()}`
    : `whsec_${Buffer.from(randomSecret(), 'base64url').toString('base64')}`;
}

/** Stores a new secret in a slot; the one that was in it is gone. */
export async function putSecret(tx: Tx, vault: Vault, place: SecretPlace, at: Date): Promise<string> {
  const { integrationId, kind, slot } = place;
  const secret = newSecret(kind);
  await tx.query(
    `insert into integration_secrets (integration_id, kind, slot, sealed, created_at) values ($1, $2, $3, $4, $5)
     on conflict (integration_id, kind, slot) do update set sealed = excluded.sealed, created_at = excluded.created_at, expires_at = null`,
    [integrationId, kind, slot, vault.seal(secret, sealPurpose(place)), at],
  );
  return secret;
}

export function sealPurpose({ holderId, integrationId, kind, slot }: SecretPlace): string {
  return `integration-secret:${kind}:${holderId}:${integrationId}:${slot}`;
}

export function openSecret(vault: Vault, place: SecretPlace, sealed: Buffer): Promise<string> {
  // Before versions, holder and slot were not part of it.
  return vault.open(sealed, sealPurpose(place), `integration-secret:${place.kind}:${place.integrationId}`);
}

/** Whether the secrets of this database were sealed with the keys of this vault. */
export async function canOpenSecrets({ db, vault }: Pick<Context, 'db' | 'vault'>): Promise<boolean> {
  const [row] = await db.query<SecretPlace & { sealed: Buffer }>(
    `select i.holder_id as "holderId", s.integration_id as "integrationId", s.kind, s.slot, s.sealed
     from integration_secrets s join integrations i on i.id = s.integration_id limit 1`,
  );
  if (!row) return true;
  try {
    await openSecret(vault, row, row.sealed);
    return true;
  } catch {
    return false;
  }
}
