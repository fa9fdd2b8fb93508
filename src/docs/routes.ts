// The documentation that the gateway serves: /docs (guides, reference, one page an error), each page also as Markdown, a
// search over all of them, /openapi.json and /llms.txt. Pages work without scripts and load nothing from other hosts.

import cookie from '@fastify/cookie';
import type { RouteOptions } from 'fastify';
import type { Context } from '../platform/context.ts';
import { parseForms } from '../platform/forms.ts';
import type { HttpServer } from '../platform/http.ts';
import { once } from '../platform/memoize.ts';
import type { Answers } from './answers.ts';
import type { DeveloperAccess } from './developer.ts';
import type { Answer } from './site.ts';

/** Adds the documentation. Call it before the routes that it documents are added. */
export function docsRoutes(app: HttpServer, ctx: Context, developers: DeveloperAccess): void {
  const routes = collectRoutes(app);
  const open = once(async () => {
    const { openAnswers } = await import('./answers.ts');
    return openAnswers(ctx, routes, developers);
  });
  const answer =
    (name: keyof Answers): Answer =>
    async (request, reply) =>
      (await open())[name](request, reply);
  app.get('/openapi.json', answer('api'));
  app.get('/llms.txt', answer('index'));
  app.register(async (scope) => {
    await scope.register(cookie);
    parseForms(scope);
    scope.get('/docs', answer('overview'));
    scope.get('/docs/overview.md', answer('overviewText'));
    scope.get('/docs/:page', answer('guide'));
    scope.get('/docs/:folder/:page', answer('guide'));
    scope.get('/docs/reference', answer('reference'));
    scope.get('/docs/reference.md', answer('referenceText'));
    scope.get('/docs/reference/:group', answer('operations'));
    scope.post('/docs/reference/:group', answer('trial'));
    scope.get('/docs/errors/:code', answer('problem'));
    scope.get('/docs/search', answer('found'));
    scope.get('/docs/images/:name', answer('picture'));
  });
}

/** The routes that are documented: those with a tag. */
function collectRoutes(app: HttpServer): RouteOptions[] {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    if (route.schema?.tags && route.method !== 'HEAD') routes.push(route);
  });
  return routes;
}
