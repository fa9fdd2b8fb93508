// Members in the console of a test gateway: each with a session, reading pages and sending forms like a browser without
// scripts.

import { COMMAND_LINE } from '../src/holders/audit.ts';
import {
  addMember,
  chooseHolder,
  confirmSession,
  createSession,
  findSession,
  type Member,
  type MemberRole,
} from '../src/holders/members.ts';
import type { TestGateway } from './gateway.ts';

export type ConsoleAnswer = { status: number; text: string; location: string | null; headers: Headers };

export type Person = {
  member: Member;
  cookie: string;
  csrf: string;
  get(path: string, headers?: Record<string, string>): Promise<ConsoleAnswer>;
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<ConsoleAnswer>;
};

const CONFIRMED_MS = 10 * 60_000;

/** A member with a role at the holder, signed in. `confirmed`: their identity was proved just now. */
export async function addPerson(
  gateway: TestGateway,
  holderId: bigint,
  role: MemberRole,
  email = `${role}@example.org`,
  options: { confirmed?: boolean; admin?: boolean } = {},
): Promise<Person> {
  const member = await addMember(gateway.ctx, COMMAND_LINE, { email, name: email, holderId, role });
  if (options.admin) await gateway.ctx.db.query('update members set is_admin = true where id = $1', [member.id]);
  return signIn(gateway, member, { holderId, confirmed: options.confirmed ?? true });
}

/** A session for a member that exists. */
export async function signIn(
  gateway: TestGateway,
  member: Member,
  options: { holderId?: bigint; confirmed?: boolean } = {},
): Promise<Person> {
  const { ctx } = gateway;
  const { token } = await createSession(ctx, member.id, { userAgent: 'test', address: '127.0.0.1' });
  const session = await findSession(ctx, token);
  if (!session) throw new Error('the session that was just made is not there');
  if (options.holderId) await chooseHolder(ctx, session.id, options.holderId);
  if (options.confirmed ?? true) await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  const cookie = `simbi_session=${token}`;
  const person = visitor(gateway, cookie);
  const account = await person.get('/console/account');
  return { ...person, ...visitor(gateway, cookie, csrfOf(account.text)), member, cookie, csrf: csrfOf(account.text) };
}

export function csrfOf(page: string): string {
  return /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

/** Requests with a cookie, and with the form token of its owner. */
export function visitor(gateway: TestGateway, cookie: string, csrf = ''): Pick<Person, 'get' | 'post'> {
  async function ask(path: string, options: RequestInit): Promise<ConsoleAnswer> {
    const answer = await fetch(gateway.url + path, { redirect: 'manual', ...options });
    return {
      status: answer.status,
      text: await answer.text(),
      location: answer.headers.get('location'),
      headers: answer.headers,
    };
  }
  return {
    get: (path, headers = {}) => ask(path, { headers: { cookie, ...headers } }),
    post: (path, fields = {}, headers = {}) =>
      ask(path, {
        method: 'POST',
        body: new URLSearchParams({ csrf, ...fields }).toString(),
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      }),
  };
}

/** The hidden fields of the form that carries what a page showed. */
export function hiddenFieldsOf(page: string): Record<string, string> {
  const form = page.split('<form').find((each) => each.includes('name="shown"')) ?? '';
  const fields = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, unescapeHtml(value)]));
}

function unescapeHtml(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}

/** Fills in the form of a payout and confirms what is then shown. */
export async function payOut(
  person: Pick<Person, 'post'>,
  fields: Record<string, string>,
  headers?: Record<string, string>,
): Promise<ConsoleAnswer> {
  const shown = await person.post('/console/payouts', fields, headers);
  return shown.status === 200 ? person.post('/console/payouts', hiddenFieldsOf(shown.text), headers) : shown;
}

/** Checks a list of payouts and orders what is then shown. Other fields, such as `confirm_repeats`, are sent with the order. */
export async function importPayouts(
  person: Pick<Person, 'post'>,
  fields: { csv: string; name?: string; confirm_repeats?: string },
  headers?: Record<string, string>,
): Promise<ConsoleAnswer> {
  const shown = await person.post('/console/payouts/check', fields, headers);
  return person.post('/console/payouts/import', { ...fields, ...hiddenFieldsOf(shown.text) }, headers);
}
