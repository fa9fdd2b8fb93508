// The API reference: an overview, a page for each group of operations, and requests that a signed-in developer tries there.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../platform/errors.ts';
import { formOf } from '../platform/forms.ts';
import { createRateLimiter, type RateLimiter } from '../platform/rate-limit.ts';
import type { Developer } from './developer.ts';
import type { DocsContent } from './layout.ts';
import { anchorOf } from './markdown.ts';
import { anchorOfOperation, writeGroup } from './reference.ts';
import { type GroupPage, groupBody, groupHeadings, referenceOverview } from './reference-page.ts';
import { type Answer, isForPrograms, type Site, sendDocs, sendMarkdown, sendWithKeys } from './site.ts';
import { canBeTried, readCall, type Trial, tryBox } from './try-it.ts';

/** Requests that one person may try: enough for a person, not for a program. */
const TRIES_PER_SECOND = 0.5;
const TRIES_AT_ONCE = 10;

export function referenceAnswers(site: Site) {
  const { ctx, docs } = site;
  const tries = createRateLimiter(ctx.clock, TRIES_PER_SECOND, TRIES_AT_ONCE);
  return {
    reference: async (request, reply) => {
      if (isForPrograms(request, reply, '')) return sendMarkdown(request, reply, docs.reference());
      return sendDocs(site, request, reply, {
        title: 'API reference',
        path: '/docs/reference',
        body: referenceOverview(docs.api),
        headings: docs.api.tags.map(({ name }) => ({ depth: 2, text: name, anchor: anchorOf(name) })),
        markdownPath: '/docs/reference.md',
      });
    },
    referenceText: async (request, reply) => sendMarkdown(request, reply, docs.reference()),
    operations: async (request, reply) => {
      const { group } = request.params as { group: string };
      const found = findGroup(site, group.replace(/\.md$/, ''));
      if (isForPrograms(request, reply, group))
        return sendMarkdown(request, reply, `#${writeGroup(docs.api, found.tag, docs.samples).slice(1)}\n`);
      const developer = await site.developers.find(request, reply);
      return sendWithKeys(site, request, reply, groupContent(found.page, group, developer, null), developer);
    },
    trial: (request, reply) => answerTrial(site, tries, request, reply),
  } satisfies Record<string, Answer>;
}

async function answerTrial(site: Site, tries: RateLimiter, request: FastifyRequest, reply: FastifyReply) {
  const { group } = request.params as { group: string };
  const { page } = findGroup(site, group);
  const developer = await site.developers.find(request, reply);
  if (!developer) throw new Problem('forbidden', { message: 'Sign in to the console as a developer first.' });
  const trial = await tryOperation(page, developer, tries, request);
  const content = groupContent(page, group, developer, trial);
  return sendWithKeys(site, request, reply, trial.answer ? content : { ...content, status: 400 }, developer);
}

async function tryOperation(
  page: GroupPage,
  developer: Developer,
  tries: RateLimiter,
  request: FastifyRequest,
): Promise<Trial> {
  const fields = formOf(request);
  const operation = fields.get('operation') ?? '';
  const refuse = (problem: string): Trial => ({ operation, fields, answer: null, problem });
  const entry = page.operations.map((each) => each.entry).find((each) => anchorOfOperation(each) === operation);
  if (!entry || !canBeTried(entry)) throw new Problem('not_found');
  try {
    developer.requireOwnForm();
    const { allowed, resetSeconds } = tries.take(developer.id);
    if (!allowed) return refuse(`Too many requests. Try again in ${resetSeconds} s.`);
    const call = readCall(entry, fields);
    if (typeof call === 'string') return refuse(call);
    return { operation, fields, answer: await developer.send(call), problem: null };
  } catch (error) {
    if (error instanceof Problem) return refuse(error.message);
    throw error;
  }
}

function findGroup({ docs }: Site, name: string) {
  const found = docs.operations(name);
  if (!found) throw new Problem('not_found');
  return found;
}

function groupContent(page: GroupPage, group: string, developer: Developer | null, trial: Trial | null): DocsContent {
  return {
    title: `${page.title} – API reference`,
    path: `/docs/reference/${group}`,
    body: groupBody(page, (entry) => developer !== null && tryBox(entry, developer, trial)),
    headings: groupHeadings(page),
    isWide: true,
    markdownPath: `/docs/reference/${group}.md`,
  };
}
