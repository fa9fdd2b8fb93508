// The developer who reads: whose keys stand in the examples, and who sends a request from the reference. Console and API build
// it; this module only uses it.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Html, html, printHtml, trusted } from '../platform/html.ts';
import { PLACEHOLDERS, type Sample, type SecurityKind } from './reference.ts';

export type DeveloperKeys = {
  clientId: string;
  sender: string;
  /** Null: this session must confirm who it is before it sees secrets. */
  secretKey: string | null;
  callbackSecret: string | null;
};

/** A request of the reference. `body` is the JSON of a request that is not signed, or the params of one that is. */
export type TriedCall = { method: string; url: string; security: SecurityKind; body: unknown };
export type TriedAnswer = {
  /** The body as it was sent, signed. */
  sent: unknown;
  status: number;
  requestId: string | null;
  text: string;
};

export type Developer = {
  id: string;
  keys: DeveloperKeys;
  /** Hidden fields of every form: whose it is, and for which account it was shown. */
  formFields: Html;
  /** Refuses a form that another site sent, or that belongs to somebody else or to another account of the same person. */
  requireOwnForm(): void;
  send(call: TriedCall): Promise<TriedAnswer>;
};

export type DeveloperAccess = {
  /** Null for everybody who is not signed in as a developer, and for everybody in live mode. */
  find(request: FastifyRequest, reply: FastifyReply): Promise<Developer | null>;
  /** Programs that send a signed request. */
  samples(keys: Readonly<Record<'clientId' | 'sender' | 'secretKey', string>>, path: string, params: unknown): Sample[];
};

/** A value that means itself between quotes, in every language of the examples. */
const PLAIN = /^[\w .=+/-]+$/;

/** Whether a page has something to fill in. */
export function hasPlaceholders(page: Html): boolean {
  return Object.values(PLACEHOLDERS).some((placeholder) => printHtml(page).includes(placeholder));
}

/** The page with the reader's keys in its examples. */
export function fillIn(page: Html, keys: DeveloperKeys): Html {
  let markup = printHtml(page);
  for (const name of Object.keys(PLACEHOLDERS) as (keyof DeveloperKeys)[]) {
    const value = keys[name];
    if (value !== null && PLAIN.test(value))
      markup = markup.replaceAll(PLACEHOLDERS[name], () => printHtml(html`${value}`));
  }
  return trusted(markup);
}

/** Says whose keys the page shows, or how to see one's own. */
export function keysNote(developer: Developer | null): Html {
  if (developer === null)
    return html`
      <p class="keys-note">
        The examples have placeholders for your keys. <a href="/console">Sign in</a>${' '}
        as a developer to see your own sandbox keys in them.
      </p>
    `;
  const { sender, secretKey } = developer.keys;
  const text = html`Examples are filled in with the sandbox keys of <b>${sender}</b>. Only you see them.`;
  const next = encodeURIComponent('/console/integrations');
  return html`
    <p class="keys-note">
      ${text}
      ${secretKey === null && html` The secret key is shown after you <a href="/console/confirm?next=${next}">confirm it’s you</a>.`}
    </p>
  `;
}

/** The note below the title of the page. */
export function withNote(page: Html, note: Html): Html {
  return trusted(printHtml(page).replace('</h1>', () => `</h1>${printHtml(note)}`));
}
