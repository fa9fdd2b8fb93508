// Operations of the API. Their requests come in two ways: through Fastify like every other, and most of them as plain requests
// (plain-operations.ts). A handler sees only what both ways offer, so it cannot tell them apart.

import type { FastifyContextConfig, FastifyInstance, RouteShorthandOptions } from 'fastify';
import type { Commits } from './commit-tracking.ts';
import type { CanonicalMember } from './strict-json.ts';

export type OperationRequest = {
  readonly id: string;
  readonly method: string;
  /** The address of the caller; behind a trusted proxy, the one that the proxy names. */
  readonly ip: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Names and values as they were sent, for headers that may be repeated. */
  readonly raw: { readonly rawHeaders: readonly string[] };
  readonly routeOptions: { readonly url?: string | undefined };
  readonly body: unknown;
  readonly canonicalMembers?: readonly CanonicalMember[];
  readonly logged: Record<string, unknown>;
  readonly commits: Commits;
  admitCaller(clientId: string): void;
};

export type OperationReply = {
  header(name: string, value: string): unknown;
  headers(values: Record<string, string>): unknown;
};

export type OperationHandler = (request: OperationRequest, reply: OperationReply) => Promise<object>;

export type Operation = {
  readonly url: string;
  readonly handler: OperationHandler;
  readonly problemBody: FastifyContextConfig['problemBody'];
};

/** A request that was answered, for the log and the metrics. */
export type AnsweredRequest = Pick<OperationRequest, 'id' | 'method' | 'ip' | 'logged'> & {
  /** The path of its route, if it has one. */
  readonly route: string | undefined;
  readonly status: number;
  readonly ms: number;
};

export type Operations = {
  readonly byPath: Map<string, Operation>;
  /** Each of them is called after every answer. */
  readonly listeners: ((answered: AnsweredRequest) => void)[];
};

declare module 'fastify' {
  interface FastifyInstance {
    operations: Operations;
  }
}

/** A POST with a JSON body whose path has no parameters. */
export function addOperation(
  app: FastifyInstance,
  url: string,
  options: RouteShorthandOptions,
  handler: OperationHandler,
): void {
  app.post(url, options, handler);
  app.operations.byPath.set(url, { url, handler, problemBody: options.config?.problemBody });
}

export function whenAnswered(app: FastifyInstance, listener: (answered: AnsweredRequest) => void): void {
  app.operations.listeners.push(listener);
}
