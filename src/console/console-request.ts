// One request to the console: who asks, for which holder, in which language, and the token that their forms carry.

import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deliverer } from '../callbacks/deliver.ts';
import { formatMoney } from '../checkout/language.ts';
import type { Actor } from '../holders/audit.ts';
import { findHolder, type Holder } from '../holders/holders.ts';
import {
  chooseHolder,
  findSession,
  listMemberships,
  type MemberRole,
  type MembershipRow,
  type Session,
} from '../holders/members.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentServices } from '../payments/routes.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { type Form, field, formOf, refuseForeignForm } from '../platform/forms.ts';
import { randomSecret } from '../platform/ids.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import type { SimulatedOperator } from '../sandbox/simulated-operator.ts';
import { type ConsoleLanguage, type ConsoleMessages, LANGUAGES } from './messages.ts';
import type { RequestLog } from './request-log.ts';

/** How long a proof of identity holds: dangerous actions do not ask again within it. */
export const CONFIRMED_MS = 10 * 60_000;
const MAX_COOKIE_CHARACTERS = 200;
const LANGUAGE_COOKIE_SECONDS = 365 * 24 * 3_600;

/** What the console is made of. */
export type ConsoleServices = {
  readonly ctx: PaymentsContext;
  readonly payments: PaymentServices;
  readonly deliverer: Deliverer;
  /** Null in live mode. */
  readonly operator: SimulatedOperator | null;
  readonly requestLog: RequestLog;
};

export type ConsoleRequest = {
  services: ConsoleServices;
  ctx: PaymentsContext;
  raw: FastifyRequest;
  reply: FastifyReply;
  form: Form;
  language: ConsoleLanguage;
  t: ConsoleMessages;
  /** Goes into every form of this visitor. */
  csrf: string;
  session: Session | null;
  /** The holder that a signed-in person looks at, and their role there. */
  holder: Holder | null;
  role: MemberRole | null;
  memberships: MembershipRow[];
};

export type MemberRequest = ConsoleRequest & { session: Session; actor: Actor };
export type HolderRequest = MemberRequest & { holder: Holder; role: MemberRole };

type CookieKind = 'session' | 'visitor';

/** On https the browser itself guards the cookie: no other host, no path, no plain connection can set it. */
function cookieName(ctx: PaymentsContext, kind: CookieKind): string {
  const name = kind === 'session' ? 'simbi_session' : 'simbi_visitor';
  return isSecure(ctx) ? `__Host-${name}` : name;
}

function isSecure(ctx: PaymentsContext): boolean {
  return publicUrl(ctx.config).startsWith('https:');
}

function readCookie(raw: FastifyRequest, name: string): string | null {
  for (const part of (raw.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name)
      return part
        .slice(at + 1)
        .trim()
        .slice(0, MAX_COOKIE_CHARACTERS);
  }
  return null;
}

function addCookie(
  request: Pick<ConsoleRequest, 'ctx' | 'reply'>,
  name: string,
  value: string,
  maxAge: number | null,
): void {
  const age = maxAge === null ? '' : `; Max-Age=${maxAge}`;
  const secure = isSecure(request.ctx) ? '; Secure' : '';
  const cookie = `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${age}${secure}`;
  const before = request.reply.getHeader('set-cookie');
  const list = before === undefined ? [] : Array.isArray(before) ? before : [String(before)];
  void request.reply.removeHeader('set-cookie').header('set-cookie', [...list, cookie]);
}

/** Hands out a session that was just made. What the visitor came with is forgotten: it never becomes a session. */
export function setSessionCookie(request: ConsoleRequest, token: string): void {
  addCookie(request, cookieName(request.ctx, 'session'), token, null);
  addCookie(request, cookieName(request.ctx, 'visitor'), '', 0);
}

export function clearSessionCookie(request: ConsoleRequest): void {
  addCookie(request, cookieName(request.ctx, 'session'), '', 0);
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
    t: LANGUAGES[language].messages,
    csrf: '',
    session,
    holder: null,
    role: null,
    memberships: [],
  };
  request.csrf = csrfToken(ctx, session && token ? `session ${token}` : `visitor ${visitorOf(request)}`);
  if (session) await findPlace(request, session);
  return request;
}

/** A visitor without a session still gets a name, so that their forms are theirs. */
function visitorOf(request: ConsoleRequest): string {
  const name = cookieName(request.ctx, 'visitor');
  const known = readCookie(request.raw, name);
  if (known && /^[\w-]{20,}$/.test(known)) return known;
  const fresh = randomSecret(18);
  addCookie(request, name, fresh, null);
  return fresh;
}

/** The holder that the person chose, while they still belong to it; else the first of theirs. */
async function findPlace(request: ConsoleRequest, session: Session): Promise<void> {
  request.memberships = await listMemberships(request.ctx.db, session.member.id);
  const place =
    request.memberships.find((membership) => membership.holder_id === session.holderId) ?? request.memberships[0];
  if (!place) return;
  request.holder = await findHolder(request.ctx.db, place.holder_id);
  request.role = place.role;
  if (session.holderId !== place.holder_id) await chooseHolder(request.ctx, session.id, place.holder_id);
}

function chooseLanguage(ctx: PaymentsContext, raw: FastifyRequest, reply: FastifyReply): ConsoleLanguage {
  const asked = (raw.query as Record<string, unknown>).lang;
  if (asked === 'en' || asked === 'fr') {
    addCookie({ ctx, reply }, 'lang', asked, LANGUAGE_COOKIE_SECONDS);
    return asked;
  }
  const remembered = readCookie(raw, 'lang');
  if (remembered === 'en' || remembered === 'fr') return remembered;
  return /^\s*fr\b/i.test(raw.headers['accept-language'] ?? '') ? 'fr' : 'en';
}

function csrfToken(ctx: PaymentsContext, owner: string): string {
  return createHmac('sha256', ctx.vault.deriveKey('console forms')).update(owner).digest('base64url');
}

/** Every form is the visitor's own: it carries their token and comes from our own pages. */
export function requireOwnForm(request: ConsoleRequest): void {
  refuseForeignForm(request.raw);
  const { origin } = request.raw.headers;
  if (origin !== undefined && origin !== 'null' && URL.parse(origin)?.host !== request.raw.headers.host)
    throw new Problem('forbidden', { message: request.t.foreignForm });
  const given = Buffer.from(request.form.get('csrf') ?? '');
  if (!constantTimeEqual(given, Buffer.from(request.csrf)))
    throw new Problem('forbidden', { message: request.t.foreignForm });
}

/** Whether this session may do dangerous things now: in live mode only with a second factor. */
export function isConfirmed(request: MemberRequest): boolean {
  if (request.ctx.config.mode === 'live' && !request.session.hasFactor) return false;
  return (request.session.confirmedUntil?.getTime() ?? 0) > request.ctx.clock.millis();
}

/** A path of the console, or its beginning: nothing that a visitor brings along leads anywhere else. */
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
  return formatMoney(amount, currency, request.language);
}
