// API keys of an integration. Each has a name, scopes and addresses of its own, so that a program gets no more than it needs and
// can lose its key without the others.

import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { type KeyScope, SCOPES } from '../platform/scopes.ts';
import { type Actor, recordAudit } from './audit.ts';
import { endSecrets, insertSecret, type KeyAccess, requireAllowList } from './integration-secrets.ts';
import { lockIntegration } from './integrations.ts';

const NAME = /^[a-z0-9][a-z0-9._-]{0,39}$/;
/** Ended secrets stay listed for a week. */
const MAX_KEYS_LISTED = 100;

export type ListedKey = {
  id: bigint;
  name: string;
  scopes: KeyScope[];
  allowedAddresses: string[];
  createdAt: Date;
  lastUsedAt: Date | null;
  /** Null: until it is rotated or revoked. */
  expiresAt: Date | null;
  status: 'active' | 'ending' | 'ended';
};

/** Adds a key. Its secret is in the result and cannot be read again. */
export function addKey(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  integrationId: bigint,
  access: KeyAccess,
): Promise<{ secret: string }> {
  const { name, allowedAddresses } = access;
  const scopes = SCOPES.filter((scope) => access.scopes.includes(scope));
  if (!NAME.test(name))
    throw new Problem('invalid_params', {
      errors: {
        name: ['A name has 1 to 40 lower-case letters, digits, dots, hyphens and underscores, such as web-shop.'],
      },
    });
  if (scopes.length === 0) throw new Problem('invalid_params', { errors: { scopes: ['Choose at least one scope.'] } });
  requireAllowList(allowedAddresses);
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const integration = await lockIntegration(tx, holderId, integrationId);
    if (integration.status !== 'active') throw new Problem('not_found', { message: 'The integration is revoked.' });
    const known = await tx.query(
      `select 1 from integration_secrets where integration_id = $1 and kind = 'api' and name = $2
         and (expires_at is null or expires_at > $3) limit 1`,
      [integrationId, name, at],
    );
    if (known.length > 0)
      throw new Problem('invalid_params', { errors: { name: [`There is already a live key "${name}".`] } });
    const secret = await insertSecret(
      tx,
      ctx.vault,
      { holderId, integrationId, kind: 'api' },
      { name, scopes, allowedAddresses },
      at,
    );
    const details = { key: name, scopes, allowedAddresses: [...allowedAddresses] };
    await recordAudit(
      tx,
      { holderId, actor, action: 'integration.key_added', subject: integration.title, details },
      at,
    );
    return { secret };
  });
}

/** Ends a key and every token that was made with it. */
export async function revokeKey(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  integrationId: bigint,
  name: string,
): Promise<{ at: Date }> {
  const at = await ctx.databaseTime.now();
  return ctx.db.transaction(async (tx) => {
    const integration = await lockIntegration(tx, holderId, integrationId);
    const ended = await endSecrets(tx, integrationId, 'api', name, at, at);
    if (!ended) throw new Problem('not_found', { message: `There is no live key "${name}".` });
    const subject = integration.title;
    await recordAudit(tx, { holderId, actor, action: 'integration.key_revoked', subject, details: { key: name } }, at);
    return { at };
  });
}

/** The secrets of the integration's API keys, the newest first. */
export async function listKeys(
  reader: Reader,
  holderId: bigint,
  integrationId: bigint,
  now: Date,
): Promise<ListedKey[]> {
  const rows = await reader.query<{
    id: bigint;
    name: string;
    scopes: KeyScope[];
    allowed_addresses: string[];
    created_at: Date;
    last_used_at: Date | null;
    expires_at: Date | null;
  }>(
    `select s.id, s.name, s.scopes, s.allowed_addresses, s.created_at, s.last_used_at, s.expires_at
     from integration_secrets s join integrations i on i.id = s.integration_id
     where i.holder_id = $1 and i.id = $2 and s.kind = 'api'
     order by s.expires_at is not null, s.expires_at desc, s.created_at desc, s.slot desc limit ${MAX_KEYS_LISTED}`,
    [holderId, integrationId],
  );
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    allowedAddresses: row.allowed_addresses,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    status: row.expires_at === null ? 'active' : row.expires_at > now ? 'ending' : 'ended',
  }));
}
