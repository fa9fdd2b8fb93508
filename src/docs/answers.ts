// What every address of the documentation answers. Loaded with the first request: the texts, and the packages that describe the
// routes, colour code and search take megabytes that most gateways never need.

import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { publicUrl, shownBrand } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { PROBLEMS, Problem } from '../platform/errors.ts';
import { sendCompressed } from '../platform/html.ts';
import { once } from '../platform/memoize.ts';
import type { DeveloperAccess } from './developer.ts';
import { createDocumentation, type Documentation } from './documentation.ts';
import { headingsOf, renderMarkdown } from './markdown.ts';
import { overviewBody, writeOverview } from './overview.ts';
import { describeProblem, isProblemCode, writeProblem } from './reference.ts';
import { referenceAnswers } from './reference-answers.ts';
import { search } from './search.ts';
import { searchResults } from './search-page.ts';
import { type Answer, isForPrograms, prefers, type Site, sendDocs, sendMarkdown, sendWithKeys } from './site.ts';

const PICTURE_SECONDS = 24 * 3_600;
const SUMMARY =
  'Payment links, mobile-money collections, payouts, balances and signed callbacks behind one signed API.';

export type Answers = Awaited<ReturnType<typeof openAnswers>>;

export async function openAnswers(ctx: Context, routes: readonly RouteOptions[], developers: DeveloperAccess) {
  const site: Site = { ctx, docs: await createDocumentation(ctx, routes, developers), developers };
  return { ...textAnswers(site), ...pageAnswers(site), ...referenceAnswers(site) };
}

/** What programs read. */
function textAnswers({ ctx, docs }: Site) {
  const apiText = once(() => JSON.stringify(docs.api));
  return {
    api: (request, reply) => {
      // Public, and open to other origins, so that any API explorer can load it.
      void reply.type('application/json; charset=utf-8').header('Access-Control-Allow-Origin', '*');
      return sendCompressed(request, reply, apiText());
    },
    index: (request, reply) =>
      sendCompressed(request, reply.type('text/plain; charset=utf-8'), writeIndexForPrograms(ctx, docs)),
    overviewText: (request, reply) => sendMarkdown(request, reply, writeOverview(ctx.config, docs.groups())),
  } satisfies Record<string, Answer>;
}

function pageAnswers(site: Site) {
  return {
    overview: (request, reply) => answerOverview(site, request, reply),
    guide: (request, reply) => answerGuide(site, request, reply),
    problem: (request, reply) => answerProblem(site, request, reply),
    found: (request, reply) => answerSearch(site, request, reply),
    picture: (request, reply) => answerPicture(site, request, reply),
  } satisfies Record<string, Answer>;
}

async function answerOverview(site: Site, request: FastifyRequest, reply: FastifyReply) {
  const { ctx, docs } = site;
  if (isForPrograms(request, reply, '')) return sendMarkdown(request, reply, writeOverview(ctx.config, docs.groups()));
  const body = overviewBody(ctx.config, docs.groups());
  return sendDocs(site, request, reply, {
    title: 'Overview',
    path: '/docs',
    body,
    markdownPath: '/docs/overview.md',
  });
}

async function answerGuide(site: Site, request: FastifyRequest, reply: FastifyReply) {
  const { docs } = site;
  const { guides, data } = docs.library;
  const { folder, page } = request.params as { folder?: string; page: string };
  const file = folder === undefined ? data.get(page) : undefined;
  if (file !== undefined) return sendCompressed(request, reply.type('application/json; charset=utf-8'), file);
  const path = `/docs/${folder === undefined ? '' : `${folder}/`}${page.replace(/\.md$/, '')}`;
  const guide = guides.get(path);
  if (!guide) throw new Problem('not_found');
  if (isForPrograms(request, reply, page)) return sendMarkdown(request, reply, guide.text);
  const content = { title: guide.title, path, ...docs.render(guide), markdownPath: `${path}.md` };
  return sendWithKeys(site, request, reply, content);
}

async function answerProblem(site: Site, request: FastifyRequest, reply: FastifyReply) {
  const { code: page } = request.params as { code: string };
  const code = page.replace(/\.(md|json)$/, '');
  if (!isProblemCode(code)) throw new Problem('not_found', { message: 'There is no such error code.' });
  if (page.endsWith('.json') || prefers(request, 'application/json'))
    return { success: true, message: 'Error described.', data: describeProblem(code) };
  const text = writeProblem(code, site.docs.api);
  if (isForPrograms(request, reply, page)) return sendMarkdown(request, reply, text);
  return sendDocs(site, request, reply, {
    title: code,
    path: '/docs/errors',
    body: renderMarkdown(text),
    headings: headingsOf(text),
    markdownPath: `/docs/errors/${code}.md`,
  });
}

async function answerSearch(site: Site, request: FastifyRequest, reply: FastifyReply) {
  const { q } = request.query as Record<string, unknown>;
  const query = typeof q === 'string' ? q.trim() : '';
  const found = search(await site.docs.searchIndex(), query);
  if (prefers(request, 'application/json'))
    return {
      success: true,
      message: 'Search done.',
      data: found.map(({ kind, title, page, url, excerpt }) => ({ kind, title, page, url, excerpt })),
    };
  const body = searchResults(query, found);
  return sendDocs(site, request, reply, { title: 'Search', path: '/docs/search', body, query });
}

/** Pictures of the guides. They change with the version of the gateway. */
async function answerPicture({ docs }: Site, request: FastifyRequest, reply: FastifyReply) {
  const picture = docs.library.pictures.get((request.params as { name: string }).name);
  if (!picture) throw new Problem('not_found');
  void reply.type('image/png').header('Cache-Control', `public, max-age=${PICTURE_SECONDS}`);
  return reply.header('X-Content-Type-Options', 'nosniff').send(await readFile(picture.file));
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
