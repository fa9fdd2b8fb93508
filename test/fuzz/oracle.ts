// What may never be in an answer, whatever was asked.

import { type Fixture, FOREIGN_NAME } from './fixture.ts';
import type { FuzzAnswer, FuzzRequest } from './transport.ts';

const TYPES =
  /^(?:application\/json|text\/(?:html|csv|plain|markdown|css|javascript)|image\/|font\/|application\/(?:pdf|x-ndjson))/;
const FOREIGN = new RegExp(`${FOREIGN_NAME}[0-9a-z-]+`, 'g');
/** Pages that anybody may open who has their address, and the sandbox, which shows all of its phones. */
const PUBLIC = /^\/(?:pay|r|sandbox)\//;

/** What is wrong with an answer, as a sentence; null when nothing is. */
export function checkAnswer(fixture: Fixture, request: FuzzRequest, answer: FuzzAnswer): string | null {
  if (answer.status >= 500 && !request.url.startsWith('/readyz')) return `answered ${answer.status}`;
  if (answer.status < 200) return 'no answer of HTTP';
  return badBody(request, answer) ?? leak(fixture, request, answer);
}

function badBody({ method, url }: FuzzRequest, { status, headers, text }: FuzzAnswer): string | null {
  const type = headers['content-type'] ?? '';
  const mayBeEmpty = method === 'HEAD' || status === 204 || (status >= 300 && status < 400);
  if (text === '') return mayBeEmpty || (status === 200 && type !== '') ? null : `answered ${status} with nothing`;
  if (headers['content-encoding']) return null;
  if (!TYPES.test(type)) return `answered ${status} with content-type "${type}"`;
  if (type.startsWith('application/json') && !isJson(text)) return 'answered JSON that is not JSON';
  // Results while typing are a part of a page.
  const start = status === 200 && url.startsWith('/console/search/suggestions') ? /^<div / : /^<!doctype html>/i;
  if (type.startsWith('text/html') && !start.test(text)) return 'answered a page that is not one';
  const isApi = url.startsWith('/api/') && !type.startsWith('application/json');
  return isApi ? `answered an operation of the API with ${type}` : null;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** References of another business, but for those that the request itself named. */
function leak(fixture: Fixture, request: FuzzRequest, { headers, text }: FuzzAnswer): string | null {
  if (request.caller === 'admin' || PUBLIC.test(request.url)) return null;
  const asked = `${safeDecode(request.url)} ${JSON.stringify(request.headers)} ${safeDecode(request.body?.toString('utf8') ?? '')}`;
  const seen = `${text} ${JSON.stringify(headers)}`;
  const names = [...fixture.foreign.texts, ...[...seen.matchAll(FOREIGN)].map(([name]) => name)];
  const shown = names.find((name) => seen.includes(name) && !asked.includes(name));
  return shown === undefined ? null : `showed ${shown}, which belongs to another account`;
}

function safeDecode(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}
