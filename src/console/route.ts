// A route of the console: its address, who may use it, and what it does. The table of all of them is routes.ts; the
// dispatcher checks what the table says before a handler runs, so no page decides for itself who sees it.

import type { FastifyReply } from 'fastify';
import { type MemberRole, ROLES } from '../holders/members.ts';
import type { ConsoleRequest, HolderRequest, MemberRequest } from './console-request.ts';

/** `anyone` is not signed in; `member` is any signed-in person; `operator` runs the gateway; roles are those at the holder. */
export type Access = 'anyone' | 'member' | 'admin' | readonly MemberRole[];

export type ConsoleRoute = {
  method: 'GET' | 'POST';
  /** Below /console. */
  path: string;
  access: Access;
  /** Asks for the second factor (or the password) again when that was not done in the last minutes. */
  confirm: boolean;
  handle(request: ConsoleRequest): Promise<FastifyReply>;
};

export const EVERYONE: readonly MemberRole[] = ROLES;
export const OWNER: readonly MemberRole[] = ['owner'];
export const BUILDERS: readonly MemberRole[] = ['owner', 'developer'];
export const TREASURERS: readonly MemberRole[] = ['owner', 'finance'];
export const MAKERS: readonly MemberRole[] = ['owner', 'developer', 'finance'];

type Options = { confirm?: true };

export function forAnyone(
  method: ConsoleRoute['method'],
  path: string,
  handle: (request: ConsoleRequest) => Promise<FastifyReply>,
): ConsoleRoute {
  return { method, path, access: 'anyone', confirm: false, handle };
}

/** For a signed-in person, whatever their role. */
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
    confirm: options.confirm ?? false,
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
    confirm: options.confirm ?? false,
    handle: (request) => handle(known(request)),
  };
}

/** For people with one of these roles at the holder they look at. */
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
    confirm: options.confirm ?? false,
    handle(request) {
      const { holder, role } = request;
      if (!holder || !role) throw new Error('a route of holders was served without a holder');
      return handle({ ...known(request), holder, role });
    },
  };
}

function known(request: ConsoleRequest): MemberRequest {
  const { session } = request;
  if (!session) throw new Error('a route of members was served without a session');
  return { ...request, session, actor: { memberId: session.member.id, name: session.member.email } };
}
