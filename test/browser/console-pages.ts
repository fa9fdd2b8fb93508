// A console with something on every page, and the addresses of all of them: for the tests of every page and for the
// screenshots.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { proposeForBreaks } from '../../src/books/break-proposals.ts';
import { listBreaks } from '../../src/books/breaks.ts';
import { prepareClose } from '../../src/books/closes.ts';
import { importStatement } from '../../src/books/import-statement.ts';
import { settlementRef } from '../../src/books/settlement-rows.ts';
import { takeSettlement } from '../../src/books/settlements.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { rotateSecret, updateIntegration } from '../../src/holders/integrations.ts';
import { inviteMember } from '../../src/holders/invitations.ts';
import { addKey } from '../../src/holders/keys.ts';
import { createLoginLink } from '../../src/holders/members.ts';
import { writeUnverified } from '../../src/holders/unverified-requests.ts';
import { createLink, linkId } from '../../src/links/links.ts';
import { listCasesOf } from '../../src/payments/cases.ts';
import { createConnection, routeConnection, setRoute } from '../../src/payments/connection-changes.ts';
import { recordBalances } from '../../src/payments/operator-balances.ts';
import { applyOutcomes } from '../../src/payments/outcomes.ts';
import { topUpSandbox } from '../../src/payments/sandbox-top-up.ts';
import { idFromRef } from '../../src/payments/transactions.ts';
import { DAY_MS } from '../../src/platform/clock.ts';
import type { Context } from '../../src/platform/context.ts';
import { flushRefusals, type LimitKind, noteRefusal } from '../../src/platform/held-back.ts';
import { createUuid, publicId } from '../../src/platform/ids.ts';
import { collectInKenya } from '../client.ts';
import { addPerson, importPayouts, type Person, payOut } from '../console-harness.ts';
import type { TestGateway } from '../gateway.ts';
import { createShop, type Shop, tokenOf } from '../shop.ts';
import { writeStatementDay } from '../statement-day.ts';
import { createStatementFolder } from '../statements.ts';
import type { State } from './states.ts';

const DAYS = 10;

export type FullConsole = { shop: Shop; person: Person; pages: State[]; receiver: Server };

/** The last digits of a number decide what becomes of it. */
const FAILED = { state: 'failed', failureCode: 'PAYER_CANCELLED', rawCode: 'CANCELLED', message: '' } as const;
const ENDINGS = ['000', '000', '001', '000', '002', '000', '000', '011'];

/** One entry of each kind for the page of limits. */
async function holdSomebodyBack({ ctx }: TestGateway, shop: Shop): Promise<void> {
  const until = new Date(ctx.clock.millis() + 540_000);
  const refuse = (kind: LimitKind, key: string, subject: string) => noteRefusal(ctx, { kind, key, subject, until });
  refuse('integration', shop.clientId, `${shop.title} (${shop.clientId})`);
  refuse('holder', String(shop.holderId), String(shop.holderId));
  refuse('prompts', 'number', '+25471••••56');
  refuse('tokens', 'number', '+25471••••56');
  refuse('address', '2001:db8:12:34::/64', '2001:db8:12:34::/64');
  refuse('guess', 'ab'.repeat(32), 'password a.rather.long.name@post.example.org');
  await flushRefusals(ctx);
  await ctx.db.query(
    `insert into callback_receivers (holder_id, origin, failing_since, last_error, probe_at)
     values ($1, 'https://hooks.example.org', $2, 'The receiver answered 500.', $3)`,
    [shop.holderId, ctx.clock.now(), until],
  );
}

/** A connection whose simulator is not running: its page shows calls without an answer, and a balance of before. */
async function connectOperator({ ctx }: TestGateway): Promise<void> {
  await createConnection(ctx, COMMAND_LINE, { rail: 'daraja', name: 'kenya', environment: 'simulator', values: {} });
  await routeConnection(ctx, COMMAND_LINE, 'kenya');
  await setRoute(ctx, COMMAND_LINE, { holderId: null, method: 'MPESA_KEN', direction: 'collection', connections: [] });
  await ctx.rails.byName('kenya')?.check();
  const balance = { connection: 'kenya', account: 'Utility Account', currency: 'KES', available: 25_000_000n };
  await ctx.db.transaction((tx) => recordBalances(tx, [balance], ctx.clock.now()));
}

/** A day before all others, with a statement that was compared, and a decision that waits for a second person. */
async function fillBooks(gateway: TestGateway, person: Person): Promise<State[]> {
  const { ctx } = gateway;
  const now = ctx.clock.now();
  ctx.clock.set(new Date(now.getTime() - 2 * DAYS * DAY_MS));
  const { day, csv } = await writeStatementDay(gateway, await createShop(ctx, 'Mama Mboga'));
  ctx.clock.set(now);
  const folder = await createStatementFolder();
  const path = await folder.write('org.csv', csv);
  await importStatement(ctx, COMMAND_LINE, { connection: 'sandbox', path, name: 'ORG_600998.csv', source: 'command' });
  await folder.close();
  await prepareClose(ctx, { connection: 'sandbox', currency: 'KES', day });
  const breaks = await listBreaks(ctx.db, { status: 'open', day }, 10);
  const actor = { memberId: person.member.id, name: person.member.email };
  const breakIds = breaks.filter(({ kind }) => kind === 'missing_with_us').map(({ id }) => id);
  const proposal = await proposeForBreaks(ctx, actor, { action: 'suspense', reason: 'The payer called.', breakIds });
  const shown = breaks.find(({ kind }) => kind === 'state') ?? breaks[0];
  const at = (name: string, below: string): State => ({
    name: `console admin books${name}`,
    url: `${gateway.url}/console/admin/books${below}`,
  });
  return [
    at('', `?day=${day}`),
    at(' breaks', '/breaks'),
    at(' break', `/breaks/${shown?.id}`),
    at(' decide', '/decide?all=yes'),
    at(' proposals', '/proposals'),
    at(' proposal', `/proposals/${proposal}`),
    at(' close', `/close?connection=sandbox&currency=KES&day=${day}`),
    at(' closes', '/closes?connection=sandbox&currency=KES'),
  ];
}

export async function fillConsole(gateway: TestGateway): Promise<FullConsole> {
  const { ctx } = gateway;
  const shop = await createShop(ctx, 'Duka la Amani');
  const receiver = createServer((request, response) => request.resume().on('end', () => response.end('thank you')));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  await updateIntegration(ctx, COMMAND_LINE, shop.holderId, shop.id, { defaultCallbackUrl: hook });
  const refs: string[] = [];
  const start = ctx.clock.now().getTime() - DAYS * DAY_MS;
  for (let day = 0; day <= DAYS; day++) {
    ctx.clock.set(new Date(start + day * DAY_MS));
    for (let each = 0; each < 3 + ((day * 5) % 7); each++) {
      ctx.clock.advance(60_000);
      const ending = ENDINGS[(day + each) % ENDINGS.length] ?? '000';
      const number = `2547${12 + day}${String(300 + each * 7).padStart(3, '0')}${ending}`.slice(0, 12);
      refs.push(
        await collectInKenya(gateway, shop, {
          mobile: number,
          amount: 500 + each * 350 + day * 10,
          third_party_reference_1: `order-${1000 + day * 10 + each}`,
        }),
      );
    }
  }
  // One that needs a person: the callback says yes, the status query says no.
  const contradicted = await collectInKenya(gateway, shop, { mobile: '254712399010', amount: 900 });
  await gateway.advance(30_000);
  const id = idFromRef(contradicted) ?? '';
  await ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [{ transactionId: id, source: 'poll', observation: FAILED, raw: '{"status":"failed"}' }]),
  );
  const ringing = await collectInKenya(gateway, shop, {
    mobile: '254712345678',
    amount: 1200,
    third_party_reference_1: 'order-2001',
  });
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, 'KES', 5_000_000n);
  const person = await addPerson(gateway, shop.holderId, 'owner', 'amina@example.org', { admin: true });
  await addPerson(gateway, shop.holderId, 'finance', 'otieno@example.org');
  await payOut(person, {
    amount: '1500',
    currency: 'KES',
    mobile: '0712345000',
    method: 'MPESA_KEN',
    payee: 'Wanjiku Otieno',
    invoice_no: 'INV-7',
  });
  await person.post('/console/settings/approval', { needed: 'yes' });
  const waiting = await payOut(person, {
    amount: '800',
    currency: 'KES',
    mobile: '0712346000',
    method: 'MPESA_KEN',
    payee: 'Achieng Supplies',
  });
  await person.post('/console/settings/approval', {});
  await person.post('/console/settings/approval/refunds', { currency: 'KES', limit: '5000' });
  const file = await importPayouts(person, {
    name: 'Wages March',
    csv: 'amount,currency,mobile,method,payee\n100,KES,0712345000,MPESA_KEN,Juma\n200,KES,0712346000,MPESA_KEN,Asha',
  });
  await gateway.settle();
  const link = await createLink(
    ctx,
    { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null },
    { country_id: 1, currency: 'KES', amount: '2500', item_name: 'Fruit basket', reusable: true },
  );
  await createLink(
    ctx,
    { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null },
    { country_id: 1, currency: 'KES', item_name: 'Donation' },
  );
  await addCredentials(ctx, shop);
  await inviteMember(ctx, COMMAND_LINE, shop.holderId, 'new@example.org', 'developer', 'page');
  await ctx.db.query(
    `insert into cases (id, holder_id, transaction_id, kind, opened_at) values (gen_random_uuid(), $1, null, 'unknown_reference', $2)`,
    [shop.holderId, ctx.clock.now()],
  );
  const refund = await person.post(`/console/transactions/${refs[0] ?? ''}/refund`, {
    amount: '200',
    reason: 'Came back',
  });
  await person.post(`/console/transactions/${refs[2] ?? ''}/notes`, { note: 'Called her: she pays on Friday.' });
  const cases = await listCasesOf(ctx.db, shop.holderId, id);
  const caseRef = publicId('case', cases[0]?.id ?? '');
  await holdSomebodyBack(gateway, shop);
  await connectOperator(gateway);
  const booksPages = await fillBooks(gateway, person);
  const settlement = await settleWallet(gateway, shop, person);
  const { token } = await createLoginLink(ctx, person.member.id);
  const at = (name: string, path: string): State => ({ name: `console ${name}`, url: `${gateway.url}/console${path}` });
  const filePath = (file.location ?? '').split('?')[0]?.replace('/console', '') ?? '';
  const refundPath = (refund.location ?? '').split('?')[0]?.replace('/console', '') ?? '';
  const payout = (waiting.location ?? '').split('?')[0]?.replace('/console', '') ?? '';
  return {
    shop,
    person,
    receiver,
    pages: [
      at('login link', `/login/${token}`),
      at('welcome', '/welcome'),
      at('sample shop', '/sample-shop'),
      at('home', ''),
      at('home month', '?range=month'),
      at('transactions', '/transactions'),
      at('transactions filtered', '/transactions?status=failed&type=collection'),
      at('case file', `/transactions/${refs.find((_, index) => index === 0) ?? ''}`),
      at('case file failed', `/transactions/${refs[2] ?? ''}`),
      at('case file ringing', `/transactions/${ringing}`),
      at('case file contradicted', `/transactions/${contradicted}`),
      at('case file payout', payout),
      at('case file refund', refundPath),
      at('refund new', `/transactions/${refs[0] ?? ''}/refund`),
      at('transactions filter open', '/transactions?range=month&method=MPESA_KEN&open=filter'),
      at('search', '/search?q=order-1003'),
      at('search others', '/search?q=pay'),
      at('search nothing', '/search?q=nothing-like-this'),
      at('links', '/links'),
      at('link', `/links/${linkId(link)}`),
      at('link new', '/links/new'),
      at('link edit', `/links/${linkId(link)}/edit`),
      at('link copy', `/links/new?from=${linkId(link)}`),
      at('payouts', '/payouts'),
      at('payout new', '/payouts/new'),
      at('payout import', '/payouts/import'),
      at('payout file', filePath),
      at('settings', '/settings'),
      at('notifications', '/notifications'),
      at('balances', '/balances'),
      at('statement', '/balances/KES?day=2026-03-02'),
      at('settlements', '/settlements'),
      at('settlement', `/settlements/${settlement}`),
      at('cases', '/cases'),
      at('case', `/cases/${caseRef}`),
      at('integrations', '/integrations'),
      at('integration', `/integrations/${shop.clientId}`),
      at('integration new', '/integrations/new'),
      at('callbacks', '/callbacks'),
      at('requests', '/requests'),
      at('debugger', '/debugger'),
      at('team', '/team'),
      at('team member', `/team/${person.member.id}`),
      at('audit', '/audit'),
      at('account', '/account'),
      at('account proof', '/account/proof'),
      at('confirm', '/confirm'),
      at('not found', '/transactions/TX_00000000000000000000000000'),
      at('admin', '/admin'),
      at('admin holder', `/admin/holders/${shop.holderId}`),
      at('admin holder payments', `/admin/holders/${shop.holderId}/payments`),
      at('admin system', '/admin/system'),
      at('admin rails', '/admin/rails'),
      at('admin rail new', '/admin/rails/new'),
      at('admin rail form', '/admin/rails/new?rail=daraja&environment=sandbox'),
      at('admin rail', '/admin/rails/kenya'),
      at('admin rail settings', '/admin/rails/kenya/settings'),
      at('admin rail routes', '/admin/rails/routes'),
      at('admin cases', '/admin/cases'),
      at('admin case', `/admin/cases/${caseRef}`),
      at('admin debts', '/admin/debts'),
      at('admin reports', '/admin/reports'),
      at('admin ledger', '/admin/ledger'),
      at('admin limits', '/admin/limits'),
      at('admin audit', '/admin/audit'),
      ...booksPages,
    ],
  };
}

/** A destination, and what the wallet holds on its way there. */
async function settleWallet({ ctx }: TestGateway, shop: Shop, owner: Person): Promise<string> {
  await owner.post('/console/settlements', {
    currency: 'KES',
    kind: 'bank',
    name: 'Duka Ltd',
    bank: 'KCB',
    branch: '01100',
    account: '1100123456',
    schedule: 'weekly',
    weekday: '5',
  });
  // Its day has passed.
  await ctx.db.query('update settlement_rules set usable_from = updated_at');
  const engine = { wake: () => undefined };
  const request = { holderId: shop.holderId, currency: 'KES', period: 'hand-1', amount: 100_000n };
  const result = await takeSettlement(ctx, engine, COMMAND_LINE, request);
  if (result.outcome !== 'taken') throw new Error(`The settlement was not taken: ${result.outcome}`);
  return settlementRef(result.settlement);
}

/** A second key, a token, and a request that nobody signed. */
async function addCredentials(ctx: Context, shop: Shop): Promise<void> {
  const access = { name: 'web-shop', scopes: ['collect', 'read'], allowedAddresses: ['203.0.113.0/24'] } as const;
  await addKey(ctx, COMMAND_LINE, shop.holderId, shop.id, access);
  await rotateSecret(ctx, COMMAND_LINE, shop.holderId, shop.id, 'api', 86_400, 'web-shop');
  await tokenOf(ctx, shop);
  const { holderId, id: integrationId } = shop;
  const request = {
    status: 403,
    route: 'POST /api/v3/get-unified-balance',
    address: '203.0.113.7',
    code: 'signature_mismatch',
  };
  const id = createUuid(ctx.clock.millis());
  await writeUnverified(ctx, [{ ...request, holderId, integrationId, id, at: ctx.clock.now() }]);
}
