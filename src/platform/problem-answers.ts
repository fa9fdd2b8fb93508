// How errors are answered: which problem an error is, and its status, headers and body.

import type { Socket } from 'node:net';
import { type Commits, withoutFalsehood } from './commit-tracking.ts';
import { publicUrl } from './config.ts';
import type { Context } from './context.ts';
import { Problem, type ProblemCode } from './errors.ts';

/** Of the request that is refused. Its code goes into its log line. */
type Refused = { readonly id: string; logged: Record<string, unknown>; readonly commits: Commits | undefined };

type ReshapeBody = (body: Record<string, unknown>) => Record<string, unknown>;

/** Fastify's own errors as problems. Every other error is `internal`, without details. */
const FASTIFY_PROBLEMS: Record<string, ProblemCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'not_acceptable_request',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
  FST_ERR_CTP_EMPTY_TYPE: 'unsupported_media_type',
};

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  const known = FASTIFY_PROBLEMS[code];
  if (known) return new Problem(known);
  if (code === 'ECONNRESET' || code === 'ABORT_ERR') return new Problem('not_acceptable_request');
  return new Problem('internal');
}

/** What a request that ended with this error is answered. One of ours is logged with all that is known of it. */
export function problemOfRequest(ctx: Context, error: unknown, { id, commits }: Refused): Problem {
  const problem = problemOf(withoutFalsehood(error, commits));
  if (problem.code === 'internal') ctx.log.error({ request_id: id, err: error }, 'unhandled error');
  return problem;
}

/** Counts the refusal, and notes it for the log line. */
export function noteProblem(ctx: Context, problem: Problem, request: Refused): void {
  ctx.metrics.refusals.inc({ code: problem.code });
  request.logged = { ...request.logged, code: problem.code };
}

/** Without the link to its page, because a route may have links of its own. */
export function problemHeaders({ status, details }: Problem): Record<string, string> {
  return {
    ...(details.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(details.retryAfterSeconds) }),
    // RFC 9110 asks for a challenge with every 401. Browsers show no dialogue for this scheme.
    ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...details.headers,
  };
}

/** `reshape`: where the specification gives the operation its own shape. */
export function problemBody(problem: Problem, id: string | null, reshape?: ReshapeBody): Record<string, unknown> {
  const { errors, extra } = problem.details;
  const body = {
    success: false,
    message: problem.message,
    code: problem.code,
    request_id: id,
    ...(errors ? { errors } : {}),
    ...extra,
  };
  return reshape ? reshape(body) : body;
}

/** The page about the code. */
export function helpLink(ctx: Context, code: ProblemCode): string {
  return `<${publicUrl(ctx.config)}/docs/errors/${code}>; rel="help"`;
}

/** What is not HTTP never reaches a route: it is answered here, then the connection is closed. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const code: ProblemCode = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'not_acceptable_request';
  const status =
    code === 'request_timeout'
      ? '408 Request Timeout'
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : '400 Bad Request';
  const body = JSON.stringify(problemBody(new Problem(code), null));
  const lines = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ];
  socket.end(lines.join('\r\n'));
}
