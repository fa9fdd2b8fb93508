// The first page for browsers, and the small files that browsers, crawlers and security researchers ask every host for.

import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Config, publicUrl, shownBrand } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { sendCompressed, sendPage } from '../platform/html.ts';
import { type HttpServer, isBrowser } from '../platform/http.ts';
import { favicon } from '../ui/brand.ts';
import { frontPage } from './front-page.ts';
import { frontMessages } from './messages.ts';

const DAY_SECONDS = 24 * 3_600;
/** The page is public, so the database is asked at most this often. */
const HEALTH_MS = 2_000;
const SECURITY_VALID_MS = 180 * DAY_SECONDS * 1_000;
const PACKAGE = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };

export type FrontOptions = {
  /** The address of the sample payment link, in a sandbox that has one. */
  sampleLink: string | null;
  /** Whether this sandbox catches its mails. */
  hasMails: boolean;
};

export function frontRoutes(app: HttpServer, ctx: Context, { sampleLink, hasMails }: FrontOptions): void {
  const { config } = ctx;
  const isHealthy = healthCheck(ctx);
  app.get('/', async (request, reply) => {
    void reply.header('Vary', 'Accept');
    if (!isBrowser(request)) return describeGateway(config);
    const t = frontMessages(request.headers['accept-language']);
    const facts = { version: PACKAGE.version, isHealthy: await isHealthy(), sampleLink, hasMails };
    return sendPage(request, reply, frontPage(config, t, facts));
  });
  const picture = favicon(config);
  const sendPicture = (request: FastifyRequest, reply: FastifyReply) =>
    sendCompressed(
      request,
      reply.type('image/svg+xml').header('Cache-Control', `public, max-age=${DAY_SECONDS}`),
      picture,
    );
  app.get('/favicon.svg', sendPicture);
  // Asked for by browsers that read no page of ours first; all of this decade read SVG.
  app.get('/favicon.ico', sendPicture);
  app.get('/robots.txt', async (_request, reply) => sendText(reply, robots()));
  app.get('/.well-known/security.txt', async (_request, reply) => {
    const text = securityText(ctx);
    if (text === null) throw new Problem('not_found');
    return sendText(reply, text);
  });
}

/** What a program finds at the address of the gateway. */
function describeGateway(config: Config) {
  const base = publicUrl(config);
  return {
    success: true,
    message: `${shownBrand(config)} is running.`,
    data: { mode: config.mode, docs: `${base}/docs`, openapi: `${base}/openapi.json`, console: `${base}/console` },
  };
}

function healthCheck(ctx: Context): () => Promise<boolean> {
  let last: { at: number; answer: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (!last || now - last.at > HEALTH_MS) {
      const answer = ctx.db.query('select 1').then(
        () => true,
        () => false,
      );
      last = { at: now, answer };
    }
    return last.answer;
  };
}

function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/plain; charset=utf-8').header('Cache-Control', `public, max-age=${DAY_SECONDS}`).send(text);
}

/** Search engines may read the documents. Payers' pages and the console are nobody else's business. */
function robots(): string {
  return 'User-agent: *\nAllow: /docs\nAllow: /$\nDisallow: /\n';
}

/** RFC 9116. Without a contact there is no such file. */
function securityText({ config, clock }: Context): string | null {
  if (config.securityContact === '') return null;
  const expires = new Date(clock.millis() + SECURITY_VALID_MS).toISOString();
  return [
    `Contact: ${config.securityContact}`,
    `Expires: ${expires}`,
    `Canonical: ${publicUrl(config)}/.well-known/security.txt`,
    'Preferred-Languages: en, fr',
    '',
  ].join('\n');
}
