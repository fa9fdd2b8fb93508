// One request to the console: the member, the holder, the language, and the token of the forms.

import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../holders/audit.ts';
import { findHolder, type Holder } from '../holders/holders.ts';
import { KNOWN_BROWSER_MS } from '../holders/known-browsers.ts';
import {
  chooseHolder,
  findSession,
  listMemberships,
  type MemberRole,
  type MembershipRow,
  type Session,
} from '../holders/members.ts';
import { listUnreadNotices, type SecurityNotice } from '../holders/notices.ts';
import type { RequestOrigin, SignedInMember } from '../holders/sessions.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { preferredLanguage } from '../platform/accept-language.ts';
import { publicUrl } from '../platform/config.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Form, field, formOf, refuseForeignForm } from '../platform/forms.ts';
import { THEME_COOKIE, THEMES, type Theme, themeOf } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { randomSecret } from '../platform/ids.ts';
import { numberLocale } from '../platform/locales.ts';
import { formatMoney } from '../platform/money.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import type { ConsoleServices } from './console-services.ts';
import { type ConsoleLanguage, type ConsoleMessages, LANGUAGE_CODES, LANGUAGES } from './messages.ts';

/** How long a proof of identity holds: dangerous actions do not ask again within it. */
export const CONFIRMED_MS = 10 * 60_000;
const MAX_COOKIE_CHARACTERS = 200;
const RANDOM_TOKEN = /^[\w-]{20,}$/;
const CHOICE_COOKIE_SECONDS = 365 * 24 * 3_600;

export type ConsoleRequest = {
  services: ConsoleServices;
  ctx: PaymentsContext;
  raw: FastifyRequest;
  reply: FastifyReply;
  form: Form;
  language: ConsoleLanguage;
  theme: Theme;
  t: ConsoleMessages;
  /** Goes into every form of this visitor. */
  csrf: string;
  /** That token, and those of forms that were shown before the keys changed. */
  acceptedCsrf: string[];
  session: Session | null;
  /** The holder whose pages a member sees, and the member's role there. */
  holder: Holder | null;
  role: MemberRole | null;
  memberships: MembershipRow[];
  /** What the member has not read yet about their own account. */
  notices: SecurityNotice[];
  /** A form that was refused, while its page is shown again: the form keeps what was typed and says what is wrong. */
  refused: RefusedForm | null;
};

/**
 * `action` is the path of the form below /console, without a query. `errors` are by the names of its fields. `isSaid`: the form is
 * on the page and says it.
 */
export type RefusedForm = { action: string; status: number; sentence: string; errors: FieldErrors; isSaid: boolean };

export type MemberRequest = ConsoleRequest & { session: Session; actor: Actor };
export type HolderRequest = MemberRequest & { holder: Holder; role: MemberRole };

type CookieKind = 'session' | 'visitor' | 'browser' | 'device';

/** On https the name begins with __Host-: browsers then refuse to set it from another host, a path or plain http. */
function cookieName(ctx: PaymentsContext, kind: CookieKind): string {
  return isSecure(ctx) ? `__Host-simbi_${kind}` : `simbi_${kind}`;
}

function isSecure(ctx: PaymentsContext): boolean {
  return publicUrl(ctx.config).startsWith('https:');
}

function readCookie(raw: FastifyRequest, name: string): string | null {
  const value = raw.cookies[name];
  return value && value.length <= MAX_COOKIE_CHARACTERS ? value : null;
}

/** Without an age the cookie ends with the browser session. */
function setCookie(
  { ctx, reply }: Pick<ConsoleRequest, 'ctx' | 'reply'>,
  name: string,
  value: string,
  maxAge?: number,
) {
  const age = maxAge === undefined ? {} : { maxAge };
  void reply.setCookie(name, value, { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(ctx), ...age });
}

export function readOwnCookie({ ctx, raw }: ConsoleRequest, kind: CookieKind): string | null {
  return readCookie(raw, cookieName(ctx, kind));
}

export function setOwnCookie(request: ConsoleRequest, kind: CookieKind, value: string, maxAge: number): void {
  setCookie(request, cookieName(request.ctx, kind), value, maxAge);
}

/** Sets the cookie of a session that was just made, and drops the visitor's. */
export function setSessionCookie(request: ConsoleRequest, token: string): void {
  setCookie(request, cookieName(request.ctx, 'session'), token);
  setCookie(request, cookieName(request.ctx, 'visitor'), '', 0);
}

/** The token by which notices know a browser that was signed in with before. It outlives sessions and is renewed with each. */
export function deviceToken(request: ConsoleRequest): string {
  const name = cookieName(request.ctx, 'device');
  const known = readCookie(request.raw, name);
  const token = known && RANDOM_TOKEN.test(known) ? known : randomSecret();
  setCookie(request, name, token, KNOWN_BROWSER_MS / 1_000);
  return token;
}

export function clearSessionCookie(request: ConsoleRequest): void {
  setCookie(request, cookieName(request.ctx, 'session'), '', 0);
}

/** Whether the visitor has a session, before their form is read. */
export async function hasSession(ctx: PaymentsContext, raw: FastifyRequest): Promise<boolean> {
  const token = readCookie(raw, cookieName(ctx, 'session'));
  return token !== null && (await findSession(ctx, token, true)) !== null;
}

export async function openRequest(
  services: ConsoleServices,
  raw: FastifyRequest,
  reply: FastifyReply,
): Promise<ConsoleRequest> {
  const { ctx } = services;
  const token = readCookie(raw, cookieName(ctx, 'session'));
  const session = token ? await findSession(ctx, token, raw.headers['x-live'] !== undefined) : null;
  const language = chooseLanguage(ctx, raw, reply);
  const request: ConsoleRequest = {
    services,
    ctx,
    raw,
    reply,
    form: formOf(raw),
    language,
    theme: chooseTheme(ctx, raw, reply),
    t: await LANGUAGES[language].load(),
    csrf: '',
    acceptedCsrf: [],
    session,
    holder: null,
    role: null,
    memberships: [],
    notices: session?.hasUnreadNotices ? await listUnreadNotices(ctx.db, session.member.id) : [],
    refused: null,
  };
  request.acceptedCsrf = csrfTokens(ctx, session && token ? `session ${token}` : `visitor ${visitorOf(request)}`);
  request.csrf = request.acceptedCsrf[0] ?? '';
  if (session) await findMembership(request, session);
  return request;
}

/** A visitor without a session gets an id, to which the token of their forms belongs. */
function visitorOf(request: ConsoleRequest): string {
  const name = cookieName(request.ctx, 'visitor');
  const known = readCookie(request.raw, name);
  if (known && RANDOM_TOKEN.test(known)) return known;
  const fresh = randomSecret(18);
  setCookie(request, name, fresh);
  return fresh;
}

/** The holder that the member chose, while they still belong to it; else the first of theirs. */
async function findMembership(request: ConsoleRequest, session: Session): Promise<void> {
  request.memberships = await listMemberships(request.ctx.db, session.member.id);
  const chosen = request.memberships.find((membership) => membership.holder_id === session.holderId);
  const membership = chosen ?? request.memberships[0];
  if (!membership) return;
  request.holder = await findHolder(request.ctx.db, membership.holder_id);
  request.role = membership.role;
  if (session.holderId !== membership.holder_id) await chooseHolder(request.ctx, session.id, membership.holder_id);
}

function chooseLanguage(ctx: PaymentsContext, raw: FastifyRequest, reply: FastifyReply): ConsoleLanguage {
  const asked = asLanguage((raw.query as Record<string, unknown>).lang);
  if (asked) {
    setCookie({ ctx, reply }, 'lang', asked, CHOICE_COOKIE_SECONDS);
    return asked;
  }
  const remembered = asLanguage(readCookie(raw, 'lang'));
  if (remembered) return remembered;
  return asLanguage(preferredLanguage(raw.headers['accept-language'], LANGUAGE_CODES)) ?? 'en';
}

/** As the language: an address can ask for a theme, and a cookie remembers it. */
function chooseTheme(ctx: PaymentsContext, raw: FastifyRequest, reply: FastifyReply): Theme {
  const asked = THEMES.find((theme) => theme === (raw.query as Record<string, unknown>).theme);
  if (asked === undefined) return themeOf(raw);
  setCookie({ ctx, reply }, THEME_COOKIE, asked, asked === 'system' ? 0 : CHOICE_COOKIE_SECONDS);
  return asked;
}

function asLanguage(value: unknown): ConsoleLanguage | null {
  return LANGUAGE_CODES.find((code) => code === value) ?? null;
}

function csrfTokens(ctx: PaymentsContext, owner: string): string[] {
  return ctx.vault
    .deriveKeys('console forms')
    .map((key) => createHmac('sha256', key).update(owner).digest('base64url'));
}

/** Refuses a form that does not carry the visitor's token or was sent from another site. */
export function requireOwnForm(request: ConsoleRequest): void {
  refuseForeignForm(request.raw);
  const { origin } = request.raw.headers;
  if (origin !== undefined && origin !== 'null' && URL.parse(origin)?.host !== request.raw.headers.host)
    throw new Problem('forbidden', { message: request.t.formExpired });
  const given = Buffer.from(request.form.get('csrf') ?? '');
  if (!request.acceptedCsrf.some((token) => constantTimeEqual(given, Buffer.from(token))))
    throw new Problem('forbidden', { message: request.t.formExpired });
}

/** The field of a form with the id of the holder whose pages were shown. */
export const SHOWN_FOR = 'shown_for';

/**
 * Refuses a form that was shown for another holder than the one it would now be done for: a member of two may have chosen the
 * other in a second window, or was removed from the first meanwhile.
 */
export function requireShownHolder({ form, holder, t }: ConsoleRequest): void {
  const shown = form.get(SHOWN_FOR);
  if (shown === undefined || !holder || shown === String(holder.id)) return;
  throw new Problem('forbidden', { status: 409, message: t.otherHolder(holder.name) });
}

/** Refuses a form of a holder that is suspended or closed. */
export function requireActive({ t, holder }: ConsoleRequest): void {
  if (holder?.status !== 'active') throw new Problem('account_suspended', { message: t.home.notActive });
}

/**
 * Whether this session may do dangerous things now: in live mode only with a second factor. A member of a sandbox who has
 * nothing to prove with is not asked: the only way on would be a terminal.
 */
export function isConfirmed({ ctx, session }: ConsoleRequest): boolean {
  if (!session || (ctx.config.mode === 'live' && !session.hasFactor)) return false;
  if (ctx.config.mode === 'sandbox' && !session.hasFactor && !session.hasPassword) return true;
  return (session.confirmedUntil?.getTime() ?? 0) > ctx.clock.millis();
}

/**
 * Whether this session may set up a second factor: the first one with the password or a fresh login link, a further one
 * with a proof of the factor that is there.
 */
export function mayEnrol(request: ConsoleRequest): boolean {
  const { ctx, session } = request;
  if (!session) return false;
  if (session.hasFactor) return isConfirmed(request);
  return (session.enrolUntil?.getTime() ?? 0) > ctx.clock.millis();
}

export function originOf({ raw, language }: ConsoleRequest): RequestOrigin {
  return { address: addressOf(raw), userAgent: String(raw.headers['user-agent'] ?? ''), language };
}

/** The member as the operations on their own account know them. */
export function signedInMember(request: MemberRequest): SignedInMember {
  const { actor, session, holder } = request;
  return {
    actor,
    memberId: session.member.id,
    sessionId: session.id,
    holderId: holder?.id ?? null,
    from: originOf(request),
  };
}

/** A path of the console; for anything else the home page, so that no link can redirect to another site. */
export function safePath(value: unknown): string {
  if (typeof value !== 'string' || value.length > 500) return '/console';
  return /^\/console(?:[/?][\w\-./?=&%+~:,@]*)?$/.test(value) && !value.includes('//') ? value : '/console';
}

export function queryOf(request: ConsoleRequest, name: string, maxLength = 200): string {
  const value = (request.raw.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value.trim().slice(0, maxLength).replaceAll('\0', '') : '';
}

export function paramOf(request: ConsoleRequest, name: string): string {
  return (request.raw.params as Record<string, string | undefined>)[name] ?? '';
}

export function idOf(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new Problem('not_found');
  return BigInt(text);
}

export function fieldOf(request: ConsoleRequest, name: string, maxLength?: number): string {
  return field(request.form, name, maxLength);
}

/** A day as a date field sends it, at its beginning in UTC. */
export function readDay(text: string): Date | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(day.getTime()) ? null : day;
}

export function money(request: ConsoleRequest, amount: bigint, currency: string): string {
  return formatMoney(amount, currency, numberLocale(request.language));
}
