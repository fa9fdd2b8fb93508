// How a page of the documentation is sent: as Markdown to programs, else in its frame, with the keys of the developer who reads it.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../platform/context.ts';
import { pageHeaders, printPage, sendCompressed, sendPage } from '../platform/html.ts';
import { type Developer, type DeveloperAccess, fillIn, hasPlaceholders, keysNote, withNote } from './developer.ts';
import type { Documentation } from './documentation.ts';
import { type DocsContent, layoutDocs } from './layout.ts';

export type Site = {
  ctx: Context;
  docs: Documentation;
  developers: DeveloperAccess;
};

export type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Whether the caller names this type before HTML. */
export function prefers(request: FastifyRequest, type: string): boolean {
  const accept = String(request.headers.accept ?? '').toLowerCase();
  const place = accept.indexOf(type);
  const htmlPlace = accept.indexOf('text/html');
  return place >= 0 && (htmlPlace < 0 || place < htmlPlace);
}

/** Whether a program asks, by the ending of the address or by what it accepts. */
export function isForPrograms(request: FastifyRequest, reply: FastifyReply, address: string): boolean {
  void reply.header('Vary', 'Accept');
  return address.endsWith('.md') || prefers(request, 'text/markdown');
}

export function sendMarkdown(request: FastifyRequest, reply: FastifyReply, text: string): Promise<FastifyReply> {
  return sendCompressed(request, reply.type('text/markdown; charset=utf-8'), text);
}

export function sendDocs(
  { ctx, docs }: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  content: DocsContent,
): Promise<FastifyReply> {
  return sendPage(request, reply, layoutDocs(ctx.config, docs.groups(), content));
}

/** The page with the keys of the developer who reads it, which nobody else may see or keep. */
export async function sendWithKeys(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  content: DocsContent,
  known?: Developer | null,
): Promise<FastifyReply> {
  const { ctx, docs, developers } = site;
  if (ctx.config.mode !== 'sandbox' || !hasPlaceholders(content.body)) return sendDocs(site, request, reply, content);
  const developer = known === undefined ? await developers.find(request, reply) : known;
  const body = withNote(developer ? fillIn(content.body, developer.keys) : content.body, keysNote(developer));
  const page = layoutDocs(ctx.config, docs.groups(), { ...content, body });
  void reply.headers({ ...pageHeaders(page), 'Cache-Control': 'private, no-store' }).type('text/html; charset=utf-8');
  if (page.status !== undefined) void reply.code(page.status);
  return sendCompressed(request, reply, printPage(page));
}
