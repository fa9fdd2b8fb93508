// The signed envelope: authenticates the integration and checks that the request is fresh and not a replay.
// Every signed endpoint goes through `handleSigned`, so the order of the checks exists once.

import Type, { type Static } from 'typebox';
import { refreshCaches } from '../platform/cache.ts';
import { canonicalJson } from '../platform/canonical-json.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import { type Context, forHolder } from '../platform/context.ts';
import { Problem, type ProblemCode } from '../platform/errors.ts';
import { HmacKey } from '../platform/hmac.ts';
import { rateLimitHeaders, tooManyRequests } from '../platform/http.ts';
import { type MaybeLater, whenKnown } from '../platform/known.ts';
import { findLastRestore } from '../platform/restores.ts';
import { findMissingScope, missingScopeMessage } from '../platform/scopes.ts';
import { type CanonicalMember, type JsonObject, type JsonValue, joinMembers } from '../platform/strict-json.ts';
import { createReader, EXPECTED } from '../platform/validation.ts';
import { findLiveIntegration, isAddressAllowed, type LiveIntegration, type LiveKey } from './integrations.ts';
import { holderRate, integrationRate } from './limits.ts';
import { isSignatureSpent, type SpentSignature, spendForRead } from './signatures.ts';

/** Beyond this a number of seconds has no date; far outside every tolerance anyway. */
const MAX_TIMESTAMP = 8_640_000_000_000;

/** The specification gives each operation its own messages for the same errors. */
export type OperationMessages = {
  badParams: string;
  integrationNotFound: string;
  clientMismatch: string;
  notVerified: string;
  accountClosed: string;
  accountSuspended: string;
};

const MAX_NAME_CHARACTERS = 256;
const MAX_SALT_CHARACTERS = 128;

/** The members of the envelope besides `params`, which each operation has its own schema for. */
export const ENVELOPE_MEMBERS = {
  client_id: Type.String({
    maxLength: MAX_NAME_CHARACTERS,
    description: 'Public identifier of the API integration.',
  }),
  sender: Type.String({
    maxLength: MAX_NAME_CHARACTERS,
    description: 'Title of the API integration, copied as created in the application.',
  }),
  timestamp: Type.Integer({
    description: 'Unix timestamp of the moment the request is made, in seconds; at most 300 seconds from our clock.',
    [EXPECTED]: 'an integer: Unix time in seconds',
  }),
  salt: Type.String({
    minLength: 1,
    maxLength: MAX_SALT_CHARACTERS,
    description: 'Random string. It may stay the same, but then two equal requests in one second are one.',
    [EXPECTED]: `a string of 1 to ${MAX_SALT_CHARACTERS} characters`,
  }),
  signature: Type.String({
    maxLength: MAX_NAME_CHARACTERS,
    description:
      'HMAC-SHA256 of the RFC 8785 canonical JSON of this body without `signature`, keyed with secret_key, ' +
      'in 64 lower-case hexadecimal characters. Works once.',
  }),
};

const Envelope = Type.Object({ ...ENVELOPE_MEMBERS, params: Type.Unsafe<JsonObject>(Type.Object({})) });
const envelopeReader = createReader(Envelope);

/** A request that passed every check but "used before", which the database decides when the signature is spent. */
export type SignedRequest = SpentSignature & { integration: LiveIntegration; params: JsonObject; address: string };

type VerifiedRequest = SignedRequest & { key: LiveKey };

export type SignedCall = {
  body: JsonValue;
  /** The canonical text of each member of the body, from the same reading. */
  members: readonly CanonicalMember[];
  address: string;
  /** Method and path, as the table of scopes names them. */
  route: string;
  logged: Record<string, unknown>;
  setHeaders(headers: Record<string, string>): void;
  /** Called once the signature is verified: from then on the request counts against the share of its integration. */
  admitCaller(clientId: string): void;
};

/** The bytes that are signed: the canonical JSON of the body without its signature. */
export function canonicalEnvelope(body: JsonObject): string {
  const { signature: _, ...signed } = body;
  return canonicalJson(signed);
}

export function signatureOf(secret: HmacKey | string, body: JsonObject): string {
  const key = typeof secret === 'string' ? new HmacKey(secret) : secret;
  return key.sign('hex', canonicalEnvelope(body));
}

/**
 * Verifies the envelope and performs the operation. A refusal of the operation for its params (4xx) comes after
 * the "used before" check in the order of the contract, so a used signature is answered as such even then.
 * The operation reads with what the second argument returns: the context of the caller's own holder.
 */
export async function handleSigned<T, C extends Context>(
  ctx: C,
  messages: OperationMessages,
  call: SignedCall,
  perform: (request: SignedRequest, ownContext: () => C) => Promise<T>,
): Promise<T> {
  const verifying = verifyEnvelope(ctx, messages, call);
  const request = verifying instanceof Promise ? await verifying : verifying;
  call.admitCaller(request.integration.clientId);
  limitRate(ctx, request.integration, call);
  try {
    requireScope(request.key, call.route);
    requireLiveAccount(request.integration, messages);
    return await perform(request, () => forHolder(ctx, request.integration.holderId));
  } catch (error) {
    const refused = error instanceof Problem && error.status < 500 && error.code !== 'signature_reused';
    if (refused && (await isSignatureSpent(ctx.db, request))) throw signatureReused(messages);
    throw error;
  }
}

/** For operations that only read: spends the signature, or refuses one that was used before. */
export async function spendOrRefuse(ctx: Context, messages: OperationMessages, request: SignedRequest): Promise<void> {
  if (!(await spendForRead(ctx, request))) throw signatureReused(messages);
}

export function signatureReused(messages: OperationMessages): Problem {
  return new Problem('signature_reused', { message: messages.notVerified });
}

/** Refusals that may only be due to a cache that does not know yet what was changed a moment ago. */
const DEPENDS_ON_CACHE: readonly ProblemCode[] = [
  'integration_not_found',
  'client_mismatch',
  'address_not_allowed',
  'signature_mismatch',
];

/** An envelope before its signature is checked: what it says, whose it would be, and the last restore of the database. */
type Claim = { envelope: Static<typeof Envelope>; integration: LiveIntegration | null; restoredAt: Date | null };

function verifyEnvelope(ctx: Context, messages: OperationMessages, call: SignedCall): MaybeLater<VerifiedRequest> {
  const envelope = readEnvelope(call.body, messages);
  return whenKnown(findLastRestore(ctx), (restoredAt) =>
    whenKnown(findLiveIntegration(ctx, { clientId: envelope.client_id }), (integration) => {
      const claim = { envelope, integration, restoredAt };
      try {
        return verifyClaim(ctx, messages, call, claim);
      } catch (error) {
        return verifyAgain(ctx, messages, call, claim, error);
      }
    }),
  );
}

async function verifyAgain(
  ctx: Context,
  messages: OperationMessages,
  call: SignedCall,
  claim: Claim,
  error: unknown,
): Promise<VerifiedRequest> {
  if (!(error instanceof Problem) || !DEPENDS_ON_CACHE.includes(error.code)) throw error;
  await refreshCaches(ctx);
  const integration = await findLiveIntegration(ctx, { clientId: claim.envelope.client_id });
  if (integration === claim.integration) throw error;
  return verifyClaim(ctx, messages, call, { ...claim, integration, restoredAt: await findLastRestore(ctx) });
}

function verifyClaim(
  ctx: Context,
  messages: OperationMessages,
  call: SignedCall,
  { envelope, integration, restoredAt }: Claim,
): VerifiedRequest {
  if (integration?.status !== 'active')
    throw new Problem('integration_not_found', { message: messages.integrationNotFound });
  // Everybody may know a client_id. It counts as the caller's only after the signature.
  call.logged.claimed_client_id = integration.clientId;
  if (envelope.sender !== integration.title) throw new Problem('client_mismatch', { message: messages.clientMismatch });
  if (!isAddressAllowed(integration, call.address))
    throw new Problem('address_not_allowed', { message: messages.notVerified });
  const skewSeconds = envelope.timestamp - Math.floor(ctx.clock.millis() / 1000);
  // Which signatures were used between the backup and a restore is not known. So those from before it are refused.
  const isFromBefore = restoredAt !== null && envelope.timestamp * 1000 <= restoredAt.getTime();
  if (Math.abs(skewSeconds) > ctx.config.signatureToleranceSeconds || isFromBefore)
    throw new Problem('timestamp_out_of_range', { message: messages.notVerified, extra: debugClock(ctx, skewSeconds) });
  const canonical = joinMembers(call.members, 'signature');
  const key = findSigningKey(integration, canonical, envelope.signature);
  if (!key)
    throw new Problem('signature_mismatch', {
      message: messages.notVerified,
      extra: debugCanonical(ctx, canonical, skewSeconds),
    });
  // Not deleted: an object with a deleted member is slow from then on, and this one is copied into the log line.
  call.logged.claimed_client_id = undefined;
  call.logged.client_id = integration.clientId;
  call.logged.key_id = String(key.id);
  if (!isAddressAllowed(key, call.address)) throw new Problem('address_not_allowed', { message: messages.notVerified });
  return {
    integration,
    key,
    params: envelope.params,
    signature: envelope.signature,
    signedAt: new Date(envelope.timestamp * 1000),
    address: call.address,
  };
}

/** The key whose signature this is. Every live key is tried, so that the response time does not reveal which one matched. */
function findSigningKey(integration: LiveIntegration, canonical: string, signature: string): LiveKey | null {
  return integration.keys.filter(({ secret }) => secret.matches(signature, canonical))[0] ?? null;
}

/** Refuses a key that may not call this route. */
export function requireScope(key: LiveKey, route: string): void {
  const missing = findMissingScope(key.scopes, route);
  if (missing !== null) throw new Problem('scope_missing', { message: missingScopeMessage(missing) });
}

function readEnvelope(body: JsonValue, messages: OperationMessages): Static<typeof Envelope> {
  const envelope = envelopeReader.require(body, { code: 'invalid_envelope', message: messages.badParams });
  const timestamp = Math.max(-MAX_TIMESTAMP, Math.min(MAX_TIMESTAMP, envelope.timestamp));
  return timestamp === envelope.timestamp ? envelope : { ...envelope, timestamp };
}

/** Refuses closed and suspended holders: the last check before the operation. */
function requireLiveAccount(integration: LiveIntegration, messages: OperationMessages): void {
  if (integration.holderStatus === 'closed')
    throw new Problem('account_not_found', { message: messages.accountClosed });
  if (integration.holderStatus === 'suspended')
    throw new Problem('account_suspended', { message: messages.accountSuspended });
}

/** Counted after the signature check, so that nobody can use up the limit of another integration. */
export function limitRate(ctx: Context, integration: LiveIntegration, call: Pick<SignedCall, 'setHeaders'>): void {
  const result = integrationRate(ctx).take(integration.clientId, `${integration.title} (${integration.clientId})`);
  if (!result.allowed) throw tooManyRequests(result, 'integration');
  const ofHolder = holderRate(ctx).take(String(integration.holderId));
  if (!ofHolder.allowed) throw tooManyRequests(ofHolder, 'holder');
  call.setHeaders(rateLimitHeaders(result, 'integration'));
}

/** Debug output for sandbox mode. Never contains a secret or the right signature. */
function debugClock(ctx: Context, skewSeconds: number): Record<string, unknown> {
  if (ctx.config.mode !== 'sandbox') return {};
  return { debug: { server_time: isoMicroseconds(ctx.clock.now()), skew_seconds: skewSeconds } };
}

function debugCanonical(ctx: Context, canonical: string, skewSeconds: number): Record<string, unknown> {
  if (ctx.config.mode !== 'sandbox') return {};
  return { debug: { canonical, server_time: isoMicroseconds(ctx.clock.now()), skew_seconds: skewSeconds } };
}
