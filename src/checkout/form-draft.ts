// What was typed into the form, while it travels: sealed, in the address of the page, so that Back and Reload keep it
// and no log can read it. After a payment its number stays in a cookie of that browser, for another try.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { LinkView } from './link-view.ts';

const PURPOSE = 'checkout draft';
const MAX_SEALED_LENGTH = 4_000;
const PAYER_PURPOSE = 'checkout payer';
const PAYER_COOKIE = 'simbi_payer';
const PAYER_SECONDS = 15 * 60;

/** Why a form came back, where no field is wrong. */
export type FormNotice =
  | { kind: 'form_expired' }
  | { kind: 'rate_limited' }
  | { kind: 'number_limit'; until: number }
  | { kind: 'number_blocked' }
  | { kind: 'day_limit' }
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

/** The number that this browser paid with, for the form of another try. */
export type PayerDraft = Pick<FormDraft, 'country' | 'method' | 'phone'>;

/** Keeps the number in the browser that typed it: anybody else who has the link must not see it. */
export function keepPayer(
  ctx: Context,
  reply: FastifyReply,
  { link, path }: Pick<LinkView, 'link' | 'path'>,
  draft: FormDraft,
): void {
  const payer: PayerDraft = { country: draft.country, method: draft.method, phone: draft.phone };
  const sealed = ctx.vault.seal(JSON.stringify(payer), `${PAYER_PURPOSE} ${link.id}`).toString('base64url');
  void reply.setCookie(PAYER_COOKIE, sealed, {
    path,
    maxAge: PAYER_SECONDS,
    httpOnly: true,
    secure: publicUrl(ctx.config).startsWith('https:'),
    sameSite: 'lax',
  });
}

export async function openPayer(ctx: Context, request: FastifyRequest, linkId: string): Promise<PayerDraft | null> {
  const text = request.cookies[PAYER_COOKIE];
  if (text === undefined || text.length > MAX_SEALED_LENGTH) return null;
  try {
    return JSON.parse(await ctx.vault.open(Buffer.from(text, 'base64url'), `${PAYER_PURPOSE} ${linkId}`)) as PayerDraft;
  } catch {
    return null;
  }
}
