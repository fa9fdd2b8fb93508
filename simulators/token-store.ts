// Access tokens that end after their time.

import { randomUUID } from 'node:crypto';

export interface TokenStore {
  /** A new token; earlier ones of the same owner stay good. */
  issue(owner: string, seconds: number): string;
  /** Null when there is no such token or its time is over. */
  ownerOf(token: string): string | null;
  /** Whole seconds that the token still lives. */
  secondsLeft(token: string): number;
  /** Ends a token before its time. */
  end(token: string): void;
}

export function createTokenStore(now: () => number): TokenStore {
  const tokens = new Map<string, { owner: string; endsAt: number }>();
  return {
    issue(owner, seconds) {
      const token = randomUUID().replaceAll('-', '');
      tokens.set(token, { owner, endsAt: now() + seconds * 1000 });
      return token;
    },
    ownerOf(token) {
      const found = tokens.get(token);
      return found && now() < found.endsAt ? found.owner : null;
    },
    secondsLeft: (token) => Math.max(0, Math.floor(((tokens.get(token)?.endsAt ?? 0) - now()) / 1000)),
    end: (token) => void tokens.delete(token),
  };
}

/** The token of "Bearer …"; empty when there is none. */
export function bearerOf(authorization: string | undefined): string {
  return /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
}

/** User and password of "Basic …"; null when there are none. */
export function basicOf(authorization: string | undefined): { user: string; password: string } | null {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
