// The documentation that the gateway serves: /docs (guides, reference, one page an error), each page also as Markdown, a
// search over all of them, /openapi.json and /llms.txt. Pages work without scripts and load nothing from other hosts.

import { readFile } from 'node:fs/promises';
import cookie from '@fastify/cookie';
import { publicUrl, shownBrand } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { PROBLEMS, Problem } from '../platform/errors.ts';
import { parseForms } from '../platform/forms.ts';
import { sendCompressed } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import type { DeveloperAccess } from './developer.ts';
import { createDocumentation, type Documentation } from './documentation.ts';
import { headingsOf, renderMarkdown } from './markdown.ts';
import { overviewBody, writeOverview } from './overview.ts';
import { describeProblem, isProblemCode, writeProblem } from './reference.ts';
import { referenceRoutes } from './reference-routes.ts';
import { search } from './search.ts';
import { searchResults } from './search-page.ts';
import { isForPrograms, prefers, type Site, sendDocs, sendMarkdown, sendWithKeys } from './site.ts';

const PICTURE_SECONDS = 24 * 3_600;
const SUMMARY =
  'Payment links, mobile-money collections, payouts, balances and signed callbacks behind one signed API.';

/** Adds the documentation. Call it before the routes that it documents are added. */
export function docsRoutes(app: HttpServer, ctx: Context, developers: DeveloperAccess): void {
  const docs = createDocumentation(app, ctx, developers);
  textRoutes(app, ctx, docs);
  app.register(async (scope) => {
    await scope.register(cookie);
    parseForms(scope);
    const site: Site = { app: scope, ctx, docs, developers };
    overviewRoutes(site);
    guideRoutes(site);
    referenceRoutes(site);
    errorRoute(site);
    searchRoute(site);
    pictureRoute(site);
  });
}

/** What programs read. */
function textRoutes(app: HttpServer, ctx: Context, docs: Documentation): void {
  let apiText: string | null = null;
  app.get('/openapi.json', async (request, reply) => {
    apiText ??= JSON.stringify(docs.api());
    // Public, and open to other origins, so that any API explorer can load it.
    void reply.type('application/json; charset=utf-8').header('Access-Control-Allow-Origin', '*');
    return sendCompressed(request, reply, apiText);
  });
  app.get('/llms.txt', async (request, reply) =>
    sendCompressed(request, reply.type('text/plain; charset=utf-8'), writeIndexForPrograms(ctx, docs)),
  );
}

function overviewRoutes(site: Site): void {
  const { app, ctx, docs } = site;
  const text = () => writeOverview(ctx.config, docs.groups());
  app.get('/docs', async (request, reply) => {
    if (isForPrograms(request, reply, '')) return sendMarkdown(request, reply, text());
    const body = overviewBody(ctx.config, docs.groups());
    return sendDocs(site, request, reply, {
      title: 'Overview',
      path: '/docs',
      body,
      markdownPath: '/docs/overview.md',
    });
  });
  app.get('/docs/overview.md', async (request, reply) => sendMarkdown(request, reply, text()));
}

function guideRoutes(site: Site): void {
  const { app, docs } = site;
  const { guides, data } = docs.library;
  for (const address of ['/docs/:page', '/docs/:folder/:page'])
    app.get(address, async (request, reply) => {
      const { folder, page } = request.params as { folder?: string; page: string };
      const file = folder === undefined ? data.get(page) : undefined;
      if (file !== undefined) return sendCompressed(request, reply.type('application/json; charset=utf-8'), file);
      const path = `/docs/${folder === undefined ? '' : `${folder}/`}${page.replace(/\.md$/, '')}`;
      const guide = guides.get(path);
      if (!guide) throw new Problem('not_found');
      if (isForPrograms(request, reply, page)) return sendMarkdown(request, reply, guide.text);
      const { title } = guide;
      const content = { title, path, ...docs.render(guide), markdownPath: `${path}.md` };
      return sendWithKeys(site, request, reply, content);
    });
}

function errorRoute(site: Site): void {
  const { app, docs } = site;
  app.get('/docs/errors/:code', async (request, reply) => {
    const { code: page } = request.params as { code: string };
    const code = page.replace(/\.(md|json)$/, '');
    if (!isProblemCode(code)) throw new Problem('not_found', { message: 'There is no such error code.' });
    if (page.endsWith('.json') || prefers(request, 'application/json'))
      return { success: true, message: 'Error described.', data: describeProblem(code) };
    const text = writeProblem(code, docs.api());
    if (isForPrograms(request, reply, page)) return sendMarkdown(request, reply, text);
    return sendDocs(site, request, reply, {
      title: code,
      path: '/docs/errors',
      body: renderMarkdown(text),
      headings: headingsOf(text),
      markdownPath: `/docs/errors/${code}.md`,
    });
  });
}

function searchRoute(site: Site): void {
  const { app, docs } = site;
  app.get('/docs/search', async (request, reply) => {
    const { q } = request.query as Record<string, unknown>;
    const query = typeof q === 'string' ? q.trim() : '';
    const found = search(await docs.searchIndex(), query);
    if (prefers(request, 'application/json'))
      return {
        success: true,
        message: 'Search done.',
        data: found.map(({ kind, title, page, url, excerpt }) => ({ kind, title, page, url, excerpt })),
      };
    const body = searchResults(query, found);
    return sendDocs(site, request, reply, { title: 'Search', path: '/docs/search', body, query });
  });
}

/** Pictures of the guides. They change with the version of the gateway. */
function pictureRoute({ app, docs }: Site): void {
  app.get('/docs/images/:name', async (request, reply) => {
    const picture = docs.library.pictures.get((request.params as { name: string }).name);
    if (!picture) throw new Problem('not_found');
    void reply.type('image/png').header('Cache-Control', `public, max-age=${PICTURE_SECONDS}`);
    return reply.header('X-Content-Type-Options', 'nosniff').send(await readFile(picture.file));
  });
}

/** https://llmstxt.org: a title, a summary, and links to the pages as Markdown. */
function writeIndexForPrograms(ctx: Context, { groups, library }: Documentation): string {
  const base = publicUrl(ctx.config);
  const sections = groups().map(({ title, pages }) => {
    const listed = pages.flatMap((page) => [page, ...(page.children ?? [])]);
    const lines = listed.map((page) => `- [${page.title}](${base}${page.path}.md): ${page.description}`);
    return `## ${title}\n\n${lines.join('\n')}`;
  });
  const decisions = [...library.guides.values()]
    .filter(({ path }) => path.startsWith('/docs/decisions/'))
    .map(({ path, title }) => `- [${title}](${base}${path}.md)`);
  return `# ${shownBrand(ctx.config)}

> ${SUMMARY}

${sections.join('\n\n')}

## For programs

- [The whole reference](${base}/docs/reference.md): every operation, with its members, an example and its refusals
- [OpenAPI 3.1](${base}/openapi.json)
- Errors: ${Object.keys(PROBLEMS).length} codes; one page each at ${base}/docs/errors/<code>.md

## Decisions

${decisions.join('\n')}
`;
}
