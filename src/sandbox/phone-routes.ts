// The addresses of the test phones, in sandbox mode only: the page, the changes of one phone, and every action on it.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { type Form, field, formOf, parseForms, refuseForeignForm } from '../platform/forms.ts';
import { html, printHtml, problemText, sendCompressed, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { printView } from './http.ts';
import { isRinging, type PhoneNotice, phonePage, queryOf, screenOf } from './phone-page.ts';
import { sandboxPage } from './sandbox-layout.ts';
import { answerOperatorPrompt, describePrompts, type OperatorPrompts } from './simulator-prompts.ts';
import type { PhoneResult, TestPhone } from './test-phone.ts';

const MAX_PHONES = 6;
const CHANGE_WAIT_MS = 20_000;
const NOTICE_PURPOSE = 'test phone notice';
const MAX_NOTICE_LENGTH = 2_000;

type Params = { msisdn: string; action: string };

/** An error, as a page of the test phone. */
function problemPageOf(config: Config) {
  return (problem: Problem, _request: FastifyRequest, reply: FastifyReply) =>
    problemText(
      reply,
      sandboxPage(config, {
        title: problem.message,
        active: 'phone',
        body: html`<p><a class="button" href="/sandbox/phone">Back to the test phone</a></p>`,
      }),
    );
}

export function phoneRoutes(
  app: HttpServer,
  ctx: Context & { readonly catalog: Catalog },
  phone: TestPhone,
  prompts: OperatorPrompts,
): void {
  if (ctx.config.mode !== 'sandbox') return;
  const config = { problemPage: problemPageOf(ctx.config) };
  app.register((scope, _options, done) => {
    parseForms(scope);
    // A page that waits for a change must not keep the server from stopping.
    const closing = new AbortController();
    scope.addHook('preClose', (closed) => {
      closing.abort();
      closed();
    });
    const nextChange = (number: string, version: unknown, request: FastifyRequest, reply: FastifyReply) => {
      if (request.place?.startLongPoll() === false) throw new Problem('overloaded', { retryAfterSeconds: 1 });
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const signal = AbortSignal.any([gone.signal, closing.signal]);
      return phone.waitForChange(number, Number(version) || 0, CHANGE_WAIT_MS, signal);
    };
    scope.get('/sandbox/phone', { config }, async (request, reply) => {
      const numbers = readNumbers(request);
      const views = await Promise.all(numbers.map((number) => phone.view(number)));
      const notice = await openNotice(ctx, (request.query as Record<string, unknown>).notice);
      return sendPage(request, reply, phonePage(ctx, views, notice, await prompts.list()));
    });

    // For programs and the terminal; with `version` it waits for the next change.
    scope.get('/sandbox/phone/:msisdn', async (request, reply) => {
      const number = readNumber((request.params as Params).msisdn);
      const { version } = request.query as Record<string, unknown>;
      void reply.header('Cache-Control', 'no-store');
      return printView(
        typeof version === 'string' ? await nextChange(number, version, request, reply) : await phone.view(number),
      );
    });

    scope.get('/sandbox/phone/:msisdn/news', async (request, reply) => {
      const number = readNumber((request.params as Params).msisdn);
      const view = await nextChange(number, (request.query as Record<string, unknown>).version, request, reply);
      const screen = printHtml(screenOf(ctx.catalog, view, readNumbers(request)));
      void reply.header('Cache-Control', 'no-store').type('application/json; charset=utf-8');
      return sendCompressed(
        request,
        reply,
        JSON.stringify({ version: view.version, on: view.isOn, rings: isRinging(view), html: screen }),
      );
    });

    simulatorRoutes(scope, ctx, prompts);
    scope.post('/sandbox/phone/:msisdn/:action', { config }, async (request, reply) => {
      refuseForeignForm(request);
      const { msisdn, action } = request.params as Params;
      const number = readNumber(msisdn);
      const result = await act(phone, number, action, formOf(request));
      if (request.headers.accept === 'application/json') return reply.send({ ok: result.ok, message: result.message });
      const numbers = readNumbers(request);
      const notice = sealNotice(ctx, { msisdn: number, ok: result.ok, message: result.message });
      const query = queryOf(numbers.length === 0 ? [number] : numbers);
      return reply.redirect(`/sandbox/phone?${query}&notice=${notice}`, 303);
    });
    done();
  });
}

/** Prompts of operators' simulators: those that are open, and the decision about one. */
function simulatorRoutes(scope: FastifyInstance, ctx: Context, prompts: OperatorPrompts): void {
  scope.get('/sandbox/phone/simulators', async (request, reply) => {
    void reply.header('Cache-Control', 'no-store').type('application/json; charset=utf-8');
    return sendCompressed(request, reply, JSON.stringify(describePrompts(await prompts.list())));
  });

  scope.post(
    '/sandbox/phone/simulators/:connection',
    { config: { problemPage: problemPageOf(ctx.config) } },
    async (request, reply) => {
      refuseForeignForm(request);
      const { connection } = request.params as { connection: string };
      const result = await answerOperatorPrompt(prompts, connection, formOf(request));
      if (request.headers.accept === 'application/json') return reply.send({ ok: result.ok, message: result.message });
      const notice = sealNotice(ctx, { msisdn: '', ok: result.ok, message: result.message });
      return reply.redirect(`/sandbox/phone?notice=${notice}`, 303);
    },
  );
}

function act(phone: TestPhone, msisdn: string, action: string, form: Form): Promise<PhoneResult> {
  const prompt = field(form, 'prompt');
  switch (action) {
    case 'answer':
      return phone.answer(msisdn, prompt, field(form, 'pin'));
    case 'cancel':
      return phone.cancel(msisdn, prompt);
    case 'ignore':
      return phone.ignore(msisdn, prompt);
    case 'expire':
      return phone.expire(msisdn, prompt);
    case 'switch':
      return phone.switchTo(msisdn, field(form, 'on') === '1');
    case 'dial':
      return phone.dial(msisdn, field(form, 'code', 40));
    case 'pay':
      return payFrom(phone, msisdn, form);
    default:
      throw new Problem('not_found');
  }
}

async function payFrom(phone: TestPhone, msisdn: string, form: Form): Promise<PhoneResult> {
  const currency = field(form, 'currency', 3);
  const amount = readTypedAmount(field(form, 'amount'), 'en', { currency });
  if (!amount.ok) return { ok: false, message: amount.sentence };
  return phone.pay(msisdn, {
    to: field(form, 'to', 40),
    accountReference: field(form, 'reference', 40),
    amount: amount.amount,
    currency,
  });
}

/** The phones that the address names, each once. */
function readNumbers(request: FastifyRequest): string[] {
  const given = (request.query as Record<string, unknown>).n;
  const numbers = [given ?? []]
    .flat()
    .filter((number) => typeof number === 'string')
    .map((number) => number.replace(/[\s+().-]/g, ''))
    .filter((number) => number !== '');
  return [...new Set(numbers.map(readNumber))].slice(0, MAX_PHONES);
}

function readNumber(text: string): string {
  if (/^\d{6,15}$/.test(text)) return text;
  throw new Problem('invalid_params', {
    message: 'A number is digits with the country code, such as 254712345678.',
  });
}

/** The page that the request came from, with a notice above its phones. */
export function phoneAddress(ctx: Context, request: FastifyRequest, message: string): string {
  const notice = sealNotice(ctx, { msisdn: '', ok: true, message });
  return `/sandbox/phone?${[queryOf(readNumbers(request)), `notice=${notice}`].filter(Boolean).join('&')}`;
}

/** The result of an action travels in the address, sealed, so that a link cannot put text on the page. */
function sealNotice(ctx: Context, notice: PhoneNotice): string {
  return ctx.vault.seal(JSON.stringify(notice), NOTICE_PURPOSE).toString('base64url');
}

async function openNotice(ctx: Context, text: unknown): Promise<PhoneNotice | null> {
  if (typeof text !== 'string' || text.length > MAX_NOTICE_LENGTH) return null;
  try {
    // The seal is ours, so whatever opens has this shape.
    return JSON.parse(await ctx.vault.open(Buffer.from(text, 'base64url'), NOTICE_PURPOSE)) as PhoneNotice;
  } catch {
    return null;
  }
}
