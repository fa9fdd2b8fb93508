// Integrations: the API credentials of a holder. An integration has a public client_id, a title (the specification's
// `sender`), up to two live API secrets and up to two live callback secrets.

import { createSecretKey, type KeyObject } from 'node:crypto';
import { isAddressIn, isAddressOrRange } from '../platform/addresses.ts';
import { createCache } from '../platform/cache.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomName } from '../platform/ids.ts';
import { type Actor, recordAudit } from './audit.ts';
import type { HolderStatus } from './holders.ts';
import { openSecret, putSecret, type SecretKind, type SecretPlace } from './integration-secrets.ts';

const DEFAULT_OVERLAP_SECONDS = 86_400;
const MAX_ALLOWED_ADDRESSES = 50;
export const MAX_INTEGRATIONS_LISTED = 1_000;

export type Integration = {
  id: bigint;
  holderId: bigint;
  holderStatus: HolderStatus;
  clientId: string;
  title: string;
  status: 'active' | 'revoked';
  allowedAddresses: string[];
  defaultCallbackUrl: string | null;
  createdAt: Date;
  lastUsedAt: Date | null;
};

/** An integration with its live secrets decrypted. Never stored. */
export type LiveIntegration = Integration & {
  apiKeys: KeyObject[];
  apiSecrets: Buffer[];
  callbackSecrets: string[];
  /** When the first of its secrets expires, in milliseconds; Infinity when none does. */
  validUntil: number;
};

export type CreatedIntegration = Integration & { secretKey: string; callbackSecret: string };

type IntegrationRow = {
  id: bigint;
  holder_id: bigint;
  holder_status: HolderStatus;
  client_id: string;
  title: string;
  status: 'active' | 'revoked';
  allowed_addresses: string[];
  default_callback_url: string | null;
  created_at: Date;
  last_used_at: Date | null;
};

const SELECT_INTEGRATION = `
  select i.id, i.holder_id, h.status as holder_status, i.client_id, i.title, i.status, i.allowed_addresses,
         i.default_callback_url, i.created_at, i.last_used_at
  from integrations i join holders h on h.id = i.holder_id`;

function integrationFrom(row: IntegrationRow): Integration {
  return {
    id: row.id,
    holderId: row.holder_id,
    holderStatus: row.holder_status,
    clientId: row.client_id,
    title: row.title,
    status: row.status,
    allowedAddresses: row.allowed_addresses,
    defaultCallbackUrl: row.default_callback_url,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}

/** Creates an integration. Its two secrets are in the result and cannot be read again. */
export function createIntegration(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  title: string,
  options: { defaultCallbackUrl?: string } = {},
): Promise<CreatedIntegration> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const clientId = `client_${randomName(24)}`;
    const [row] = await tx.query<{ id: bigint }>(
      `insert into integrations (holder_id, client_id, title, default_callback_url, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $5) returning id`,
      [holderId, clientId, title, options.defaultCallbackUrl ?? null, at],
    );
    if (!row) throw new Error('insert returned no integration');
    const secretKey = await putSecret(tx, ctx.vault, { holderId, integrationId: row.id, kind: 'api', slot: 1 }, at);
    const callbackSecret = await putSecret(
      tx,
      ctx.vault,
      { holderId, integrationId: row.id, kind: 'callback', slot: 1 },
      at,
    );
    await recordAudit(
      tx,
      { holderId, actor, action: 'integration.created', subject: title, details: { clientId } },
      at,
    );
    const integration = await requireIntegration(tx, holderId, row.id);
    return { ...integration, secretKey, callbackSecret };
  });
}

/** Adds a secret; the current one keeps working for `overlapSeconds`. The new one is shown once. */
export function rotateSecret(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  integrationId: bigint,
  kind: SecretKind,
  overlapSeconds = DEFAULT_OVERLAP_SECONDS,
): Promise<{ secret: string; previousExpiresAt: Date }> {
  const at = ctx.clock.now();
  const previousExpiresAt = new Date(at.getTime() + overlapSeconds * 1000);
  return ctx.db.transaction(async (tx) => {
    const integration = await requireIntegration(tx, holderId, integrationId);
    const secrets = await tx.query<{ slot: number }>(
      `select slot from integration_secrets where integration_id = $1 and kind = $2 order by created_at desc, slot desc for update`,
      [integrationId, kind],
    );
    const newest = secrets[0]?.slot ?? 2;
    await tx.query(
      'update integration_secrets set expires_at = $4 where integration_id = $1 and kind = $2 and slot = $3',
      [integrationId, kind, newest, previousExpiresAt],
    );
    const secret = await putSecret(tx, ctx.vault, { holderId, integrationId, kind, slot: newest === 1 ? 2 : 1 }, at);
    await recordAudit(
      tx,
      {
        holderId,
        actor,
        action: `integration.${kind}_secret_rotated`,
        subject: integration.title,
        details: { previousExpiresAt },
      },
      at,
    );
    return { secret, previousExpiresAt };
  });
}

type IntegrationChange = { allowedAddresses?: string[]; defaultCallbackUrl?: string | null; status?: 'revoked' };

export function updateIntegration(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  integrationId: bigint,
  change: IntegrationChange,
): Promise<Integration> {
  const wrong = change.allowedAddresses?.find((address) => !isAddressOrRange(address));
  if (wrong !== undefined)
    throw new Problem('invalid_params', {
      errors: { allowed_addresses: [`"${wrong}" is not an IP address or a range such as 203.0.113.0/24.`] },
    });
  if ((change.allowedAddresses?.length ?? 0) > MAX_ALLOWED_ADDRESSES)
    throw new Problem('invalid_params', {
      errors: { allowed_addresses: [`At most ${MAX_ALLOWED_ADDRESSES} entries.`] },
    });
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const before = await requireIntegration(tx, holderId, integrationId);
    await tx.query(
      `update integrations set allowed_addresses = $3, default_callback_url = $4, status = $5, updated_at = $6
       where id = $1 and holder_id = $2`,
      [
        integrationId,
        holderId,
        change.allowedAddresses ?? before.allowedAddresses,
        change.defaultCallbackUrl === undefined ? before.defaultCallbackUrl : change.defaultCallbackUrl,
        change.status ?? before.status,
        at,
      ],
    );
    const action = change.status === 'revoked' ? 'integration.revoked' : 'integration.changed';
    await recordAudit(tx, { holderId, actor, action, subject: before.title, details: { ...change } }, at);
    return requireIntegration(tx, holderId, integrationId);
  });
}

/** Records the last use of integrations. Not on the hot path: the request log calls it for many requests at once. */
export async function noteUse(reader: Reader, ids: readonly bigint[], at: Date): Promise<void> {
  await reader.query('update integrations set last_used_at = $2 where id = any ($1)', [ids, at]);
}

/** An integration of this holder, or "not found". */
export async function requireIntegration(reader: Reader, holderId: bigint, id: bigint): Promise<Integration> {
  const [row] = await reader.query<IntegrationRow>(`${SELECT_INTEGRATION} where i.holder_id = $1 and i.id = $2`, [
    holderId,
    id,
  ]);
  if (!row) throw new Problem('not_found', { message: 'There is no such integration.' });
  return integrationFrom(row);
}

export async function listIntegrations(reader: Reader, holderId: bigint): Promise<Integration[]> {
  const rows = await reader.query<IntegrationRow>(
    `${SELECT_INTEGRATION} where i.holder_id = $1 order by i.id limit ${MAX_INTEGRATIONS_LISTED}`,
    [holderId],
  );
  return rows.map(integrationFrom);
}

/** The oldest active integration of a holder: the one that orders of the console and the command line belong to. */
export async function findActiveIntegration(reader: Reader, holderId: bigint): Promise<Integration | null> {
  const [row] = await reader.query<IntegrationRow>(
    `${SELECT_INTEGRATION} where i.holder_id = $1 and i.status = 'active' order by i.id limit 1`,
    [holderId],
  );
  return row ? integrationFrom(row) : null;
}

/** Integrations of every holder: for the command line, which acts for the host. */
export async function listAllIntegrations(reader: Reader): Promise<Integration[]> {
  const rows = await reader.query<IntegrationRow>(
    `${SELECT_INTEGRATION} order by i.holder_id, i.id limit ${MAX_INTEGRATIONS_LISTED}`,
  );
  return rows.map(integrationFrom);
}

/** The integration with this client_id, of any holder: for the command line, which acts for the host. */
export async function findByClientId(reader: Reader, clientId: string): Promise<Integration | null> {
  const [row] = await reader.query<IntegrationRow>(`${SELECT_INTEGRATION} where i.client_id = $1`, [clientId]);
  return row ? integrationFrom(row) : null;
}

/** Reads an integration with its live secrets from the database, without the cache. */
export async function loadLiveIntegration(
  ctx: Context,
  by: { clientId: string } | { id: bigint },
): Promise<LiveIntegration | null> {
  const [column, value] = 'clientId' in by ? ['client_id', by.clientId] : ['id', by.id];
  const rows = await ctx.db.query<
    IntegrationRow & { kind: SecretKind | null; slot: number; sealed: Buffer | null; expires_at: Date | null }
  >(
    `select i.id, i.holder_id, h.status as holder_status, i.client_id, i.title, i.status, i.allowed_addresses,
            i.default_callback_url, i.created_at, i.last_used_at, s.kind, s.slot, s.sealed, s.expires_at
     from integrations i
     join holders h on h.id = i.holder_id
     left join integration_secrets s on s.integration_id = i.id and (s.expires_at is null or s.expires_at > $2)
     where i.${column} = $1
     order by s.created_at desc`,
    [value, ctx.clock.now()],
  );
  const first = rows[0];
  if (!first) return null;
  const open = async (kind: SecretKind) => {
    const places = rows.filter((row) => row.kind === kind).map((row) => ({ ...row, place: placeOf(row, kind) }));
    return Promise.all(places.flatMap(({ place, sealed }) => (sealed ? [openSecret(ctx.vault, place, sealed)] : [])));
  };
  const apiSecrets = (await open('api')).map((secret) => Buffer.from(secret, 'utf8'));
  // Signing with a KeyObject is eight times faster than with raw bytes.
  return {
    ...integrationFrom(first),
    apiSecrets,
    apiKeys: apiSecrets.map((secret) => createSecretKey(secret)),
    callbackSecrets: await open('callback'),
    validUntil: Math.min(...rows.map((row) => row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY)),
  };
}

function placeOf(row: { id: bigint; holder_id: bigint; slot: number }, kind: SecretKind): SecretPlace {
  return { holderId: row.holder_id, integrationId: row.id, kind, slot: row.slot };
}

const live = createCache(
  (ctx, key: string) =>
    loadLiveIntegration(ctx, key.startsWith('#') ? { id: BigInt(key.slice(1)) } : { clientId: key.slice(1) }),
  (integration) => integration?.validUntil ?? Number.POSITIVE_INFINITY,
);

/** The same from the cache of this process, which is at most a second old. Unknown ids are cached too. */
export function findLiveIntegration(
  ctx: Context,
  by: { clientId: string } | { id: bigint },
): Promise<LiveIntegration | null> {
  return live.get(ctx, 'clientId' in by ? `@${by.clientId}` : `#${by.id}`);
}

/** Live callback secrets (`whsec_…`), newest first, at most two. */
export async function callbackSecrets(ctx: Context, integrationId: bigint): Promise<string[]> {
  return (await findLiveIntegration(ctx, { id: integrationId }))?.callbackSecrets ?? [];
}

/** Whether requests from this address are allowed. An empty list allows every address. */
export function isAddressAllowed(integration: Integration, address: string): boolean {
  return integration.allowedAddresses.length === 0 || isAddressIn(integration.allowedAddresses, address);
}
