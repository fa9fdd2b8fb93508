// 429 with the headers of draft-ietf-httpapi-ratelimit-headers.

import { Problem } from './errors.ts';
import type { RateLimitResult } from './rate-limit.ts';

export function tooManyRequests(limit: RateLimitResult, policy: string): Problem {
  return new Problem('rate_limited', {
    retryAfterSeconds: limit.resetSeconds,
    headers: rateLimitHeaders(limit, policy),
  });
}

export function rateLimitHeaders(limit: RateLimitResult, policy: string): Record<string, string> {
  if (limit.limit === 0) return {};
  return {
    RateLimit: `"${policy}";r=${limit.remaining};t=${limit.resetSeconds}`,
    'RateLimit-Policy': `"${policy}";q=${limit.limit}`,
  };
}
