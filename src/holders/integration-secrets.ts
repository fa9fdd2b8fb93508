// The secrets of integrations, sealed in the database under the master key. Each kind has two slots, so that a secret can
// be rotated while the one before it still works.

import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { randomSecret } from '../platform/ids.ts';
import type { Vault } from '../platform/secrets.ts';

export type SecretKind = 'api' | 'callback';

function newSecret(kind: SecretKind): string {
  // Standard Webhooks secrets are whsec_ and base 64.
  return kind === 'api'
    ? `sk_${randomSecret()}`
    : `whsec_${Buffer.from(randomSecret(), 'base64url').toString('base64')}`;
}

/** Stores a new secret in a slot; the one that was in it is gone. */
export async function putSecret(
  tx: Tx,
  vault: Vault,
  integrationId: bigint,
  kind: SecretKind,
  slot: number,
  at: Date,
): Promise<string> {
  const secret = newSecret(kind);
  await tx.query(
    `insert into integration_secrets (integration_id, kind, slot, sealed, created_at) values ($1, $2, $3, $4, $5)
     on conflict (integration_id, kind, slot) do update set sealed = excluded.sealed, created_at = excluded.created_at, expires_at = null`,
    [integrationId, kind, slot, vault.seal(secret, sealPurpose(kind, integrationId)), at],
  );
  return secret;
}

function sealPurpose(kind: SecretKind, integrationId: bigint): string {
  return `integration-secret:${kind}:${integrationId}`;
}

export function openSecret(vault: Vault, kind: SecretKind, integrationId: bigint, sealed: Buffer): string {
  return vault.open(sealed, sealPurpose(kind, integrationId));
}

/** Whether the secrets of this database were sealed with this master key. */
export async function canOpenSecrets(ctx: Context): Promise<boolean> {
  const [row] = await ctx.db.query<{ integration_id: bigint; kind: SecretKind; sealed: Buffer }>(
    'select integration_id, kind, sealed from integration_secrets limit 1',
  );
  if (!row) return true;
  try {
    openSecret(ctx.vault, row.kind, row.integration_id, row.sealed);
    return true;
  } catch {
    return false;
  }
}
