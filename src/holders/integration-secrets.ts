// The secrets of integrations, sealed in the database by the vault. A rotation adds a secret with the same name, and the one
// before it works until the end of the overlap.

import { isAddressOrRange } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { MAX_CLOCK_SKEW_MS } from '../platform/database-time.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import { type KeyScope, SCOPES } from '../platform/scopes.ts';
import type { Vault } from '../platform/secrets.ts';

export type SecretKind = 'api' | 'callback';

/** The row that a secret belongs to. A sealed secret opens in its own row only. */
export type SecretPlace = { holderId: bigint; integrationId: bigint; kind: SecretKind; slot: number };

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
  owner: Omit<SecretPlace, 'slot'>,
  access: KeyAccess,
  at: Date,
): Promise<string> {
  const { integrationId, kind } = owner;
  const [last] = await tx.query<{ slot: number | null }>(
    'select max(slot) as slot from integration_secrets where integration_id = $1 and kind = $2',
    [integrationId, kind],
  );
  const place = { ...owner, slot: (last?.slot ?? 0) + 1 };
  const secret = newSecret(kind);
  await tx.query(
    `insert into integration_secrets (integration_id, kind, slot, sealed, created_at, name, scopes, allowed_addresses)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      integrationId,
      kind,
      place.slot,
      vault.seal(secret, sealPurpose(place)),
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

export function sealPurpose({ holderId, integrationId, kind, slot }: SecretPlace): string {
  return `integration-secret:${kind}:${holderId}:${integrationId}:${slot}`;
}

export function openSecret(vault: Vault, place: SecretPlace, sealed: Buffer): Promise<string> {
  // Before versions, holder and slot were not part of it.
  return vault.open(sealed, sealPurpose(place), `integration-secret:${place.kind}:${place.integrationId}`);
}

/**
 * Opens the sealed API secrets of an integration and, up to the largest number there can be, secrets of nobody. So an unknown
 * integration takes as long as a known one, however many keys it has.
 */
export async function openAllAlike(
  ctx: Context,
  secrets: readonly (SecretPlace & { sealed: Buffer })[],
): Promise<string[]> {
  const nobody: SecretPlace = { holderId: 0n, integrationId: 0n, kind: 'api', slot: 0 };
  const decoy = { ...nobody, sealed: ctx.vault.seal(newSecret('api'), sealPurpose(nobody)) };
  const decoys = Array.from({ length: Math.max(0, MAX_LIVE_SECRETS - secrets.length) }, () => decoy);
  const opened: string[] = [];
  for (const each of [...secrets, ...decoys]) opened.push(await openSecret(ctx.vault, each, each.sealed));
  return opened.slice(0, secrets.length);
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
