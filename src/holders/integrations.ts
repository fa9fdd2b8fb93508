// Integrations: the API credentials of a holder. An integration has a public client_id, a title (the specification's
// `sender`), API keys with names, and a callback secret. During a rotation a key has two live secrets.

import { isAddressIn } from '../platform/addresses.ts';
import { createCache } from '../platform/cache.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { gatherKeys } from '../platform/gather.ts';
import { HmacKey } from '../platform/hmac.ts';
import { randomName } from '../platform/ids.ts';
import type { KeyScope } from '../platform/scopes.ts';
import { type Actor, recordAudit } from './audit.ts';
import type { HolderStatus } from './holders.ts';
import {
  DEFAULT_KEY,
  endSecrets,
  FULL_ACCESS,
  insertSecret,
  openSecret,
  requireAllowList,
  type SecretKind,
  type SecretPlace,
} from './integration-secrets.ts';
import { requireRedirectHosts } from './redirect-hosts.ts';

const DEFAULT_OVERLAP_SECONDS = 86_400;
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
  /** Hosts that its payment links may send the payer to. Empty: any. */
  redirectHosts: string[];
  createdAt: Date;
  lastUsedAt: Date | null;
};

/** One live secret of an API key. The id is the secret's: after a rotation the key has another. */
export type LiveKey = {
  id: bigint;
  name: string;
  scopes: readonly KeyScope[];
  allowedAddresses: readonly string[];
  secret: HmacKey;
};

/** An integration with its live secrets decrypted. Never stored. */
export type LiveIntegration = Integration & {
  /** The newest first. */
  keys: LiveKey[];
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
  redirect_hosts: string[];
  created_at: Date;
  last_used_at: Date | null;
};

const SELECT_INTEGRATION = `
  select i.id, i.holder_id, h.status as holder_status, i.client_id, i.title, i.status, i.allowed_addresses,
         i.default_callback_url, i.redirect_hosts, i.created_at, i.last_used_at
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
    redirectHosts: row.redirect_hosts,
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
    const owner = { holderId, integrationId: row.id };
    const secretKey = await insertSecret(tx, ctx.vault, { ...owner, kind: 'api' }, FULL_ACCESS, at);
    const callbackSecret = await insertSecret(tx, ctx.vault, { ...owner, kind: 'callback' }, FULL_ACCESS, at);
    await recordAudit(
      tx,
      { holderId, actor, action: 'integration.created', subject: title, details: { clientId } },
      at,
    );
    const integration = await requireIntegration(tx, holderId, row.id);
    return { ...integration, secretKey, callbackSecret };
  });
}

/**
 * Adds a secret to a key; the current one keeps working for `overlapSeconds`. Without an overlap it ends now, and every token
 * that was made with it. The new one is shown once.
 */
export async function rotateSecret(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  integrationId: bigint,
  kind: SecretKind,
  overlapSeconds = DEFAULT_OVERLAP_SECONDS,
  name = DEFAULT_KEY,
): Promise<{ secret: string; previousExpiresAt: Date }> {
  const at = await ctx.databaseTime.now();
  const previousExpiresAt = new Date(at.getTime() + overlapSeconds * 1000);
  return ctx.db.transaction(async (tx) => {
    const integration = await lockIntegration(tx, holderId, integrationId);
    const access = await endSecrets(tx, integrationId, kind, name, previousExpiresAt, at);
    if (!access) throw new Problem('not_found', { message: `There is no live key "${name}".` });
    const secret = await insertSecret(tx, ctx.vault, { holderId, integrationId, kind }, access, at);
    await recordAudit(
      tx,
      {
        holderId,
        actor,
        action: `integration.${kind}_secret_rotated`,
        subject: integration.title,
        details: { previousExpiresAt, ...(kind === 'api' ? { key: name } : {}) },
      },
      at,
    );
    return { secret, previousExpiresAt };
  });
}

/** The integration, locked: two changes of it or of its secrets follow each other. */
export async function lockIntegration(tx: Tx, holderId: bigint, id: bigint): Promise<Integration> {
  await tx.query('select 1 from integrations where holder_id = $1 and id = $2 for no key update', [holderId, id]);
  return requireIntegration(tx, holderId, id);
}

type IntegrationChange = {
  allowedAddresses?: string[];
  defaultCallbackUrl?: string | null;
  redirectHosts?: string[];
  status?: 'revoked';
};

export function updateIntegration(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  integrationId: bigint,
  change: IntegrationChange,
): Promise<Integration> {
  if (change.allowedAddresses) requireAllowList(change.allowedAddresses);
  if (change.redirectHosts) requireRedirectHosts(change.redirectHosts);
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    // Locked, because every column is written: what two people change at once must not undo each other, a revocation least of all.
    const before = await lockIntegration(tx, holderId, integrationId);
    await tx.query(
      `update integrations
       set allowed_addresses = $3, default_callback_url = $4, status = $5, updated_at = $6, redirect_hosts = $7
       where id = $1 and holder_id = $2`,
      [
        integrationId,
        holderId,
        change.allowedAddresses ?? before.allowedAddresses,
        change.defaultCallbackUrl === undefined ? before.defaultCallbackUrl : change.defaultCallbackUrl,
        change.status ?? before.status,
        at,
        change.redirectHosts ?? before.redirectHosts,
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
export async function requireIntegrationByClient(
  reader: Reader,
  holderId: bigint,
  clientId: string,
): Promise<Integration> {
  const [row] = /^\w{1,64}$/.test(clientId)
    ? await reader.query<IntegrationRow>(`${SELECT_INTEGRATION} where i.client_id = $1 and i.holder_id = $2`, [
        clientId,
        holderId,
      ])
    : [];
  if (!row) throw new Problem('not_found', { message: 'There is no such integration.' });
  return integrationFrom(row);
}

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

type LiveRow = IntegrationRow & {
  secret_id: bigint | null;
  kind: SecretKind;
  slot: number;
  sealed: Buffer;
  name: string;
  scopes: KeyScope[];
  key_addresses: string[];
  expires_at: Date | null;
};

type LiveName = { clientId: string } | { id: bigint };

const LOAD_LIVE = {
  name: 'load_live_integrations',
  text: `
    select i.id, i.holder_id, h.status as holder_status, i.client_id, i.title, i.status, i.allowed_addresses,
           i.default_callback_url, i.redirect_hosts, i.created_at, i.last_used_at, s.id as secret_id, s.kind, s.slot, s.sealed,
           s.name, s.scopes, s.allowed_addresses as key_addresses, s.expires_at
    from integrations i
    join holders h on h.id = i.holder_id
    left join integration_secrets s on s.integration_id = i.id and (s.expires_at is null or s.expires_at > $3)
    where i.client_id = any($1::text[]) or i.id = any($2::bigint[])
    order by i.id, s.created_at desc, s.slot desc`,
};

/** Reads integrations with their live secrets from the database, without the cache; null for a name that nobody has. */
async function loadLiveIntegrations(ctx: Context, names: LiveName[]): Promise<Promise<LiveIntegration | null>[]> {
  const rows = await ctx.db.query<LiveRow>(LOAD_LIVE, [
    names.flatMap((name) => ('clientId' in name ? [name.clientId] : [])),
    names.flatMap((name) => ('id' in name ? [name.id] : [])),
    ctx.clock.now(),
  ]);
  const byId = Map.groupBy(rows, ({ id }) => id);
  const idOf = new Map(rows.map(({ client_id, id }) => [client_id, id]));
  // Each by itself: a secret that does not open concerns its integration only.
  return names.map((name) => openLive(ctx, byId.get('id' in name ? name.id : (idOf.get(name.clientId) ?? -1n)) ?? []));
}

async function openLive(ctx: Context, rows: LiveRow[]): Promise<LiveIntegration | null> {
  const [first] = rows;
  if (!first) return null;
  const opened = await Promise.all(
    rows.map(async (row) => ({
      row,
      secret: row.secret_id === null ? '' : await openSecret(ctx.vault, placeOf(row), row.sealed),
    })),
  );
  return {
    ...integrationFrom(first),
    keys: opened.flatMap(({ row, secret }) => keyFrom(row, secret) ?? []),
    callbackSecrets: opened.flatMap(({ row, secret }) =>
      row.secret_id !== null && row.kind === 'callback' ? [secret] : [],
    ),
    validUntil: Math.min(...rows.map((row) => row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY)),
  };
}

/** Reads an integration with its live secrets from the database, without the cache. */
export async function loadLiveIntegration(ctx: Context, name: LiveName): Promise<LiveIntegration | null> {
  const [integration] = await loadLiveIntegrations(ctx, [name]);
  return (await integration) ?? null;
}

function keyFrom(row: LiveRow, secret: string): LiveKey | null {
  if (row.secret_id === null || row.kind !== 'api') return null;
  return {
    id: row.secret_id,
    name: row.name,
    scopes: row.scopes,
    allowedAddresses: row.key_addresses,
    secret: new HmacKey(secret),
  };
}

function placeOf({ holder_id: holderId, id: integrationId, kind, slot }: LiveRow): SecretPlace {
  return { holderId, integrationId, kind, slot };
}

const live = createCache(
  gatherKeys((ctx, keys: string[]) =>
    loadLiveIntegrations(
      ctx,
      keys.map((key) => (key.startsWith('#') ? { id: BigInt(key.slice(1)) } : { clientId: key.slice(1) })),
    ),
  ),
  (integration) => integration?.validUntil ?? Number.POSITIVE_INFINITY,
);

/** The same from the cache of this process, which is at most a second old. Unknown ids are cached too. */
export function findLiveIntegration(
  ctx: Context,
  by: LiveName,
): LiveIntegration | null | Promise<LiveIntegration | null> {
  return live.get(ctx, 'clientId' in by ? `@${by.clientId}` : `#${by.id}`);
}

/** Live callback secrets (`whsec_…`), newest first, at most two. */
export async function callbackSecrets(ctx: Context, integrationId: bigint): Promise<string[]> {
  return (await findLiveIntegration(ctx, { id: integrationId }))?.callbackSecrets ?? [];
}

/** Whether an integration, or a key, takes requests from this address. An empty list allows every address. */
export function isAddressAllowed({ allowedAddresses }: Pick<LiveKey, 'allowedAddresses'>, address: string): boolean {
  return allowedAddresses.length === 0 || isAddressIn(allowedAddresses, address);
}
