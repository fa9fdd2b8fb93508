// The documentation that the gateway serves about itself: /docs (guides, reference, one page an error), each page also as
// Markdown, /openapi.json and /llms.txt. No scripts, nothing from elsewhere.

import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { PROBLEMS, Problem } from '../platform/errors.ts';
import { sendCompressed, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { renderMarkdown, summaryOf, titleOf } from './markdown.ts';
import { type ApiDocument, collectRoutes } from './openapi.ts';
import { type Contents, docsPage } from './pages.ts';
import {
  describeProblem,
  isProblemCode,
  writeErrors,
  writeOperations,
  writeProblem,
  writeReference,
} from './reference.ts';

const FOLDER = resolve(import.meta.dirname, '../../docs');
/** Guides in the order a newcomer reads them; whatever else lies in the folder follows. */
const ORDER = ['quickstart', 'signing', 'collections', 'payment-links', 'callbacks'];
const OWN_PAGES: Contents = [
  { title: 'Overview', url: '/docs' },
  { title: 'API reference', url: '/docs/reference' },
  { title: 'Errors', url: '/docs/errors' },
];

type Guide = { name: string; title: string; summary: string; text: string };
type Library = { guides: Guide[] /** Files that guides link to, by name. */; data: Map<string, string> };

/** Adds the documentation. Must come before the routes that it documents. */
export function docsRoutes(app: HttpServer, ctx: Context): void {
  const readApi = collectRoutes(app, ctx);
  const library = readLibrary(publicUrl(ctx.config));
  const contents: Contents = [
    ...OWN_PAGES.slice(0, 1),
    ...library.guides.map(({ name, title }) => ({ title, url: `/docs/${name}` })),
    ...OWN_PAGES.slice(1),
  ];
  let reference: string | null = null;
  let apiText: string | null = null;
  const texts: Record<string, () => string> = {
    reference: () => {
      reference ??= writeReference(readApi());
      return reference;
    },
    errors: writeErrors,
  };
  const textOf = (name: string) => texts[name]?.() ?? library.guides.find((guide) => guide.name === name)?.text ?? null;

  async function send(request: FastifyRequest, reply: FastifyReply, text: string, path: string, asMarkdown: boolean) {
    void reply.header('Vary', 'Accept');
    if (asMarkdown || prefers(request, 'text/markdown'))
      return sendCompressed(request, reply.type('text/markdown; charset=utf-8'), text);
    const body = renderMarkdown(text, linkFrom);
    return sendPage(request, reply, docsPage(ctx.config.brandName, titleOf(text), contents, body, `${path}.md`));
  }

  app.get('/openapi.json', async (request, reply) => {
    apiText ??= JSON.stringify(readApi());
    // Public, and other origins may show it: an API explorer of the reader's own choice.
    void reply.type('application/json; charset=utf-8').header('Access-Control-Allow-Origin', '*');
    return sendCompressed(request, reply, apiText);
  });
  app.get('/llms.txt', async (request, reply) =>
    sendCompressed(request, reply.type('text/plain; charset=utf-8'), writeIndexForPrograms(ctx, library, readApi())),
  );
  app.get('/docs', (request, reply) => {
    const text = writeOverview(ctx, library, readApi());
    return send(request, reply, text, '/docs/overview', false);
  });
  app.get('/docs/overview.md', (request, reply) =>
    send(request, reply, writeOverview(ctx, library, readApi()), '/docs', true),
  );
  app.get('/docs/:page', (request, reply) => {
    const { page } = request.params as { page: string };
    const data = library.data.get(page);
    if (data !== undefined) return sendCompressed(request, reply.type('application/json; charset=utf-8'), data);
    const name = page.replace(/\.md$/, '');
    const text = textOf(name);
    if (text === null) throw new Problem('not_found');
    return send(request, reply, text, `/docs/${name}`, page !== name);
  });
  app.get('/docs/errors/:code', async (request, reply) => {
    const { code: page } = request.params as { code: string };
    const code = page.replace(/\.(md|json)$/, '');
    if (!isProblemCode(code)) throw new Problem('not_found', { message: 'There is no such error code.' });
    if (page.endsWith('.json') || prefers(request, 'application/json'))
      return { success: true, message: 'Error described.', data: describeProblem(code) };
    return send(request, reply, writeProblem(code, readApi()), `/docs/errors/${code}`, page.endsWith('.md'));
  });
}

/** Whether the caller names this type before HTML. */
function prefers(request: FastifyRequest, type: string): boolean {
  const accept = String(request.headers.accept ?? '').toLowerCase();
  const place = accept.indexOf(type);
  const htmlPlace = accept.indexOf('text/html');
  return place >= 0 && (htmlPlace < 0 || place < htmlPlace);
}

/** Guides link to each other as files of one folder; as pages they have no ending. */
function linkFrom(target: string): string {
  if (/^(?:[a-z]+:|\/|#)/i.test(target)) return target;
  return `/docs/${target.replace(/^\.\//, '').replace(/\.md(?=$|#)/, '')}`;
}

/** Read once at start. Guides name this gateway's own address instead of the default one. */
function readLibrary(base: string): Library {
  const files = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isFile());
  const read = (name: string) => readFileSync(resolve(FOLDER, name), 'utf8').replaceAll('http://localhost:8080', base);
  const place = (name: string) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const guides = files
    .filter(({ name }) => name.endsWith('.md') && name !== 'errors.md')
    .map((file) => {
      const text = read(file.name);
      return { name: file.name.replace(/\.md$/, ''), title: titleOf(text), summary: summaryOf(text), text };
    })
    .sort((left, right) => place(left.name) - place(right.name) || (left.name < right.name ? -1 : 1));
  const data = files.filter(({ name }) => name.endsWith('.json') && name !== 'openapi.json');
  return { guides, data: new Map(data.map(({ name }) => [name, readFileSync(resolve(FOLDER, name), 'utf8')])) };
}

function writeOverview(ctx: Context, library: Library, api: ApiDocument): string {
  const rows = library.guides.map(({ name, title, summary }) => `- [${title}](/docs/${name}): ${summary}`);
  return `# ${ctx.config.brandName} documentation

${rows.join('\n')}
- [API reference](/docs/reference): every operation, with its members, an example and its refusals.
- [Errors](/docs/errors): one page for each code, with cause and fix.
- [openapi.json](/openapi.json): the API as OpenAPI 3.1. [llms.txt](/llms.txt): this overview for programs.

## Operations

${writeOperations(api)}
${ctx.config.mode === 'sandbox' ? '\nThis gateway runs in sandbox mode: no real money moves. Payments ring on the [pretend phone](/sandbox/phone).\n' : ''}`;
}

/** https://llmstxt.org: a title, a summary, and links to the pages as Markdown. */
function writeIndexForPrograms(ctx: Context, library: Library, api: ApiDocument): string {
  const base = publicUrl(ctx.config);
  const guides = library.guides.map(({ name, title, summary }) => `- [${title}](${base}/docs/${name}.md): ${summary}`);
  return `# ${ctx.config.brandName}

> ${summaryOf(api.info.description)}

## Guides

${guides.join('\n')}

## API

- [API reference](${base}/docs/reference.md): every operation, with its members, an example and its refusals
- [OpenAPI 3.1](${base}/openapi.json)
- [Errors](${base}/docs/errors.md): ${Object.keys(PROBLEMS).length} codes; one page each at ${base}/docs/errors/<code>.md
`;
}
