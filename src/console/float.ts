// Float for the people who run the gateway: what is low, at the top of their pages; and on the page of a connection what it holds,
// how long it lasts, and the thresholds.

import type { FastifyReply } from 'fastify';
import { type FloatReport, listFloatsInNeed, readFloats } from '../payments/float-report.ts';
import { removeFloat, setFloat } from '../payments/float-settings.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { dataTable, todo } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type MemberRequest, money, paramOf } from './console-request.ts';
import { form, isRefused } from './form-components.ts';
import { redirect } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_ACCOUNT = 128;
const CONNECTION = /^[a-z0-9][a-z0-9-]{0,40}$/;

export const floatRoutes: ConsoleRoute[] = [
  forAdmin('POST', '/admin/rails/:name/float', changeFloat, { confirm: true, formOn: '/admin/rails/:name' }),
];

/** What needs the people who run the gateway: a float that is low, or that payouts wait for. */
export async function floatsInNeed(request: MemberRequest): Promise<Html | false> {
  const { ctx, t } = request;
  const floats = await listFloatsInNeed(ctx);
  if (floats.length === 0) return false;
  return html`
    <section class="card" id="floats-in-need">
      <h2>${t.float.title}</h2>
      <ul class="plain todos">${floats.map((float) => needLine(request, float))}</ul>
    </section>
  `;
}

function needLine(request: MemberRequest, float: FloatReport): Html {
  const { t } = request;
  const { connection, currency, waiting } = float;
  const title = waiting ? t.float.waits(connection, waiting.payouts) : t.float.isLow(connection, currency);
  const link = html`<a class="button button-secondary" href="/console/admin/rails/${connection}">${t.home.open}</a>`;
  return todo(
    waiting ? 'error' : 'warning',
    title,
    html`${levelText(request, float)} ${endText(request, float)}`,
    link,
  );
}

function levelText(request: MemberRequest, { level, currency }: FloatReport): string {
  return level.level === null ? request.t.float.sources.unknown : money(request, level.level, currency);
}

function endText(request: MemberRequest, { setting, level, end }: FloatReport): Html | false {
  if (!setting || level.level === null) return false;
  const { t } = request;
  return end ? html`${t.float.lastsUntil} ${timeTag(request, end)}` : html`${t.float.lastsLong}`;
}

/** The floats of one connection, and the form that sets when one is low. */
export async function floatSection(request: MemberRequest, name: string, methods: readonly string[]): Promise<Html> {
  const { ctx, t } = request;
  const floats = await readFloats(ctx, name);
  const currencies = [...new Set(methods.flatMap((code) => ctx.catalog.methods.get(code)?.currency ?? []))].toSorted();
  const action = `/admin/rails/${name}/float`;
  const watched = floats.find(({ setting }) => setting)?.setting;
  return html`
    <section id="float">
      <h2>${t.float.title}</h2>
      ${floats.length > 0 && floatTable(request, floats)}
      <details class="card"${isRefused(request, action) && html` open`}>
        <summary>${t.float.watch}</summary>
        <p>${t.float.watchText}</p>
        ${form(request, {
          action,
          fields: [
            {
              type: 'select',
              name: 'currency',
              label: t.currency,
              value: watched?.currency,
              choices: currencies.map((each) => [each, each] as const),
            },
            { name: 'low', label: t.float.low, hint: t.float.lowHint, value: watched ? formatAmount(watched.low) : '' },
            {
              name: 'stop',
              label: t.float.stop,
              hint: t.float.stopHint,
              value: watched ? formatAmount(watched.stop) : '',
            },
            { name: 'account', label: t.float.account, hint: t.float.accountHint, value: watched?.account ?? '' },
            { type: 'checkbox', name: 'shared', label: t.float.shared, checked: watched?.isShared ?? false },
          ],
          submit: t.save,
        })}
      </details>
    </section>
  `;
}

function floatTable(request: MemberRequest, floats: readonly FloatReport[]): Html {
  const { t } = request;
  return dataTable(
    t.float.title,
    [
      { label: t.float.title, right: true, phone: 'amount' },
      { label: t.float.source },
      { label: t.float.low, right: true },
      { label: t.float.stop, right: true },
      { label: t.float.lastsUntil },
      { label: t.float.waiting, right: true },
    ],
    floats.map((float) => [
      levelText(request, float),
      t.float.sources[float.level.source],
      float.setting && money(request, float.setting.low, float.currency),
      float.setting && money(request, float.setting.stop, float.currency),
      endText(request, float),
      float.waiting && `${float.waiting.payouts} · ${money(request, float.waiting.amount, float.currency)}`,
    ]),
  );
}

/** Without a low amount nobody watches it any more. */
async function changeFloat(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor } = request;
  const connection = paramOf(request, 'name');
  const currency = fieldOf(request, 'currency', 3);
  // A name that no connection can have is not looked up.
  if (!CONNECTION.test(connection)) throw new Problem('not_found');
  if (![...ctx.catalog.methods.values()].some((method) => method.currency === currency))
    throw wrongField('currency', request.t.float.noCurrency);
  const low = amountOf(request, 'low', currency);
  if (low === null) await removeFloat(ctx, actor, { connection, currency });
  else
    await setFloat(ctx, actor, {
      connection,
      currency,
      account: fieldOf(request, 'account', MAX_ACCOUNT).trim() || null,
      low,
      stop: amountOf(request, 'stop', currency) ?? 0n,
      isShared: fieldOf(request, 'shared') === 'yes',
    });
  return redirect(request, `/console/admin/rails/${connection}`, 'saved');
}

function amountOf(request: MemberRequest, name: string, currency: string): bigint | null {
  const typed = fieldOf(request, name, 40).trim();
  if (typed === '') return null;
  if (/^0+([.,]0+)?$/.test(typed)) return 0n;
  const amount = readTypedAmount(typed, request.language, { currency });
  if (!amount.ok) throw wrongField(name, amount.sentence);
  return amount.amount;
}
