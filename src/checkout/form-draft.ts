// What was typed into the form, while it travels: sealed, in the address of the page, so that Back and Reload keep it
// and no log can read it.

import type { Context } from '../platform/context.ts';

const PURPOSE = 'checkout draft';
const MAX_SEALED_LENGTH = 4_000;

/** Why a form came back, where no field is wrong. */
export type FormNotice =
  | { kind: 'form_expired' }
  | { kind: 'rate_limited' }
  | { kind: 'number_limit'; until: number }
  | { kind: 'operator_down'; method: string };

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
  return ctx.vault.seal(JSON.stringify(draft), `${PURPOSE} ${linkId}`).toString('base64url');
}

export async function openDraft(ctx: Context, linkId: string, text: unknown): Promise<FormDraft | null> {
  if (typeof text !== 'string' || text === '' || text.length > MAX_SEALED_LENGTH) return null;
  try {
    // The seal is bound to this link, so whatever opens is a draft that we wrote for it.
    return JSON.parse(await ctx.vault.open(Buffer.from(text, 'base64url'), `${PURPOSE} ${linkId}`)) as FormDraft;
  } catch {
    return null;
  }
}
