// Signature checks: every check of a signed request in the order of the contract, each with its result, and the first
// difference between two texts. They say what was signed instead, and never reveal the correct signature.

import { canonicalEnvelope } from '../holders/envelope.ts';
import { findLiveIntegration, isAddressAllowed, type LiveIntegration, type LiveKey } from '../holders/integrations.ts';
import { isSignatureSpent } from '../holders/signatures.ts';
import { canonicalJson } from '../platform/canonical-json.ts';
import type { Context } from '../platform/context.ts';
import { HmacKey } from '../platform/hmac.ts';
import { JsonError, type JsonObject, type JsonValue, parseStrictJson } from '../platform/strict-json.ts';

const EXCERPT_BYTES = 24;
/** The fields of a signed request and their types. */
const MEMBERS = {
  client_id: 'string',
  sender: 'string',
  timestamp: 'number',
  salt: 'string',
  signature: 'string',
  params: 'object',
} as const;

export type SignatureStepName =
  | 'json'
  | 'members'
  | 'integration'
  | 'sender'
  | 'address'
  | 'timestamp'
  | 'signature'
  | 'fresh'
  | 'account';
/** What was signed, when it was not the canonical text. */
export type Mistake =
  | 'own_string'
  | 'as_sent'
  | 'with_signature'
  | 'params_only'
  | 'upper_case'
  | 'base64'
  | 'not_hex'
  | 'callback_secret'
  | 'unknown';
export type SignatureStep = {
  name: SignatureStepName;
  result: 'passed' | 'failed' | 'skipped';
  detail?: string;
  mistake?: Mistake;
};
export type TextDifference = { byte: number; ours: string; theirs: string };
export type Inspection = {
  checks: SignatureStep[];
  /** The text that the gateway signs; null when the body could not be read. */
  ours: string | null;
  /** The text that the caller signed, if it was pasted; else the body as it was sent, without its signature. */
  theirs: string | null;
  difference: TextDifference | null;
};

export type InspectionInput = { body: string; ownString: string; address: string };

export async function inspectRequest(ctx: Context, holderId: bigint, input: InspectionInput): Promise<Inspection> {
  const checks: SignatureStep[] = [];
  const body = readBody(input.body, checks);
  if (!body) return { checks, ours: null, theirs: null, difference: null };
  const ours = canonicalEnvelope(body);
  const theirs = input.ownString || withoutSignature(input.body);
  const difference = firstDifference(ours, theirs);
  const found =
    typeof body.client_id === 'string' ? await findLiveIntegration(ctx, { clientId: body.client_id }) : null;
  // An integration of another holder is reported like one that does not exist.
  const integration = found?.holderId === holderId && found.status === 'active' ? found : null;
  checks.push({ name: 'integration', result: resultOf(integration !== null) });
  if (integration) await checkWithIntegration(ctx, integration, body, input, ours, checks);
  return { checks, ours, theirs, difference };
}

function resultOf(passed: boolean): 'passed' | 'failed' {
  return passed ? 'passed' : 'failed';
}

function readBody(text: string, checks: SignatureStep[]): JsonObject | null {
  let body: JsonValue;
  try {
    body = parseStrictJson(Buffer.from(text.trim()));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    checks.push({ name: 'json', result: 'failed', detail: `${error.message} (${error.position})` });
    return null;
  }
  if (!isObject(body)) {
    checks.push({ name: 'json', result: 'failed' });
    return null;
  }
  checks.push({ name: 'json', result: 'passed' });
  checks.push(checkMembers(body));
  return body;
}

function checkMembers(body: JsonObject): SignatureStep {
  const wrong = Object.entries(MEMBERS).filter(([name, type]) => typeof body[name] !== type || body[name] === null);
  if (wrong.length === 0) return { name: 'members', result: 'passed' };
  return { name: 'members', result: 'failed', detail: wrong.map(([name, type]) => `${name} (${type})`).join(', ') };
}

async function checkWithIntegration(
  ctx: Context,
  integration: LiveIntegration,
  body: JsonObject,
  input: InspectionInput,
  ours: string,
  checks: SignatureStep[],
): Promise<void> {
  const timestamp = typeof body.timestamp === 'number' ? body.timestamp : 0;
  const signature = textOf(body.signature);
  const key = integration.keys.find(({ secret }) => secret.matches(signature, ours));
  checks.push(checkSender(integration, textOf(body.sender)));
  checks.push(checkAddress(key ? [integration, key] : [integration], input.address));
  checks.push(checkTimestamp(ctx, timestamp));
  checks.push(
    key
      ? { name: 'signature', result: 'passed', detail: `${key.name}: ${key.scopes.join(', ')}` }
      : { name: 'signature', result: 'failed', mistake: findMistake(integration, body, input, ours, signature) },
  );
  if (key) {
    const entry = { signature, signedAt: new Date(timestamp * 1000) };
    // In a transaction, which has the rights of the service: used signatures are of no holder.
    const spent = await ctx.db.transaction((tx) => isSignatureSpent(tx, entry));
    checks.push({ name: 'fresh', result: resultOf(!spent) });
  }
  checks.push({ name: 'account', result: resultOf(integration.holderStatus === 'active') });
}

function checkSender({ title }: LiveIntegration, sender: string): SignatureStep {
  if (sender === title) return { name: 'sender', result: 'passed' };
  return { name: 'sender', result: 'failed', detail: `"${sender}" ≠ "${title}"` };
}

/** The integration and the key that signed each may have a list. */
function checkAddress(owners: readonly Pick<LiveKey, 'allowedAddresses'>[], address: string): SignatureStep {
  if (owners.every(({ allowedAddresses }) => allowedAddresses.length === 0))
    return { name: 'address', result: 'passed' };
  if (address === '') return { name: 'address', result: 'skipped' };
  return { name: 'address', result: resultOf(owners.every((owner) => isAddressAllowed(owner, address))) };
}

function checkTimestamp(ctx: Context, timestamp: number): SignatureStep {
  const skew = timestamp - Math.floor(ctx.clock.millis() / 1000);
  return {
    name: 'timestamp',
    result: resultOf(Math.abs(skew) <= ctx.config.signatureToleranceSeconds),
    detail: `${skew > 0 ? '+' : ''}${skew} s`,
  };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Which of the usual mistakes explains the signature. */
function findMistake(
  integration: LiveIntegration,
  body: JsonObject,
  input: InspectionInput,
  ours: string,
  signature: string,
): Mistake {
  const hex = signature.toLowerCase();
  const signs = (text: string) => integration.keys.some(({ secret }) => secret.matches(hex, text));
  if (signature !== hex && signs(ours)) return 'upper_case';
  const fromBase64 = Buffer.from(signature, 'base64').toString('hex');
  if (integration.keys.some(({ secret }) => secret.matches(fromBase64, ours))) return 'base64';
  if (!/^[0-9a-f]{64}$/i.test(signature)) return 'not_hex';
  if (input.ownString !== '' && signs(input.ownString)) return 'own_string';
  if (signs(withoutSignature(input.body)) || signs(input.body.trim())) return 'as_sent';
  if (signs(canonicalJson(body)) || signs(canonicalJson({ ...body, signature: '' }))) return 'with_signature';
  const { params } = body;
  if (isObject(params) && (signs(canonicalJson(params)) || signs(JSON.stringify(params)))) return 'params_only';
  if (integration.callbackSecrets.some((secret) => new HmacKey(secret).matches(hex, ours))) return 'callback_secret';
  return 'unknown';
}

/** The body as it was sent, without its signature field. Order and spaces are kept. */
export function withoutSignature(text: string): string {
  const sent = text.trim();
  const found = /"signature"\s*:\s*"[^"]*"\s*,?/.exec(sent);
  // The spaces before it are not part of the expression, which would begin anew at each of them.
  const rest = found ? sent.slice(0, found.index).trimEnd() + sent.slice(found.index + found[0].length) : sent;
  return rest.replace(/,\s*}$/, '}');
}

/** The first byte in which two texts differ, with an excerpt of both from there on. */
export function firstDifference(ours: string, theirs: string): TextDifference | null {
  const [left, right] = [Buffer.from(ours), Buffer.from(theirs)];
  if (left.equals(right)) return null;
  let byte = 0;
  while (byte < left.length && left[byte] === right[byte]) byte++;
  return { byte, ours: excerpt(left, byte), theirs: excerpt(right, byte) };
}

function excerpt(bytes: Buffer, from: number): string {
  return bytes.subarray(from, from + EXCERPT_BYTES).toString('utf8');
}
