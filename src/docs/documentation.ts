// Everything that is served, made once: texts, pages, the reference and the search index.

import { setImmediate } from 'node:timers/promises';
import type { RouteOptions } from 'fastify';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { PROBLEMS, type ProblemCode } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { once } from '../platform/memoize.ts';
import { type DocsGroup, type DocsPage, listContents, listPages, referencePath } from './contents.ts';
import type { DeveloperAccess } from './developer.ts';
import { type Guide, type Library, pathOfFile, readLibrary } from './library.ts';
import { type Heading, headingsOf, renderMarkdown } from './markdown.ts';
import { type ApiDocument, describeRoutes } from './openapi.ts';
import { operationsOf, PLACEHOLDERS, type WriteSamples, writeGroup, writeReference } from './reference.ts';
import { type GroupPage, groupPage } from './reference-page.ts';
import { indexPlaces, placesOf, type SearchIndex, type SearchPlace } from './search.ts';

const DESKTOP = '-desktop.png';

export type RenderedGuide = { body: Html; headings: Heading[] };
export type Documentation = {
  library: Library;
  samples: WriteSamples;
  api: ApiDocument;
  groups: () => readonly DocsGroup[];
  /** The whole reference as a text. */
  reference: () => string;
  /** A group of operations by the last part of its address; undefined when there is none. */
  operations: (name: string) => { page: GroupPage; tag: ApiDocument['tags'][number] } | undefined;
  render: (guide: Guide) => RenderedGuide;
  searchIndex: () => Promise<SearchIndex>;
};

export async function createDocumentation(
  { config }: Context,
  routes: readonly RouteOptions[],
  developers: DeveloperAccess,
): Promise<Documentation> {
  // Each of these takes some hundredths of a second: payments are served in between.
  await setImmediate();
  const library = readLibrary(publicUrl(config));
  await setImmediate();
  const api = await describeRoutes(routes, config);
  const samples: WriteSamples = (path, params) => developers.samples(PLACEHOLDERS, path, params);
  const groups = once(() => listContents(api.tags));
  const rendered = new Map<string, RenderedGuide>();
  const pages = new Map<string, GroupPage>();
  const docs: Documentation = {
    library,
    samples,
    api,
    groups,
    reference: once(() => writeReference(api, samples)),
    operations(name) {
      const tag = api.tags.find((each) => referencePath(each.name) === `/docs/reference/${name}`);
      if (!tag) return undefined;
      const page = kept(pages, tag.name, () => groupPage(api, tag, samples));
      return { page, tag };
    },
    render: (guide) => kept(rendered, guide.path, () => renderGuide(library, guide)),
    searchIndex: once(async () => indexPlaces(await listPlaces(docs))),
  };
  return docs;
}

function kept<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const value = cache.get(key) ?? make();
  cache.set(key, value);
  return value;
}

function renderGuide(library: Library, { file, text }: Guide): RenderedGuide {
  const body = renderMarkdown(text, {
    link: (target) => addressFrom(file, target),
    picture: (target, description) => pictureOf(library, addressFrom(file, target), description),
  });
  return { body, headings: headingsOf(text) };
}

/** Texts link to each other as files; as pages they have the address of their file without its ending. */
function addressFrom(file: string, target: string): string {
  if (/^(?:[a-z]+:|\/|#)/i.test(target)) return target;
  const { pathname, hash } = new URL(target, `file:///${file}`);
  return `${pathOfFile(pathname.slice(1))}${hash}`;
}

/** A picture, on a narrow screen that of the phone where there is one. A file that is not there is left out. */
function pictureOf({ pictures }: Library, address: string, description: string): Html | null {
  const name = address.replace('/docs/images/', '');
  const picture = pictures.get(name);
  if (!picture) return null;
  const phoneName = name.replace(DESKTOP, '-phone.png');
  const phone = name.endsWith(DESKTOP) ? pictures.get(phoneName) : undefined;
  const size = (one: { width: number; height: number }) => html` width="${one.width}" height="${one.height}"`;
  return html`
    <picture>
      ${phone && html`<source media="(max-width: 40rem)" srcset="/docs/images/${phoneName}"${size(phone)}>`}
      <img src="/docs/images/${name}" alt="${description}" loading="lazy"${size(picture)}>
    </picture>
  `;
}

/** Everything that search covers, one page after the other: payments are served in between. */
async function listPlaces({ library, api, groups, samples }: Documentation): Promise<SearchPlace[]> {
  const pages = new Map(listPages(groups()).map((page) => [page.path, page]));
  const places: SearchPlace[] = [];
  for (const guide of library.guides.values()) {
    if (guide.path !== '/docs/decisions') places.push(...guidePlaces(guide, pages.get(guide.path)));
    await setImmediate();
  }
  for (const tag of api.tags) {
    places.push(...operationPlaces(api, tag, samples));
    await setImmediate();
  }
  for (const code of Object.keys(PROBLEMS) as ProblemCode[]) {
    const { message, cause, fix } = PROBLEMS[code];
    const text = `${message} ${cause} ${fix}`;
    places.push({ kind: 'error', title: code, page: 'Errors', url: `/docs/errors/${code}`, text });
  }
  return places;
}

/** Errors have a page each, so the table in the guide of errors is left out. A page that nobody gave keywords is background. */
function guidePlaces({ path, title, text }: Guide, page: DocsPage | undefined): SearchPlace[] {
  const searched = path === '/docs/errors' ? text.slice(0, text.indexOf('\n| code |')) : text;
  const places = placesOf('guide', page?.title ?? title, path, searched);
  const [first, ...others] = places;
  if (!first || page?.keywords === undefined) return places.map((place) => ({ ...place, isBackground: true }));
  return [{ ...first, keywords: page.keywords, text: `${page.description} ${first.text}` }, ...others];
}

function operationPlaces(api: ApiDocument, tag: ApiDocument['tags'][number], samples: WriteSamples): SearchPlace[] {
  const summaries = operationsOf(api, tag.name).map(({ method, path, operation }) => ({
    title: `${method} ${path}`,
    text: operation.summary ?? '',
  }));
  return placesOf('operation', `API: ${tag.name}`, referencePath(tag.name), writeGroup(api, tag, samples)).flatMap(
    (place) => {
      // Headings of the languages of samples are no places.
      const summary = summaries.find(({ title }) => title === place.title);
      return summary ? [{ ...place, text: `${summary.text}. ${place.text}` }] : [];
    },
  );
}
