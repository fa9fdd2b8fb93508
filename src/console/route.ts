// A route of the console: its path, who may use it, and its handler. routes.ts has the table of all of them; the
// dispatcher checks it before a handler runs, so no page decides by itself who sees it.

import type { FastifyReply } from 'fastify';
import { type MemberRole, ROLES } from '../holders/members.ts';
import { forHolder } from '../platform/context.ts';
import type { ConsoleRequest, HolderRequest, MemberRequest } from './console-request.ts';

/** `anyone` needs no session, `member` any, `admin` that of an admin of the gateway; a list names roles at the holder. */
export type Access = 'anyone' | 'member' | 'admin' | readonly MemberRole[];

export type ConsoleRoute = {
  method: 'GET' | 'POST';
  /** Below /console. */
  path: string;
  access: Access;
  /** Asks for the second factor (or the password) again when that was not done in the last minutes. */
  confirm: boolean;
  /** A form that only stops or takes back: it works while the holder is suspended or closed. Every other form is refused then. */
  whenSuspended: boolean;
  /** Works for a member of a live gateway who has neither a password nor a passkey yet. Everything else leads to /welcome. */
  withoutCredential: boolean;
  /** The path of the page with the form. It is shown again, with what was typed, when the form is refused. */
  formOn: string | null;
  /** Its form carries secrets of an operator, which no page repeats: after a proof they are typed again. */
  secrets: boolean;
  /** Its form carries a file. It is only read for a visitor with a session. */
  largeForm: boolean;
  /** Its form carries a file of at most this many bytes, which is kept on the disk; only for a visitor with a session. 0: none. */
  uploadBytes: number;
  handle(request: ConsoleRequest): Promise<FastifyReply>;
};

export const EVERYONE: readonly MemberRole[] = ROLES;
export const OWNER: readonly MemberRole[] = ['owner'];
export const BUILDERS: readonly MemberRole[] = ['owner', 'developer'];
export const TREASURERS: readonly MemberRole[] = ['owner', 'finance'];
export const MAKERS: readonly MemberRole[] = ['owner', 'developer', 'finance'];

type Options = {
  confirm?: true;
  whenSuspended?: true;
  withoutCredential?: true;
  formOn?: string;
  secrets?: true;
  largeForm?: true;
  uploadBytes?: number;
};
type Flags = 'confirm' | 'whenSuspended' | 'withoutCredential' | 'formOn' | 'secrets' | 'largeForm' | 'uploadBytes';

export function forAnyone(
  method: ConsoleRoute['method'],
  path: string,
  handle: (request: ConsoleRequest) => Promise<FastifyReply>,
): ConsoleRoute {
  return { method, path, access: 'anyone', ...flagsOf({}), handle };
}

/** For every member with a session, whatever their role. */
export function forMember(
  method: ConsoleRoute['method'],
  path: string,
  handle: (request: MemberRequest) => Promise<FastifyReply>,
  options: Options = {},
): ConsoleRoute {
  return {
    method,
    path,
    access: 'member',
    ...flagsOf(options),
    handle: (request) => handle(known(request)),
  };
}

export function forAdmin(
  method: ConsoleRoute['method'],
  path: string,
  handle: (request: MemberRequest) => Promise<FastifyReply>,
  options: Options = {},
): ConsoleRoute {
  return {
    method,
    path,
    access: 'admin',
    ...flagsOf(options),
    handle: (request) => handle(known(request)),
  };
}

/** For members with one of these roles at the holder whose pages they see. */
export function forRoles(
  access: readonly MemberRole[],
  method: ConsoleRoute['method'],
  path: string,
  handle: (request: HolderRequest) => Promise<FastifyReply>,
  options: Options = {},
): ConsoleRoute {
  return {
    method,
    path,
    access,
    ...flagsOf(options),
    handle(request) {
      const { holder, role } = request;
      if (!holder || !role) throw new Error('a route of holders was served without a holder');
      // From here on a page has no other database than that of its holder.
      const ctx = forHolder(request.ctx, holder.id);
      return handle({ ...known(request), holder, role, ctx, services: { ...request.services, ctx } });
    },
  };
}

function flagsOf(options: Options): Pick<ConsoleRoute, Flags> {
  return {
    confirm: options.confirm ?? false,
    whenSuspended: options.whenSuspended ?? false,
    withoutCredential: options.withoutCredential ?? false,
    formOn: options.formOn ?? null,
    secrets: options.secrets ?? false,
    largeForm: options.largeForm ?? false,
    uploadBytes: options.uploadBytes ?? 0,
  };
}

function known(request: ConsoleRequest): MemberRequest {
  const { session } = request;
  if (!session) throw new Error('a route of members was served without a session');
  return { ...request, session, actor: { memberId: session.member.id, name: session.member.email } };
}
