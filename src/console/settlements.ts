// Settlements of a holder: where the money of each wallet goes and when, which owners change, and every settlement with its report.

import type { FastifyReply } from 'fastify';
import { reportSettlement, type SettlementReport, writeReport } from '../books/settlement-report.ts';
import {
  listSettlements,
  readStates,
  requireSettlement,
  type Settlement,
  type SettlementState,
  settlementRef,
} from '../books/settlement-rows.ts';
import {
  describeDestination,
  listSettlementRules,
  SCHEDULES,
  type SettlementRule,
  type SettlementRuleRequest,
  setSettlementRule,
} from '../books/settlement-rules.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { refOf } from '../payments/transactions.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { breadcrumbs, dataTable, emptyState, facts, type Tone, tag, who } from '../ui/components.ts';
import { timeTag, transactionLink } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { mailDestination } from './owner-mails.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER } from './route.ts';

const PATH = '/settlements';
const MAX_SHOWN = 100;
const MAX_TEXT = 120;
const WEEKDAYS = ['1', '2', '3', '4', '5', '6', '7'] as const;

export const settlementRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', PATH, (request) => settlementsPage(request)),
  forRoles(OWNER, 'POST', PATH, changeRule, { confirm: true }),
  forRoles(EVERYONE, 'GET', `${PATH}/:ref`, settlementPage),
  forRoles(EVERYONE, 'GET', `${PATH}/:ref/report`, downloadReport),
];

async function settlementsPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t, holder, role } = request;
  const rules = await listSettlementRules(ctx.db, holder.id);
  const settlements = await listSettlements(ctx.db, { holderId: holder.id, limit: MAX_SHOWN });
  const states = await readStates(ctx.db, settlements);
  const [wallet] = await balancesOf(ctx.db, holder.id);
  const texts = t.settlements;
  return renderPage(request, {
    title: t.menu.settlements,
    lead: texts.lead,
    active: 'settlements',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${errorBox(request, errors)}
      ${
        settlements.length === 0
          ? emptyState(texts.none, texts.noneText, false, 'landmark')
          : settlementTable(request, settlements, states)
      }
      <section class="card" id="destination">
        <h2>${texts.destination}</h2>
        <p class="muted">${texts.destinationText}</p>
        ${rules.length > 0 && ruleTable(request, rules)}
        ${role === 'owner' ? ruleForm(request, wallet?.currency ?? '', errors) : html`<p class="muted">${texts.ownersOnly}</p>`}
      </section>
    `,
  });
}

const TONES: Readonly<Record<SettlementState, Tone>> = {
  waiting: 'neutral',
  sending: 'neutral',
  paid: 'success',
  failed: 'error',
  cancelled: 'neutral',
};

function settlementTable(
  request: HolderRequest,
  settlements: readonly Settlement[],
  states: ReadonlyMap<string, SettlementState>,
): Html {
  const { t } = request;
  const texts = t.settlements;
  return dataTable(
    t.menu.settlements,
    [
      { label: texts.period, phone: 'main' },
      { label: texts.to },
      { label: t.amount, right: true, phone: 'amount' },
      { label: t.state, phone: 'status' },
      { label: texts.report, right: true },
    ],
    settlements.map((each) => {
      const href = `/console${PATH}/${settlementRef(each)}`;
      return [
        who(each.period, timeTag(request, each.taken_at), { href }),
        html`<bdi>${describeDestination(each.destination)}</bdi>`,
        money(request, each.amount, each.currency),
        stateTag(request, states.get(each.id) ?? 'waiting'),
        html`<a href="${href}/report" download>CSV</a>`,
      ];
    }),
  );
}

const stateTag = ({ t }: HolderRequest, state: SettlementState): Html => tag(TONES[state], t.settlements.states[state]);

function ruleTable(request: HolderRequest, rules: readonly SettlementRule[]): Html {
  const { ctx, t } = request;
  const texts = t.settlements;
  const now = ctx.clock.now();
  return dataTable(
    texts.destination,
    [
      { label: t.currency },
      { label: texts.to },
      { label: texts.schedule },
      { label: texts.minimum, right: true },
      { label: texts.next },
    ],
    rules.map((rule) => [
      rule.currency,
      html`
        <bdi>${rule.destination.name}, ${describeDestination(rule.destination)}</bdi>
        ${rule.usable_from > now && html`<br>${tag('warning', texts.waits)} ${timeTag(request, rule.usable_from)}`}
      `,
      rule.schedule === 'weekly'
        ? `${withColon(request, texts.schedules.weekly)} ${texts.weekdays[(rule.weekday ?? 1) - 1] ?? ''}`
        : texts.schedules[rule.schedule],
      money(request, rule.minimum, rule.currency),
      timeTag(request, rule.next_at) || '–',
    ]),
  );
}

/** One form for both kinds of destination: it works without a script. What was typed stays when something is wrong. */
function ruleForm(request: HolderRequest, currency: string, errors: FieldErrors | undefined): Html {
  const { ctx, t } = request;
  const texts = t.settlements;
  const methods = [...ctx.catalog.methods.values()];
  const currencies = [...new Set(methods.map((method) => method.currency))].sort();
  const payouts = methods.filter((method) => method.payout !== null);
  const typed = (name: string) => (errors ? fieldOf(request, name, MAX_TEXT) : '');
  const input = (name: string, label: string, hint?: string) => ({ name, label, hint, value: typed(name) });
  return form(request, {
    action: PATH,
    errors,
    fields: [
      select(
        'currency',
        t.currency,
        (name) => typed(name) || currency,
        currencies.map((each) => [each, each] as const),
      ),
      select('kind', texts.kind, typed, [['bank', texts.kinds.bank] as const, ['mobile', texts.kinds.mobile] as const]),
      { ...input('name', texts.name), required: true },
      input('bank', texts.bank, texts.onlyBank),
      input('branch', texts.branch, texts.onlyBank),
      input('account', texts.account, texts.onlyBank),
      input('mobile', texts.mobile, texts.onlyMobile),
      select('method', texts.method, typed, [
        ['', texts.methodFound] as const,
        ...payouts.map(({ code, name, currency }) => [code, `${name} (${currency})`] as const),
      ]),
      select(
        'schedule',
        texts.schedule,
        typed,
        SCHEDULES.map((each) => [each, texts.schedules[each]] as const),
      ),
      select(
        'weekday',
        texts.weekday,
        typed,
        WEEKDAYS.map((day, index) => [day, texts.weekdays[index] ?? day] as const),
      ),
      { ...input('minimum', texts.minimum, texts.minimumHint), attributes: html`inputmode="decimal"` },
      html`<p class="muted">${texts.delay}</p>`,
    ],
    submit: t.save,
  });
}

function select(
  name: string,
  label: string,
  typed: (name: string) => string,
  choices: readonly (readonly [value: string, label: string])[],
) {
  return { type: 'select', name, label, value: typed(name), choices } as const;
}

async function changeRule(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder } = request;
  const reading = readRule(request);
  if ('errors' in reading) return settlementsPage(request, reading.errors);
  try {
    await setSettlementRule(ctx, actor, holder.id, reading, async (tx, rule) => {
      if (rule.usable_from > rule.updated_at) await mailDestination(tx, request, rule);
    });
  } catch (error) {
    if (error instanceof Problem && error.details.errors)
      return settlementsPage(request, formErrors(request, error.details.errors));
    throw error;
  }
  return redirect(request, `/console${PATH}`, 'saved');
}

/** What a person can type wrong, in their language. */
function formErrors(request: HolderRequest, errors: FieldErrors): FieldErrors {
  const { wrong } = request.t.settlements;
  const currency = fieldOf(request, 'currency', 3);
  const texts: FieldErrors = {
    name: [wrong.text],
    bank: [wrong.text],
    account: [wrong.account],
    branch: [wrong.branch],
    mobile: [wrong.mobile(currency)],
    method: [wrong.method],
    currency: [wrong.currency(currency)],
  };
  return Object.fromEntries(Object.entries(errors).map(([name, given]) => [name, texts[name] ?? given]));
}

function readRule(request: HolderRequest): SettlementRuleRequest | { errors: FieldErrors } {
  const field = (name: string) => fieldOf(request, name, MAX_TEXT).trim();
  const currency = field('currency');
  const schedule = SCHEDULES.find((each) => each === field('schedule')) ?? 'none';
  const minimum = readTypedAmount(field('minimum') || '0', request.language, { currency, zero: true });
  if (!minimum.ok) return { errors: { minimum: [minimum.sentence] } };
  const name = field('name');
  const destination =
    field('kind') === 'mobile'
      ? ({ kind: 'mobile', mobile: field('mobile'), method: field('method') || undefined, name } as const)
      : ({ kind: 'bank', bank: field('bank'), branch: field('branch'), account: field('account'), name } as const);
  const weekday = WEEKDAYS.find((day) => day === field('weekday')) ?? '1';
  return { currency, destination, schedule, weekday: Number(weekday), minimum: minimum.amount };
}

async function settlementPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const texts = t.settlements;
  const settlement = await requireSettlement(ctx.db, paramOf(request, 'ref'), { holderId: holder.id });
  const ref = settlementRef(settlement);
  const [states, report] = await Promise.all([readStates(ctx.db, [settlement]), reportSettlement(ctx, settlement)]);
  const { transaction_id: payout, bank_reference: reference } = settlement;
  return renderPage(request, {
    title: money(request, settlement.amount, settlement.currency),
    breadcrumbs: breadcrumbs(
      t.transaction.breadcrumbs,
      [[t.menu.settlements, `/console${PATH}`]],
      html`<code>${ref}</code>`,
    ),
    active: 'settlements',
    actions: html`<a class="button-secondary" href="/console${PATH}/${ref}/report" download>${texts.report} (CSV)</a>`,
    body: html`
      ${facts([
        [t.reference, html`<code>${ref}</code>`],
        [t.state, stateTag(request, states.get(settlement.id) ?? 'waiting')],
        [texts.period, settlement.period],
        [texts.to, html`<bdi>${settlement.destination.name}, ${describeDestination(settlement.destination)}</bdi>`],
        [texts.taken, timeTag(request, settlement.taken_at)],
        ...optional(payout !== null, t.directions.payout, payout && transactionLink(refOf({ id: payout }))),
        ...optional(settlement.status === 'paid', texts.bankReference, html`<bdi>${reference}</bdi>`),
        ...optional(settlement.reason !== null, texts.reason, html`<bdi>${settlement.reason}</bdi>`),
        [texts.owed, money(request, settlement.owed, settlement.currency)],
      ])}
      ${reportTable(request, report)}
    `,
  });
}

type Fact = readonly [label: string, value: HtmlValue];
const optional = (isShown: boolean, label: string, value: HtmlValue): Fact[] => (isShown ? [[label, value]] : []);

function reportTable(
  request: HolderRequest,
  { settlement, opening, totals, closing, reserved }: SettlementReport,
): Html {
  const texts = request.t.settlements;
  const { currency } = settlement;
  const row = (label: string, net: bigint) => [label, '', '', '', money(request, net, currency)];
  return html`
    <section id="report">
      <h2>${texts.report}</h2>
      ${dataTable(
        texts.report,
        [
          { label: texts.what, phone: 'main' },
          { label: texts.count, right: true },
          { label: texts.gross, right: true },
          { label: texts.fee, right: true },
          { label: texts.net, right: true, phone: 'amount' },
        ],
        [
          row(texts.opening, opening),
          ...totals.map(({ kind, count, gross, fee, net }) => [
            texts.lines[kind],
            count,
            money(request, gross, currency),
            money(request, fee, currency),
            money(request, net, currency),
          ]),
          row(texts.closing, closing),
          row(texts.reserved, reserved),
        ],
      )}
    </section>
  `;
}

async function downloadReport(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, language } = request;
  const settlement = await requireSettlement(ctx.db, paramOf(request, 'ref'), { holderId: holder.id });
  const csv = writeReport(await reportSettlement(ctx, settlement), language);
  return request.reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${settlementRef(settlement)}.csv"`)
    .header('Cache-Control', 'no-store')
    .header('X-Content-Type-Options', 'nosniff')
    .send(csv);
}
