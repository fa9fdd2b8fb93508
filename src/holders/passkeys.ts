// Passkeys (WebAuthn): a device that signs for a person and never gives its key away. It is a second factor after a
// password or link; with user verification (fingerprint, PIN) it is enough on its own.

import { randomBytes } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { publicUrl, shownBrand } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { type Reader, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { recordFactorChange } from './factor-changes.ts';
import { requireGuess } from './guess-limit.ts';
import { CHALLENGE_MS, createChallenge, type PasskeyQuestion, takeChallenge } from './passkey-challenges.ts';
import { requireLiveSession, type SignedInMember } from './sessions.ts';

const MAX_PASSKEYS = 20;
const MAX_NAME_CHARACTERS = 60;
const MAX_TRANSPORTS = 8;
const USER_ID_BYTES = 32;
/** EdDSA, ES256 and RS256, as COSE numbers them: every device has one of them. */
const ALGORITHMS = [-8, -7, -257];

/** Loaded for the first passkey: with what it needs it is a fifth of all modules, and would delay every start. */
const webAuthn = () => import('@simplewebauthn/server');

export type Passkey = { id: bigint; name: string; created_at: Date; last_used_at: Date | null };

type CredentialRow = { credential_id: Buffer; transports: string[] };

/** The host and the origin that passkeys belong to. */
function relyingParty(ctx: Context): { id: string; origin: string } {
  const { hostname, origin } = new URL(publicUrl(ctx.config));
  return { id: hostname, origin };
}

/** The origin on whose pages passkeys work. */
export function passkeyOrigin(ctx: Context): string {
  return relyingParty(ctx).origin;
}

/** The passkeys of a member, oldest first. */
export function listPasskeys(reader: Reader, memberId: bigint): Promise<Passkey[]> {
  return reader.query<Passkey>(
    'select id, name, created_at, last_used_at from passkeys where member_id = $1 order by id',
    [memberId],
  );
}

/** What the browser needs to make a passkey. */
export async function askForNewPasskey(
  ctx: Context,
  member: { id: bigint; email: string; name: string },
  question: Omit<PasskeyQuestion, 'purpose' | 'memberId'>,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const [row] = await ctx.db.query<{ passkey_user_id: Buffer }>(
    'update members set passkey_user_id = coalesce(passkey_user_id, $2) where id = $1 returning passkey_user_id',
    [member.id, randomBytes(USER_ID_BYTES)],
  );
  if (!row) throw new Problem('not_found');
  const challenge = await createChallenge(ctx, { ...question, purpose: 'register', memberId: member.id });
  const { generateRegistrationOptions } = await webAuthn();
  return generateRegistrationOptions({
    rpName: shownBrand(ctx.config),
    rpID: relyingParty(ctx).id,
    userName: member.email,
    userDisplayName: member.name,
    userID: bytes(row.passkey_user_id),
    challenge: bytes(challenge),
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: (await credentialsOf(ctx, member.id)).map(descriptor),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
  });
}

/** Adds a passkey. Returns the recovery codes when it is the first second factor; null: the answer is not valid. */
export async function addPasskey(
  ctx: Context,
  who: SignedInMember,
  browser: string,
  answer: { credential: string; name: string },
): Promise<{ recoveryCodes: string[] } | null> {
  const { memberId, from } = who;
  const question: PasskeyQuestion = { purpose: 'register', memberId, browser, address: from.address };
  const response = readAnswer(answer.credential) as RegistrationResponseJSON | null;
  const challenge = response && (await takenChallenge(ctx, response, question));
  if (!response || !challenge || !(await hasPlainAttestation(response))) return null;
  const { verifyRegistrationResponse } = await webAuthn();
  const verified = await attempt(ctx, () =>
    verifyRegistrationResponse({
      response,
      ...expected(ctx, challenge),
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  );
  if (!verified?.verified) return null;
  const { credential } = verified.registrationInfo;
  const name = Array.from(answer.name).slice(0, MAX_NAME_CHARACTERS).join('') || 'Passkey';
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    // The member's row is locked, so that two requests cannot both be the last that fits, or both the first.
    await requireLiveSession(tx, who);
    const known = await listPasskeys(tx, memberId);
    if (known.length >= MAX_PASSKEYS)
      throw new Problem('invalid_params', { message: `At most ${MAX_PASSKEYS} passkeys can be stored.` });
    await tx
      .query(
        `insert into passkeys (member_id, credential_id, public_key, counter, transports, name, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [
          memberId,
          Buffer.from(credential.id, 'base64url'),
          Buffer.from(credential.publicKey),
          credential.counter,
          (credential.transports ?? []).slice(0, MAX_TRANSPORTS).map(String),
          name,
          at,
        ],
      )
      .catch((error: unknown) => {
        if (violatedConstraint(error) === 'passkey_credential_unique')
          throw new Problem('invalid_params', { message: 'This passkey is already stored.' });
        throw error;
      });
    return recordFactorChange(
      tx,
      ctx,
      who,
      { action: 'member.passkey_added', kind: 'passkey_added', detail: name },
      at,
    );
  });
}

/** Removes a passkey. */
export function removePasskey(ctx: Context, who: SignedInMember, id: bigint): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await requireLiveSession(tx, who);
    const [row] = await tx.query<{ name: string }>(
      'delete from passkeys where id = $1 and member_id = $2 returning name',
      [id, who.memberId],
    );
    if (!row) throw new Problem('not_found');
    const change = { action: 'member.passkey_removed', kind: 'passkey_removed', detail: row.name } as const;
    await recordFactorChange(tx, ctx, who, change, at);
  });
}

/** What the browser needs to ask for a passkey. Nobody in particular is asked on the sign-in page. */
export async function askForPasskey(
  ctx: Context,
  question: PasskeyQuestion,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { memberId } = question;
  const challenge = await createChallenge(ctx, question);
  const { generateAuthenticationOptions } = await webAuthn();
  return generateAuthenticationOptions({
    rpID: relyingParty(ctx).id,
    challenge: bytes(challenge),
    timeout: CHALLENGE_MS,
    userVerification: memberId === null ? 'required' : 'preferred',
    ...(memberId === null ? {} : { allowCredentials: (await credentialsOf(ctx, memberId)).map(descriptor) }),
  });
}

/** Whose passkey it was, and the version of the credentials that it belongs to. */
export type PasskeyProof = { memberId: bigint; credentialsVersion: bigint };

/** The member whose passkey gave this answer; null when it is not valid for the question. */
export async function provePasskey(
  ctx: Context,
  question: PasskeyQuestion,
  credential: string,
): Promise<PasskeyProof | null> {
  const person = question.memberId === null ? null : String(question.memberId);
  const guess = await requireGuess(ctx, { kind: 'passkey', person, address: question.address });
  const response = readAnswer(credential) as AuthenticationResponseJSON | null;
  const challenge = response && (await takenChallenge(ctx, response, question));
  if (!response || !challenge) return null;
  type Row = CredentialRow & {
    id: bigint;
    member_id: bigint;
    public_key: Buffer;
    counter: bigint;
    user_id: Buffer;
    credentials_version: bigint;
  };
  const [row] = await ctx.db.query<Row>(
    `select p.id, p.member_id, p.credential_id, p.public_key, p.counter, p.transports, m.passkey_user_id as user_id,
            m.credentials_version
     from passkeys p join members m on m.id = p.member_id
     where p.credential_id = $1 and ($2::bigint is null or p.member_id = $2)`,
    [Buffer.from(response.id, 'base64url'), question.memberId],
  );
  if (!row || !belongsTo(response, row.user_id)) return null;
  const stored = { ...descriptor(row), publicKey: bytes(row.public_key), counter: Number(row.counter) };
  const requireUserVerification = question.memberId === null;
  const { verifyAuthenticationResponse } = await webAuthn();
  const verified = await attempt(ctx, () =>
    verifyAuthenticationResponse({
      response,
      ...expected(ctx, challenge),
      credential: stored,
      requireUserVerification,
    }),
  );
  if (!verified?.verified) return null;
  // Of two answers with one counter, the update lets the first pass. A device without a counter always says zero.
  const used = await ctx.db.query(
    `update passkeys set counter = $2, last_used_at = $3
     where id = $1 and (counter < $2 or (counter = 0 and $2 = 0)) returning 1`,
    [row.id, verified.authenticationInfo.newCounter, ctx.clock.now()],
  );
  if (used.length === 0) return null;
  await guess.giveBack();
  return { memberId: row.member_id, credentialsVersion: row.credentials_version };
}

function credentialsOf(ctx: Context, memberId: bigint): Promise<CredentialRow[]> {
  return ctx.db.query<CredentialRow>(
    'select credential_id, transports from passkeys where member_id = $1 order by id',
    [memberId],
  );
}

function descriptor(row: CredentialRow): { id: string; transports: string[] } {
  return { id: row.credential_id.toString('base64url'), transports: row.transports };
}

function expected(ctx: Context, challenge: string) {
  const { id, origin } = relyingParty(ctx);
  return { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id };
}

/** The answer of a browser, with the members that are read before it is verified. */
function readAnswer(text: string): { id: string; response: { clientDataJSON: string } } | null {
  try {
    const answer = JSON.parse(text) as { id?: unknown; response?: { clientDataJSON?: unknown } } | null;
    const readable = typeof answer?.id === 'string' && typeof answer.response?.clientDataJSON === 'string';
    return readable ? (answer as { id: string; response: { clientDataJSON: string } }) : null;
  } catch {
    return null;
  }
}

/** The challenge that was signed, if it was ours; it cannot be used again. */
async function takenChallenge(
  ctx: Context,
  answer: { response: { clientDataJSON: string } },
  question: PasskeyQuestion,
): Promise<string | null> {
  let challenge: unknown;
  try {
    const data = JSON.parse(Buffer.from(answer.response.clientDataJSON, 'base64url').toString()) as unknown;
    challenge = (data as { challenge?: unknown } | null)?.challenge;
  } catch {
    return null;
  }
  return typeof challenge === 'string' && (await takeChallenge(ctx, challenge, question)) ? challenge : null;
}

/** A device names its owner when nobody was named to it. The signature does not cover that name, so it must be the same. */
function belongsTo(answer: AuthenticationResponseJSON, userId: Buffer): boolean {
  const { userHandle } = answer.response;
  return typeof userHandle !== 'string' || userHandle === '' || Buffer.from(userHandle, 'base64url').equals(userId);
}

/**
 * We ask for no attestation. Certificates in an answer are refused before the library reads them: it would fetch the
 * revocation lists that they name, from addresses that the caller chose.
 */
async function hasPlainAttestation(answer: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  try {
    const attestation = decodeAttestationObject(bytes(Buffer.from(answer.response.attestationObject, 'base64url')));
    const format = attestation.get('fmt');
    return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
  } catch {
    return false;
  }
}

/** The library throws whatever is wrong with an answer. */
async function attempt<T>(ctx: Context, verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify();
  } catch (error) {
    ctx.log.info({ reason: (error as Error).message.slice(0, 200) }, 'passkey refused');
    return null;
  }
}

function bytes(buffer: Buffer): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(buffer);
}
