// What makes a form of the hosted page safe without cookies: a signed token that names link, attempt and time (one form
// is one attempt, however often it is sent), and a sealed draft that carries what was typed in the address.

import { createHmac, randomBytes } from 'node:crypto';
import type { Context } from '../platform/context.ts';
import { constantTimeEqual } from '../platform/secrets.ts';

const TOKEN_PURPOSE = 'checkout form token';
const DRAFT_PURPOSE = 'checkout draft';
const TIME_BYTES = 6;
const RANDOM_BYTES = 8;
const FORM_ID_BYTES = TIME_BYTES + 1 + RANDOM_BYTES;
const MAC_BYTES = 12;
/** A page that stood open longer shows its form again instead of charging. */
const TOKEN_LIFE_MS = 12 * 3_600_000;
const MAX_DRAFT_LENGTH = 4_000;
const MAX_NUMBER = 255;

/** `id` is unique to the form that was shown; `number` is how many attempts the link had by then. */
export type FormToken = { id: Buffer; number: number };

export function signForm(ctx: Context, linkId: string, attempts: number): string {
  const id = Buffer.alloc(FORM_ID_BYTES);
  id.writeUIntBE(ctx.clock.millis(), 0, TIME_BYTES);
  id.writeUInt8(Math.min(attempts, MAX_NUMBER), TIME_BYTES);
  randomBytes(RANDOM_BYTES).copy(id, TIME_BYTES + 1);
  return Buffer.concat([id, sign(ctx, linkId, id)]).toString('base64url');
}

/** The token of a form that we made for this link and that is not too old; else null. */
export function readFormToken(ctx: Context, linkId: string, text: string): FormToken | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== FORM_ID_BYTES + MAC_BYTES) return null;
  const id = bytes.subarray(0, FORM_ID_BYTES);
  if (!constantTimeEqual(bytes.subarray(FORM_ID_BYTES), sign(ctx, linkId, id))) return null;
  const age = ctx.clock.millis() - id.readUIntBE(0, TIME_BYTES);
  return age > TOKEN_LIFE_MS ? null : { id, number: id.readUInt8(TIME_BYTES) };
}

function sign(ctx: Context, linkId: string, id: Buffer): Buffer {
  const key = ctx.vault.deriveKey(TOKEN_PURPOSE);
  return createHmac('sha256', key).update(linkId).update(id).digest().subarray(0, MAC_BYTES);
}

/** Why a form came back, where the fields themselves do not tell. */
export type FormNotice =
  | { kind: 'form_old' }
  | { kind: 'too_many' }
  | { kind: 'number_tired'; until: number }
  | { kind: 'operator_down'; method: string };

/** What was typed. It travels in the address, sealed, so that Back and Reload keep it and no log can read it. */
export type FormDraft = {
  country: number | null;
  method: string;
  phone: string;
  amount: string;
  firstName: string;
  lastName: string;
  email: string;
  notice: FormNotice | null;
};

export function sealDraft(ctx: Context, linkId: string, draft: FormDraft): string {
  return ctx.vault.seal(JSON.stringify(draft), `${DRAFT_PURPOSE} ${linkId}`).toString('base64url');
}

export function openDraft(ctx: Context, linkId: string, text: unknown): FormDraft | null {
  if (typeof text !== 'string' || text === '' || text.length > MAX_DRAFT_LENGTH) return null;
  try {
    // Sealed by us for this very link: whatever opens is a draft.
    return JSON.parse(ctx.vault.open(Buffer.from(text, 'base64url'), `${DRAFT_PURPOSE} ${linkId}`)) as FormDraft;
  } catch {
    return null;
  }
}
