// The signature debugger's mind: every check of a signed request in the order of the contract, each with a verdict, and
// where two texts begin to differ. It tells what was signed instead, never what the right signature would be.

import { createHmac, type KeyObject } from 'node:crypto';
import { canonicalEnvelope } from '../holders/envelope.ts';
import { findLiveIntegration, isAddressAllowed, type LiveIntegration } from '../holders/integrations.ts';
import { isSignatureSpent } from '../holders/signatures.ts';
import { canonicalJson } from '../platform/canonical-json.ts';
import type { Context } from '../platform/context.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import { JsonError, type JsonObject, type JsonValue, parseStrictJson } from '../platform/strict-json.ts';

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
  verdict: 'right' | 'wrong' | 'skipped';
  fact?: string;
  mistake?: Mistake;
};
export type TextDifference = { byte: number; ours: string; theirs: string };
export type Inspection = {
  checks: SignatureStep[];
  /** The text that the gateway signs; null when the body could not be read. */
  ours: string | null;
  /** The text that the caller says to have signed, or else the body as it was sent, without its signature. */
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
  const integration =
    typeof body.client_id === 'string' ? await findLiveIntegration(ctx, { clientId: body.client_id }) : null;
  // Another holder's integration is none of this person's business: it does not exist.
  const own = integration?.holderId === holderId && integration.status === 'active' ? integration : null;
  checks.push({ name: 'integration', verdict: own ? 'right' : 'wrong' });
  if (own) await checkWith(ctx, own, body, input, ours, checks);
  return { checks, ours, theirs, difference };
}

function readBody(text: string, checks: SignatureStep[]): JsonObject | null {
  let value: JsonValue;
  try {
    value = parseStrictJson(Buffer.from(text.trim()));
  } catch (fault) {
    if (!(fault instanceof JsonError)) throw fault;
    checks.push({ name: 'json', verdict: 'wrong', fact: `${fault.message} (${fault.position})` });
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    checks.push({ name: 'json', verdict: 'wrong' });
    return null;
  }
  checks.push({ name: 'json', verdict: 'right' });
  const body = value;
  const wrong = Object.entries(MEMBERS).filter(([name, type]) => typeof body[name] !== type || body[name] === null);
  checks.push(
    wrong.length === 0
      ? { name: 'members', verdict: 'right' }
      : { name: 'members', verdict: 'wrong', fact: wrong.map(([name, type]) => `${name} (${type})`).join(', ') },
  );
  return body;
}

async function checkWith(
  ctx: Context,
  integration: LiveIntegration,
  body: JsonObject,
  input: InspectionInput,
  ours: string,
  checks: SignatureStep[],
): Promise<void> {
  const sender = textOf(body.sender);
  checks.push(
    sender === integration.title
      ? { name: 'sender', verdict: 'right' }
      : { name: 'sender', verdict: 'wrong', fact: `"${sender}" ≠ "${integration.title}"` },
  );
  if (input.address === '' && integration.allowedAddresses.length > 0)
    checks.push({ name: 'address', verdict: 'skipped' });
  else
    checks.push({
      name: 'address',
      verdict:
        integration.allowedAddresses.length === 0 || isAddressAllowed(integration, input.address) ? 'right' : 'wrong',
    });
  const timestamp = typeof body.timestamp === 'number' ? body.timestamp : 0;
  const skew = timestamp - Math.floor(ctx.clock.millis() / 1000);
  checks.push({
    name: 'timestamp',
    verdict: Math.abs(skew) <= ctx.config.signatureToleranceSeconds ? 'right' : 'wrong',
    fact: `${skew > 0 ? '+' : ''}${skew} s`,
  });
  const signature = textOf(body.signature);
  const right = integration.apiKeys.some((key) => matches(key, ours, signature));
  checks.push(
    right
      ? { name: 'signature', verdict: 'right' }
      : { name: 'signature', verdict: 'wrong', mistake: findMistake(integration, body, input, ours, signature) },
  );
  if (right) {
    const spent = await isSignatureSpent(ctx.db, {
      signature: Buffer.from(signature, 'hex'),
      signedAt: new Date(timestamp * 1000),
    });
    checks.push({ name: 'fresh', verdict: spent ? 'wrong' : 'right' });
  }
  checks.push({ name: 'account', verdict: integration.holderStatus === 'active' ? 'right' : 'wrong' });
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function digest(key: KeyObject | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function matches(key: KeyObject | string, text: string, signature: string): boolean {
  return /^[0-9a-f]{64}$/.test(signature) && constantTimeEqual(digest(key, text), Buffer.from(signature, 'hex'));
}

/** What the signature is a signature of, among the mistakes that people make. */
function findMistake(
  integration: LiveIntegration,
  body: JsonObject,
  input: InspectionInput,
  ours: string,
  signature: string,
): Mistake {
  const hex = signature.toLowerCase();
  const signs = (text: string) => integration.apiKeys.some((key) => matches(key, text, hex));
  if (signature !== hex && signs(ours)) return 'upper_case';
  const bytes = Buffer.from(signature, 'base64');
  if (integration.apiKeys.some((key) => constantTimeEqual(digest(key, ours), bytes))) return 'base64';
  if (!/^[0-9a-f]{64}$/i.test(signature)) return 'not_hex';
  if (input.ownString !== '' && signs(input.ownString)) return 'own_string';
  if (signs(withoutSignature(input.body)) || signs(input.body.trim())) return 'as_sent';
  if (signs(canonicalJson(body)) || signs(canonicalJson({ ...body, signature: '' }))) return 'with_signature';
  const { params } = body;
  if (typeof params === 'object' && params !== null && !Array.isArray(params)) {
    if (signs(canonicalJson(params)) || signs(JSON.stringify(params))) return 'params_only';
  }
  if (integration.callbackSecrets.some((secret) => matches(secret, ours, hex))) return 'callback_secret';
  return 'unknown';
}

/** The body as its sender wrote it, without the signature member: order and spaces are kept. */
function withoutSignature(text: string): string {
  return text
    .trim()
    .replace(/\s*"signature"\s*:\s*"[^"]*"\s*,?/, '')
    .replace(/,\s*}$/, '}');
}

/** Where two texts part, counted in bytes, with a little of both from there on. */
export function firstDifference(ours: string, theirs: string): TextDifference | null {
  const [left, right] = [Buffer.from(ours), Buffer.from(theirs)];
  if (left.equals(right)) return null;
  let byte = 0;
  while (byte < left.length && left[byte] === right[byte]) byte++;
  return { byte, ours: piece(left, byte), theirs: piece(right, byte) };
}

function piece(bytes: Buffer, from: number): string {
  return bytes.subarray(from, from + 24).toString('utf8');
}
