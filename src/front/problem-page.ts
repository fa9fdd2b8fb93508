// What a browser sees where there is no page, or where one could not be made. Programs get JSON.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../platform/config.ts';
import type { Problem } from '../platform/errors.ts';
import { html, problemText } from '../platform/html.ts';
import { frontLayout } from './layout.ts';
import { frontMessages } from './messages.ts';

export function problemPageFor(config: Config) {
  return (problem: Problem, request: FastifyRequest, reply: FastifyReply): string => {
    const t = frontMessages(request.headers['accept-language']);
    const isOurs = problem.status >= 500;
    const text = isOurs ? t.serverErrorText : problem.status === 405 ? t.wrongMethod : t.notFoundText;
    const title = isOurs ? t.serverError : t.notFound;
    const body = html`
      <div class="missing">
        <h1>${title}</h1>
        <p>${text}</p>
        ${isOurs && html`<p class="muted">${t.request} ${request.id}</p>`}
        <div class="actions">${wayBack(request.url, t.home, t)}</div>
      </div>
    `;
    return problemText(reply, frontLayout(config, t, title, body));
  };
}

/** Who was in the console or in the documents returns there. */
function wayBack(url: string, home: string, t: ReturnType<typeof frontMessages>) {
  const link = (href: string, text: string) => html`<a class="button" href="${href}">${text}</a>`;
  if (url.startsWith('/console')) return link('/console', t.console[0]);
  return url.startsWith('/docs') ? link('/docs', t.docs[0]) : link('/', home);
}
