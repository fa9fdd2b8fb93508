// The documentation that the gateway serves: /docs (guides, reference, one page an error), each page also as Markdown, a
// search over all of them, /openapi.json and /llms.txt. No scripts, nothing from other hosts.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { publicUrl, shownBrand } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { PROBLEMS, Problem, type ProblemCode } from '../platform/errors.ts';
import { sendCompressed, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { type Guide, type Library, readLibrary } from './library.ts';
import { renderMarkdown, summaryOf, titleOf } from './markdown.ts';
import { type ApiDocument, collectRoutes } from './openapi.ts';
import { type Contents, docsPage, searchResults } from './pages.ts';
import { describeProblem, isProblemCode, writeOperations, writeProblem, writeReference } from './reference.ts';
import { indexPlaces, type SearchIndex, type SearchPlace, search, sectionsOf } from './search.ts';

/** Everything that is served. The routes are known when the app is ready, so what describes them is written on first use. */
type Documentation = {
  library: Library;
  contents: Contents;
  api: () => ApiDocument;
  reference: () => string;
  searchIndex: () => SearchIndex;
};

/** Adds the documentation. Call it before the routes that it documents are added. */
export function docsRoutes(app: HttpServer, ctx: Context): void {
  const docs = describeGateway(collectRoutes(app, ctx), readLibrary(publicUrl(ctx.config)));
  textRoutes(app, ctx, docs);
  guideRoutes(app, ctx, docs);
  searchRoute(app, ctx, docs);
}

function describeGateway(api: () => ApiDocument, library: Library): Documentation {
  let reference: string | null = null;
  let index: SearchIndex | null = null;
  const docs: Documentation = {
    library,
    contents: [
      { title: 'Overview', url: '/docs' },
      ...library.guides.map(({ name, title }) => ({ title, url: `/docs/${name}` })),
      { title: 'API reference', url: '/docs/reference' },
    ],
    api,
    reference() {
      reference ??= writeReference(api());
      return reference;
    },
    searchIndex() {
      index ??= indexPlaces(listPlaces(library, docs.reference()));
      return index;
    },
  };
  return docs;
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

function guideRoutes(app: HttpServer, ctx: Context, docs: Documentation): void {
  const { library, contents } = docs;

  async function send(request: FastifyRequest, reply: FastifyReply, text: string, path: string, asMarkdown: boolean) {
    void reply.header('Vary', 'Accept');
    if (asMarkdown || prefers(request, 'text/markdown'))
      return sendCompressed(request, reply.type('text/markdown; charset=utf-8'), text);
    const body = renderMarkdown(text, linkFrom);
    const page = docsPage(shownBrand(ctx.config), titleOf(text), contents, body, { markdownUrl: `${path}.md` });
    return sendPage(request, reply, page);
  }

  app.get('/docs', (request, reply) => send(request, reply, writeOverview(ctx, docs), '/docs/overview', false));
  app.get('/docs/overview.md', (request, reply) => send(request, reply, writeOverview(ctx, docs), '/docs', true));
  app.get('/docs/:page', (request, reply) => {
    const { page } = request.params as { page: string };
    const data = library.data.get(page);
    if (data !== undefined) return sendCompressed(request, reply.type('application/json; charset=utf-8'), data);
    const name = page.replace(/\.md$/, '');
    const text = name === 'reference' ? docs.reference() : textOf(library.guides, name);
    return send(request, reply, text, `/docs/${name}`, page !== name);
  });
  app.get('/docs/decisions/:page', (request, reply) => {
    const { page } = request.params as { page: string };
    const name = page.replace(/\.md$/, '');
    return send(request, reply, textOf(library.decisions, name), `/docs/decisions/${name}`, page !== name);
  });
  app.get('/docs/rails/:page', (request, reply) => {
    const { page } = request.params as { page: string };
    const name = page.replace(/\.md$/, '');
    return send(request, reply, textOf(library.rails, name), `/docs/rails/${name}`, page !== name);
  });
  app.get('/docs/errors/:code', async (request, reply) => {
    const { code: page } = request.params as { code: string };
    const code = page.replace(/\.(md|json)$/, '');
    if (!isProblemCode(code)) throw new Problem('not_found', { message: 'There is no such error code.' });
    if (page.endsWith('.json') || prefers(request, 'application/json'))
      return { success: true, message: 'Error described.', data: describeProblem(code) };
    return send(request, reply, writeProblem(code, docs.api()), `/docs/errors/${code}`, page.endsWith('.md'));
  });
}

function searchRoute(app: HttpServer, ctx: Context, docs: Documentation): void {
  app.get('/docs/search', async (request, reply) => {
    const { q } = request.query as Record<string, unknown>;
    const query = typeof q === 'string' ? q.trim() : '';
    const found = search(docs.searchIndex(), query);
    if (prefers(request, 'application/json'))
      return {
        success: true,
        message: 'Search done.',
        data: found.map(({ kind, title, page, url, excerpt }) => ({ kind, title, page, url, excerpt })),
      };
    const body = searchResults(query, found);
    return sendPage(request, reply, docsPage(shownBrand(ctx.config), 'Search', docs.contents, body, { query }));
  });
}

/** Whether the caller names this type before HTML. */
function prefers(request: FastifyRequest, type: string): boolean {
  const accept = String(request.headers.accept ?? '').toLowerCase();
  const place = accept.indexOf(type);
  const htmlPlace = accept.indexOf('text/html');
  return place >= 0 && (htmlPlace < 0 || place < htmlPlace);
}

/** Guides link to each other as files of one folder; as pages they have no file extension. */
function linkFrom(target: string): string {
  if (/^(?:[a-z]+:|\/|#)/i.test(target)) return target;
  return `/docs/${target.replace(/^\.\//, '').replace(/\.md(?=$|#)/, '')}`;
}

function textOf(guides: Guide[], name: string): string {
  const guide = guides.find((one) => one.name === name);
  if (!guide) throw new Problem('not_found');
  return guide.text;
}

/** Everything that search covers. Errors have a page each, so the table in the guide of errors is left out. */
function listPlaces(library: Library, reference: string): SearchPlace[] {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  return [
    ...library.guides
      .filter(({ name }) => name !== 'decisions')
      .flatMap(({ name, title, text }) =>
        name === 'errors'
          ? sectionsOf('guide', title, '/docs/errors', text.slice(0, text.indexOf('\n| code |')))
          : sectionsOf('guide', title, `/docs/${name}`, text),
      ),
    ...library.decisions.flatMap(({ name, title, text }) =>
      sectionsOf('guide', title, `/docs/decisions/${name}`, text),
    ),
    ...library.rails
      .filter(({ name }) => name !== 'README')
      .flatMap(({ name, title, text }) => sectionsOf('guide', title, `/docs/rails/${name}`, text)),
    ...sectionsOf('operation', 'API reference', '/docs/reference', reference).map((place) =>
      /^[A-Z]+ \//.test(place.title) ? place : { ...place, kind: 'guide' as const },
    ),
    ...codes.map((code) => {
      const { message, cause, fix } = PROBLEMS[code];
      return {
        kind: 'error' as const,
        title: code,
        page: 'Errors',
        url: `/docs/errors/${code}`,
        text: `${message} ${cause} ${fix}`,
      };
    }),
  ];
}

const SANDBOX_NOTE = `
This gateway runs in sandbox mode: no real money moves. Payments appear on the [test phone](/sandbox/phone).
`;

function writeOverview(ctx: Context, { library, api }: Documentation): string {
  const rows = library.guides.map(({ name, title, summary }) => `- [${title}](/docs/${name}): ${summary}`);
  return `# ${shownBrand(ctx.config)} documentation

${rows.join('\n')}
- [API reference](/docs/reference): every operation, with its members, an example and its refusals.
- [openapi.json](/openapi.json): the API as OpenAPI 3.1. [llms.txt](/llms.txt): this overview for programs.

## Operations

${writeOperations(api())}
${ctx.config.mode === 'sandbox' ? SANDBOX_NOTE : ''}`;
}

/** https://llmstxt.org: a title, a summary, and links to the pages as Markdown. */
function writeIndexForPrograms(ctx: Context, { library, api }: Documentation): string {
  const base = publicUrl(ctx.config);
  const guides = library.guides.map(({ name, title, summary }) => `- [${title}](${base}/docs/${name}.md): ${summary}`);
  const decisions = library.decisions.map(({ name, title }) => `- [${title}](${base}/docs/decisions/${name}.md)`);
  return `# ${shownBrand(ctx.config)}

> ${summaryOf(api().info.description)}

## Guides

${guides.join('\n')}

## API

- [API reference](${base}/docs/reference.md): every operation, with its members, an example and its refusals
- [OpenAPI 3.1](${base}/openapi.json)
- Errors: ${Object.keys(PROBLEMS).length} codes; one page each at ${base}/docs/errors/<code>.md

## Decisions

${decisions.join('\n')}
`;
}
