// API tokens: `<numeric id>|<secret>`, exchanged for client_id and secret_key, presented as a bearer token.
// Only the hash of the secret is stored.

import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import { constantTimeEqual, sha256 } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';
import { refuseInactiveHolder } from './holders.ts';
import { findLiveIntegration, type LiveIntegration, loadLiveIntegration } from './integrations.ts';
import { credentialGuesses } from './limits.ts';

const SECRET_BYTES = 36;
const TOKEN = /^([1-9]\d{0,18})\|([A-Za-z0-9_-]{40,128})$/;
const LARGEST_ID = 2n ** 63n - 1n;

type IssuedToken = { token: string; expiresAt: Date };

/**
 * Exchanges credentials for a token. An unknown client_id and a wrong secret take the same time: the same query, without
 * the cache, and the same comparison.
 */
export async function exchangeCredentials(
  ctx: Context,
  clientId: string,
  secretKey: string,
  address: string,
): Promise<IssuedToken> {
  credentialGuesses(ctx).refuse(clientId, address);
  const integration = await loadLiveIntegration(ctx, { clientId });
  const known = integration?.apiSecrets ?? [Buffer.from('no such integration')];
  const given = sha256(secretKey);
  const matches = known.map((secret) => constantTimeEqual(sha256(secret), given));
  if (integration?.status !== 'active' || !matches.includes(true)) {
    credentialGuesses(ctx).addFailure(clientId, address);
    throw new Problem('credentials_not_verified');
  }
  refuseInactiveHolder(integration.holderStatus);
  return issueToken(ctx, integration.id);
}

export async function issueToken(ctx: Context, integrationId: bigint): Promise<IssuedToken> {
  const secret = randomSecret(SECRET_BYTES);
  const at = ctx.clock.now();
  const expiresAt = new Date(at.getTime() + ctx.config.tokenTtlSeconds * 1000);
  const [row] = await ctx.db.query<{ id: bigint }>(
    'insert into tokens (integration_id, secret_hash, created_at, expires_at) values ($1, $2, $3, $4) returning id',
    [integrationId, sha256(secret), at, expiresAt],
  );
  return { token: `${row?.id}|${secret}`, expiresAt };
}

/** Ends a token before it expires. The command line acts for the host, so the token may be of any integration. */
export function revokeToken(ctx: Context, actor: Actor, tokenId: bigint): Promise<{ clientId: string; at: Date }> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const [row] = await tx.query<{ client_id: string; holder_id: bigint }>(
      `update tokens t set revoked_at = $2 from integrations i
       where t.id = $1 and i.id = t.integration_id and t.revoked_at is null and t.expires_at > $2
       returning i.client_id, i.holder_id`,
      [tokenId, at],
    );
    if (!row)
      throw new Problem('not_found', { message: `There is no live token ${tokenId}: it expired or was revoked.` });
    const details = { clientId: row.client_id };
    await recordAudit(
      tx,
      { holderId: row.holder_id, actor, action: 'token.revoked', subject: String(tokenId), details },
      at,
    );
    return { clientId: row.client_id, at };
  });
}

/** The integration of a live token. Every kind of wrong token gets the same error. */
export async function authenticateToken(ctx: Context, token: string | null): Promise<LiveIntegration> {
  const match = token !== null && token.length <= 200 ? TOKEN.exec(token) : null;
  const id = match?.[1] ? BigInt(match[1]) : null;
  if (id === null || id > LARGEST_ID) throw new Problem('unauthenticated');
  const [row] = await ctx.db.query<{ integration_id: bigint; secret_hash: Buffer }>(
    {
      name: 'find_token',
      text: 'select integration_id, secret_hash from tokens where id = $1 and expires_at > $2 and revoked_at is null',
    },
    [id, ctx.clock.now()],
  );
  const matches = constantTimeEqual(row?.secret_hash ?? Buffer.alloc(32), sha256(match?.[2] ?? ''));
  const integration = row && matches ? await findLiveIntegration(ctx, { id: row.integration_id }) : null;
  if (integration?.status !== 'active') throw new Problem('unauthenticated');
  return integration;
}

/** The token of an `Authorization: Bearer …` header. */
export function bearerToken(authorization: string | undefined): string | null {
  const match = /^Bearer ([^\s]+)$/i.exec(authorization ?? '');
  return match?.[1] ?? null;
}
