// What can go wrong with an outgoing request: a kind for code, and a sentence for the reader of the delivery log.

import type { TLSSocket } from 'node:tls';

export type OutboundErrorKind =
  | 'refused_address'
  | 'unknown_host'
  | 'connection_refused'
  | 'connection_lost'
  | 'timeout'
  | 'certificate'
  | 'tls'
  | 'bad_answer'
  | 'unreachable';

/** An error whose message is already the sentence to show. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly kind: OutboundErrorKind;
  constructor(kind: OutboundErrorKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}

export const LOST = 'The receiver closed the connection before it answered.';

export function forbiddenAddress(address: string, hostname: string): string {
  const subject = address === hostname ? `The address ${address}` : `The name ${hostname} leads to ${address}, which`;
  return `${subject} is not a public address, so it is not called (an administrator can allow ranges in CALLBACK_ALLOWED_RANGES).`;
}

export function timeoutReason(timeoutMs: number, status = 0): string {
  const seconds = `${timeoutMs / 1_000} s`;
  if (status === 0) return `The receiver did not answer within ${seconds}.`;
  return `The receiver began to answer (${status}) but did not finish within ${seconds}.`;
}

export function certificateReason(socket: TLSSocket, hostname: string): string {
  const reason = String(socket.authorizationError);
  const certificate = socket.getPeerCertificate();
  if (reason === 'CERT_HAS_EXPIRED') return `The receiver's certificate expired on ${dateOf(certificate.valid_to)}.`;
  if (reason === 'CERT_NOT_YET_VALID')
    return `The receiver's certificate is only valid from ${dateOf(certificate.valid_from)}.`;
  if (reason === 'ERR_TLS_CERT_ALTNAME_INVALID') return `The receiver's certificate is not for ${hostname}.`;
  if (reason === 'DEPTH_ZERO_SELF_SIGNED_CERT' || reason === 'SELF_SIGNED_CERT_IN_CHAIN')
    return "The receiver's certificate is self-signed, so it is not trusted.";
  if (reason === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' || reason === 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY')
    return "The receiver's certificate is not signed by a known authority (is the intermediate certificate missing?).";
  return `The receiver's certificate is not valid (${reason}).`;
}

function dateOf(text: string): string {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? text : moment.toISOString().slice(0, 10);
}

export function errorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}

export function describeOutboundError(error: unknown): [OutboundErrorKind, string] {
  if (error instanceof OutboundError) return [error.kind, error.message];
  // Several addresses were tried and all failed: the first error is reported.
  if (error instanceof AggregateError && error.errors.length > 0) return describeOutboundError(error.errors[0]);
  const code = errorCode(error);
  switch (code) {
    case 'ECONNREFUSED':
      return ['connection_refused', 'The receiver refused the connection.'];
    case 'ENOTFOUND':
    case 'ENODATA':
      return ['unknown_host', 'The name of the receiver does not exist in the DNS.'];
    case 'EAI_AGAIN':
      return ['unknown_host', 'The name of the receiver could not be looked up at the moment.'];
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return ['connection_lost', LOST];
    case 'ETIMEDOUT':
      return ['timeout', 'The receiver did not accept the connection in time.'];
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return ['unreachable', 'There is no route to the receiver.'];
    case 'UND_ERR_HEADERS_OVERFLOW':
    case 'HPE_HEADER_OVERFLOW':
      return ['bad_answer', 'The headers of the answer are too long.'];
  }
  if (code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError'))
    return ['bad_answer', 'What the receiver answered is not HTTP.'];
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code === 'EPROTO')
    return ['tls', `The encrypted connection could not be made (${code}).`];
  return ['unreachable', `The receiver could not be reached (${code || 'unknown error'}).`];
}
