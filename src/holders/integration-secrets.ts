// The secrets of integrations, sealed in the database under the master key. A rotation adds a secret with the same name, and the
// one before it works until the end of the overlap.

import { isAddressOrRange } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { MAX_CLOCK_SKEW_MS } from '../platform/database-time.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';
import { type KeyScope, SCOPES } from '../platform/scopes.ts';
import type { Vault } from '../platform/secrets.ts';

export type SecretKind = 'api' | 'callback';

/** A request names no key, so every live secret is tried. */
export const MAX_LIVE_SECRETS = 10;
const MAX_ALLOWED_ADDRESSES = 50;
export const DEFAULT_KEY = 'default';

/** What a key may do, and from where. */
export type KeyAccess = { name: string; scopes: readonly KeyScope[]; allowedAddresses: readonly string[] };

export const FULL_ACCESS: KeyAccess = { name: DEFAULT_KEY, scopes: SCOPES, allowedAddresses: [] };

function newSecret(kind: SecretKind): string {
  // Standard Webhooks secrets are whsec_ and base 64.
  return kind === 'api'
    ? `sk_${randomSecret()}`
    : `whsec_${Buffer.from(randomSecret(), 'base64url').toString('base64')}`;
}

/** Stores a new secret. The caller has locked the integration. */
export async function insertSecret(
  tx: Tx,
  vault: Vault,
  integrationId: bigint,
  kind: SecretKind,
  access: KeyAccess,
  at: Date,
): Promise<string> {
  const secret = newSecret(kind);
  await tx.query(
    `insert into integration_secrets (integration_id, kind, slot, sealed, created_at, name, scopes, allowed_addresses)
     select $1, $2, coalesce(max(slot), 0) + 1, $3, $4, $5, $6, $7
     from integration_secrets where integration_id = $1 and kind = $2`,
    [
      integrationId,
      kind,
      vault.seal(secret, sealPurpose(kind, integrationId)),
      at,
      access.name,
      access.scopes,
      access.allowedAddresses,
    ],
  );
  const live = await tx.query(
    'select 1 from integration_secrets where integration_id = $1 and kind = $2 and (expires_at is null or expires_at > $3)',
    [integrationId, kind, at],
  );
  if (live.length > MAX_LIVE_SECRETS)
    throw new Problem('invalid_params', {
      errors: {
        name: [
          `An integration has at most ${MAX_LIVE_SECRETS} live secrets. Revoke a key, or rotate without an overlap.`,
        ],
      },
    });
  return secret;
}

/**
 * Sets the end of the live secrets of a name: the current one works until `currentUntil`, one that a rotation had already
 * replaced ends now. Returns the access of the current one; null when there is none. `at` is the time of the database.
 */
export async function endSecrets(
  tx: Tx,
  integrationId: bigint,
  kind: SecretKind,
  name: string,
  currentUntil: Date,
  at: Date,
): Promise<KeyAccess | null> {
  // A process whose clock is slow must refuse at once, too, what ends now.
  const now = new Date(at.getTime() - MAX_CLOCK_SKEW_MS);
  const rows = await tx.query<{ was_current: boolean; scopes: KeyScope[]; allowed_addresses: string[] }>(
    `update integration_secrets s set expires_at = case when old.expires_at is null then $4::timestamptz else $6 end
     from (select id, expires_at from integration_secrets where integration_id = $1 and kind = $2 and name = $3
             and (expires_at is null or expires_at > $5) for update) old
     where s.id = old.id
     returning old.expires_at is null as was_current, s.scopes, s.allowed_addresses`,
    [integrationId, kind, name, currentUntil <= at ? now : currentUntil, at, now],
  );
  const current = rows.find((row) => row.was_current);
  return current ? { name, scopes: current.scopes, allowedAddresses: current.allowed_addresses } : null;
}

function sealPurpose(kind: SecretKind, integrationId: bigint): string {
  return `integration-secret:${kind}:${integrationId}`;
}

export function openSecret(vault: Vault, kind: SecretKind, integrationId: bigint, sealed: Buffer): string {
  return vault.open(sealed, sealPurpose(kind, integrationId));
}

/** A secret that belongs to nobody: opening it takes as long as opening one of an integration. */
const decoy = perProcess((ctx: Context) => ctx.vault.seal(newSecret('api'), sealPurpose('api', 0n)));

/**
 * Opens the sealed API secrets of an integration and, up to the largest number there can be, secrets of nobody. So an unknown
 * integration takes as long as a known one, however many keys it has.
 */
export function openAllAlike(ctx: Context, integrationId: bigint, sealed: readonly Buffer[]): string[] {
  const opened = sealed.map((each) => openSecret(ctx.vault, 'api', integrationId, each));
  for (let left = MAX_LIVE_SECRETS - sealed.length; left > 0; left--) openSecret(ctx.vault, 'api', 0n, decoy(ctx));
  return opened;
}

export function requireAllowList(addresses: readonly string[]): void {
  const wrong = addresses.find((address) => !isAddressOrRange(address));
  if (wrong !== undefined)
    throw new Problem('invalid_params', {
      errors: { allowed_addresses: [`"${wrong}" is not an IP address or a range such as 203.0.113.0/24.`] },
    });
  if (addresses.length > MAX_ALLOWED_ADDRESSES)
    throw new Problem('invalid_params', {
      errors: { allowed_addresses: [`At most ${MAX_ALLOWED_ADDRESSES} entries.`] },
    });
}

/** Records the last use of keys. Not on the hot path; skips what another process is writing at this moment. */
export async function noteKeyUse(reader: Reader, ids: readonly bigint[], at: Date): Promise<void> {
  await reader.query(
    `update integration_secrets set last_used_at = $2
     where id in (select id from integration_secrets where id = any ($1) for update skip locked)`,
    [ids, at],
  );
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
