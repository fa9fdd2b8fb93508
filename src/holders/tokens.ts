// API tokens: `<numeric id>|<secret>`, exchanged for client_id and secret_key, presented as a bearer token. Only the hash of the
// secret is stored. A token belongs to the secret_key that made it: it has its scopes and addresses, and ends with it.

import { limitKey } from '../platform/addresses.ts';
import { refreshCaches } from '../platform/cache.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import { constantTimeEqual, sha256 } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';
import { type HolderStatus, refuseInactiveHolder } from './holders.ts';
import { openAllAlike } from './integration-secrets.ts';
import { findLiveIntegration, isAddressAllowed, type LiveIntegration, type LiveKey } from './integrations.ts';
import { credentialGuesses } from './limits.ts';

const SECRET_BYTES = 36;
const TOKEN = /^([1-9]\d{0,18})\|([A-Za-z0-9_-]{40,128})$/;
const LARGEST_ID = 2n ** 63n - 1n;

export type IssuedToken = { token: string; expiresAt: Date };

type SecretRow = {
  holder_id: bigint;
  integration_id: bigint;
  holder_status: HolderStatus;
  allowed_addresses: string[];
  secret_id: bigint | null;
  slot: number;
  sealed: Buffer;
  key_addresses: string[];
};

/**
 * Exchanges credentials for a token. An unknown client_id and a wrong secret take the same time: the same query, without
 * the cache, the same number of secrets opened and compared. `known` learns of an integration that exists.
 */
export async function exchangeCredentials(
  ctx: Context,
  clientId: string,
  secretKey: string,
  address: string,
  known: (clientId: string) => void = () => {},
): Promise<IssuedToken> {
  const network = limitKey(address);
  credentialGuesses(ctx).refuse(clientId, network);
  const rows = await ctx.db.query<SecretRow>(
    `select i.holder_id, i.id as integration_id, h.status as holder_status, i.allowed_addresses, s.id as secret_id, s.slot,
            s.sealed, s.allowed_addresses as key_addresses
     from integrations i
     join holders h on h.id = i.holder_id
     left join integration_secrets s
       on s.integration_id = i.id and s.kind = 'api' and (s.expires_at is null or s.expires_at > $2)
     where i.client_id = $1 and i.status = 'active'`,
    [clientId, ctx.clock.now()],
  );
  const found = await findSecret(ctx, rows, secretKey);
  if (rows.length > 0) known(clientId);
  if (!found) {
    credentialGuesses(ctx).addFailure(clientId, network);
    throw new Problem('credentials_not_verified');
  }
  const lists = [found.allowed_addresses, found.key_addresses];
  // Only a caller who knows the secret learns that its address is the reason.
  if (!lists.every((allowedAddresses) => isAddressAllowed({ allowedAddresses }, address)))
    throw new Problem('address_not_allowed');
  refuseInactiveHolder(ctx, found.holder_status);
  return issueToken(ctx, found, address);
}

type FoundSecret = SecretRow & { secret_id: bigint };

async function findSecret(ctx: Context, rows: readonly SecretRow[], secretKey: string): Promise<FoundSecret | null> {
  const live = rows.filter((row): row is FoundSecret => row.secret_id !== null);
  const opened = await openAllAlike(
    ctx,
    live.map(({ holder_id: holderId, integration_id: integrationId, slot, sealed }) => ({
      holderId,
      integrationId,
      kind: 'api',
      slot,
      sealed,
    })),
  );
  const given = sha256(secretKey);
  // Every secret is compared, so that the time does not tell which one matched.
  const matches = opened.map((secret) => constantTimeEqual(sha256(secret), given));
  return live[matches.indexOf(true)] ?? null;
}

async function issueToken(
  ctx: Context,
  { integration_id, secret_id }: Pick<FoundSecret, 'integration_id' | 'secret_id'>,
  address: string,
): Promise<IssuedToken> {
  const secret = randomSecret(SECRET_BYTES);
  const at = ctx.clock.now();
  const expiresAt = new Date(at.getTime() + ctx.config.tokenTtlSeconds * 1000);
  const [row] = await ctx.db.query<{ id: bigint }>(
    `insert into tokens (integration_id, secret_id, secret_hash, created_at, expires_at, address)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [integration_id, secret_id, sha256(secret), at, expiresAt, address],
  );
  return { token: `${row?.id}|${secret}`, expiresAt };
}

/** The caller of a request with a token. */
export type TokenCaller = { integration: LiveIntegration; key: LiveKey; tokenId: bigint };

/**
 * The integration and the key of a live token. Every kind of wrong token gets the same error. Only somebody who has a live
 * token learns that its address is not allowed.
 */
export async function authenticateToken(ctx: Context, token: string | null, address: string): Promise<TokenCaller> {
  const match = token !== null && token.length <= 200 ? TOKEN.exec(token) : null;
  const id = match?.[1] ? BigInt(match[1]) : null;
  if (id === null || id > LARGEST_ID) throw wrongToken(token);
  const [row] = await ctx.db.query<{ integration_id: bigint; secret_id: bigint; secret_hash: Buffer }>(
    {
      name: 'find_token',
      text: `select t.integration_id, t.secret_id, t.secret_hash
             from tokens t join integration_secrets s on s.id = t.secret_id
             where t.id = $1 and t.expires_at > $2 and t.revoked_at is null and (s.expires_at is null or s.expires_at > $2)`,
    },
    [id, ctx.clock.now()],
  );
  const matches = constantTimeEqual(row?.secret_hash ?? Buffer.alloc(32), sha256(match?.[2] ?? ''));
  const caller = row && matches ? await findCaller(ctx, row.integration_id, row.secret_id) : null;
  if (!caller) throw wrongToken(token);
  if (!isAddressAllowed(caller.integration, address) || !isAddressAllowed(caller.key, address))
    throw new Problem('address_not_allowed');
  return { ...caller, tokenId: id };
}

/** RFC 6750: who sent a token is told that it is wrong; who sent none, only the scheme. */
function wrongToken(token: string | null): Problem {
  if (token === null) return new Problem('unauthenticated');
  return new Problem('unauthenticated', { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } });
}

/** The database has just said that the secret lives. A cache that does not know it yet is read again. */
async function findCaller(
  ctx: Context,
  integrationId: bigint,
  secretId: bigint,
): Promise<Omit<TokenCaller, 'tokenId'> | null> {
  const find = async () => {
    const integration = await findLiveIntegration(ctx, { id: integrationId });
    const key = integration?.keys.find((each) => each.id === secretId);
    return integration?.status === 'active' && key ? { integration, key } : null;
  };
  const known = await find();
  if (known) return known;
  await refreshCaches(ctx);
  return find();
}

/** The token of an `Authorization: Bearer …` header. */
export function bearerToken(authorization: string | undefined): string | null {
  const match = /^Bearer ([^\s]+)$/i.exec(authorization ?? '');
  return match?.[1] ?? null;
}

/** Which tokens somebody may see and end. The command line acts for the host, so it may leave everything out. */
export type TokenOwner = {
  holderId?: bigint | undefined;
  integrationId?: bigint | undefined;
  /** Name of the key. */
  key?: string | undefined;
};

const OWNED = `($2::bigint is null or i.holder_id = $2) and ($3::bigint is null or i.id = $3) and ($4::text is null or s.name = $4)`;

function ownerValues({ holderId, integrationId, key }: TokenOwner): unknown[] {
  return [holderId ?? null, integrationId ?? null, key ?? null];
}

/** Ends a token before it expires. */
export function revokeToken(
  ctx: Context,
  actor: Actor,
  tokenId: bigint,
  owner: TokenOwner = {},
): Promise<{ clientId: string; at: Date }> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const [row] = await tx.query<{ client_id: string; holder_id: bigint }>(
      `update tokens t set revoked_at = $5 from integrations i, integration_secrets s
       where t.id = $1 and i.id = t.integration_id and s.id = t.secret_id and ${OWNED}
         and t.revoked_at is null and t.expires_at > $5 and (s.expires_at is null or s.expires_at > $5)
       returning i.client_id, i.holder_id`,
      [tokenId, ...ownerValues(owner), at],
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

export const MAX_TOKENS_LISTED = 1_000;

export type ListedToken = {
  id: bigint;
  client_id: string;
  key: string;
  secret_id: bigint;
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
  address: string;
  last_address: string | null;
};

/** Live tokens, the newest first; older than `before` when given. */
export function listTokens(
  reader: Reader,
  owner: TokenOwner,
  page: { now: Date; limit: number; before?: bigint | undefined },
): Promise<ListedToken[]> {
  return reader.query<ListedToken>(
    `select t.id, i.client_id, s.name as key, t.secret_id, t.created_at, least(t.expires_at, s.expires_at) as expires_at,
            t.last_used_at, t.address, t.last_address
     from tokens t join integration_secrets s on s.id = t.secret_id join integrations i on i.id = t.integration_id
     where ($1::bigint is null or t.id < $1) and ${OWNED} and i.status = 'active'
       and t.revoked_at is null and t.expires_at > $5 and (s.expires_at is null or s.expires_at > $5)
     order by t.id desc limit $6`,
    [page.before ?? null, ...ownerValues(owner), page.now, Math.min(page.limit, MAX_TOKENS_LISTED + 1)],
  );
}

export type TokenUse = { tokenId: bigint; at: Date; address: string };

/** Records the last use of tokens. Not on the hot path; skips what another process is writing at this moment. */
export async function noteTokenUse(reader: Reader, uses: readonly TokenUse[]): Promise<void> {
  await reader.query(
    `update tokens t set last_used_at = u.at, last_address = u.address
     from unnest($1::bigint[], $2::timestamptz[], $3::text[]) as u (id, at, address),
          (select id from tokens where id = any ($1) for update skip locked) free
     where t.id = u.id and free.id = u.id`,
    [uses.map((use) => use.tokenId), uses.map((use) => use.at), uses.map((use) => use.address)],
  );
}
