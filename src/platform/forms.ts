// Forms sent from our pages: application/x-www-form-urlencoded, parsed only in the scopes that enable it, small and strict.
// Everywhere else only JSON is accepted.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from './errors.ts';

export const FORM_LIMIT_BYTES = 8 * 1024;
const MAX_FIELDS = 40;
const AMPERSAND = 0x26;
const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ ]*;[ ]*charset=(?:utf-8|"utf-8"))?$/i;

export type Form = ReadonlyMap<string, string>;

/** Lets the routes of this scope (an encapsulated one: `app.register`) read forms. A route may have a `bodyLimit` of its own. */
export function parseForms(scope: FastifyInstance): void {
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: FORM_LIMIT_BYTES },
    (request, body, done) => {
      const form = FORM_TYPE.test(request.headers['content-type'] ?? '') ? readForm(body as Buffer) : null;
      if (form) done(null, form);
      else done(new Problem('not_acceptable_request', { message: 'The form could not be read.' }));
    },
  );
}

/** The fields of the form of this request; none when the request had no form. */
export function formOf(request: FastifyRequest): Form {
  return request.body instanceof Map ? (request.body as Form) : new Map();
}

/** A field that may be missing, without the spaces around it. */
export function field(form: Form, name: string, maxLength = 200): string {
  return (form.get(name) ?? '').trim().slice(0, maxLength);
}

/** Counts the fields before anything is decoded: two million `&` cost no more than reading them. */
function readForm(body: Buffer): Form | null {
  if (countFields(body) > MAX_FIELDS) return null;
  const fields = new Map<string, string>();
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    for (const part of text.split('&')) {
      if (part === '') continue;
      const equals = part.indexOf('=');
      const name = decodePart(equals < 0 ? part : part.slice(0, equals));
      const value = equals < 0 ? '' : decodePart(part.slice(equals + 1));
      if (fields.has(name) || value.includes('\0')) return null;
      fields.set(name, value);
    }
    return fields;
  } catch {
    // Bytes or percent signs that are no UTF-8.
    return null;
  }
}

function countFields(body: Buffer): number {
  let fields = 1;
  for (let at = body.indexOf(AMPERSAND); at >= 0 && fields <= MAX_FIELDS; at = body.indexOf(AMPERSAND, at + 1))
    fields++;
  return fields;
}

function decodePart(part: string): string {
  return decodeURIComponent(part.replaceAll('+', ' '));
}

/**
 * Refuses a form that another site sent (CSRF). Browsers send Sec-Fetch-Site; where they do not (plain http in a local
 * network) the Origin header is checked, which a page only sends if its referrer policy allows it.
 */
export function refuseForeignForm(request: FastifyRequest): void {
  const site = request.headers['sec-fetch-site'];
  const { origin, host } = request.headers;
  const isForeign =
    site === undefined
      ? origin !== undefined && URL.parse(origin)?.host !== host
      : site !== 'same-origin' && site !== 'none';
  if (isForeign)
    throw new Problem('forbidden', { message: 'This form was sent from another site. Open the page and try again.' });
}
