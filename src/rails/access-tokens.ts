// The answer that gives an access token, as most operators write it.

import type { FetchToken } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { field, readJson, textOf, tokenOf } from './reading.ts';

/** `lifeMs`: how long a token lives where the operator does not say so. */
export function readAccessToken(answer: Exchange, lifeMs: number): Awaited<ReturnType<FetchToken>> {
  const said = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
  const token = tokenOf(field(said, 'access_token'));
  if (token === null) return { error: answer };
  // A number in some countries, a text in others.
  const seconds = Number(textOf(field(said, 'expires_in')) ?? '');
  return { token, validForMs: seconds > 0 ? seconds * 1000 : lifeMs };
}
