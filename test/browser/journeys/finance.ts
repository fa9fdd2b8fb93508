// A finance officer at the end of a month: a range with its totals, a file that adds up to them, the statement, and a list
// of salaries that a second person approves.

import assert from 'node:assert/strict';
import { parse } from 'csv-parse/sync';
import { setPayoutApproval } from '../../../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../../../src/holders/audit.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { DAY_MS } from '../../../src/platform/clock.ts';
import { amountFrom } from '../../../src/platform/money.ts';
import { collectInKenya } from '../../client.ts';
import { addPerson, type Person } from '../../console-harness.ts';
import type { TestGateway } from '../../gateway.ts';
import { createShop, type Shop } from '../../shop.ts';
import { type JourneySetup, type Traveller, travel } from './traveller.ts';

const SALARIES =
  'amount,currency,mobile,method,payee\n1500,KES,0712345000,MPESA_KEN,Juma\n1200,KES,0712346000,MPESA_KEN,Asha';

type Row = Record<string, string>;

export async function financeJourney(setup: JourneySetup): Promise<string[]> {
  const { gateway } = setup;
  const { shop, officer, owner } = await openMonth(gateway);
  const brian = await travel(setup, officer);
  await compareExport(brian);
  await compareStatement(brian);
  await orderSalaries(brian);
  await gateway.settle();

  const amina = await travel(setup, owner);
  await amina.open('/console');
  assert.match(await amina.read(), /2 payouts to approve KES 2 700/);
  await amina.press('main .todos a[href="/console/payouts"]');
  await amina.press('form[action*="/payouts/files/"] button');
  await gateway.settle();
  await amina.goTo('/console/payouts');
  assert.match(await amina.read(), /Juma.*Succeeded/);
  await amina.leave();
  await brian.leave();
  assert.deepEqual((await verifyLedger(gateway.ctx)).differences, []);
  assert.equal((await ordersOf(gateway, shop)).length, 2);
  return [...brian.crossed, ...amina.crossed];
}

async function openMonth(gateway: TestGateway): Promise<{ shop: Shop; officer: Person; owner: Person }> {
  const { ctx } = gateway;
  const shop = await createShop(ctx, 'Duka la Amani');
  const end = ctx.clock.now();
  for (const [ago, ending] of [
    [40, '000'],
    [3, '000'],
    [2, '001'],
    [1, '000'],
    [0, '000'],
  ] as const) {
    ctx.clock.set(new Date(end.getTime() - ago * DAY_MS));
    await collectInKenya(gateway, shop, { mobile: `254712309${ending}`, amount: 2500 + ago * 10 });
  }
  await setPayoutApproval(ctx, COMMAND_LINE, shop.holderId, true);
  return {
    shop,
    officer: await addPerson(gateway, shop.holderId, 'finance', `brian@${shop.holderId}.example.org`),
    owner: await addPerson(gateway, shop.holderId, 'owner', `amina@${shop.holderId}.example.org`),
  };
}

/** The file has the rows of the list, and its sums are those over the list. */
async function compareExport(brian: Traveller): Promise<void> {
  const { page } = brian;
  await brian.open('/console');
  await brian.goTo('/console/transactions');
  await page.click('main details:has(a[href*="range=week"]) > summary');
  await brian.press('main a[href*="range=week"]');
  const shown = /(\d+) transactions · KES ([\d ]+) in/.exec(await brian.read('.totals'));
  assert.ok(shown, await brian.read('.totals'));
  const file = await brian.download((await page.getAttribute('a[data-export]', 'href')) ?? '');
  const rows = parse(file, { columns: true, bom: true }) as Row[];
  assert.equal(rows.length, Number(shown[1]));
  const paid = rows.filter(({ status }) => status === 'success');
  assert.equal(sumOf(paid, 'amount'), amountFrom((shown[2] ?? '').replaceAll(' ', '')));
}

async function compareStatement(brian: Traveller): Promise<void> {
  await brian.goTo('/console/balances');
  await brian.press('main a[href="/console/balances/KES"]');
  const file = await brian.download('/console/balances/KES/statement.csv');
  const rows = parse(file, { columns: true, bom: true }) as Row[];
  assert.ok(rows.length >= 4);
  const [newest] = rows;
  // Each line changes the balance: together they are the balance of the newest.
  assert.equal(sumOf(rows, 'change'), amountFrom(newest?.balance ?? ''));
}

/** Checked, shown and ordered; who ordered it cannot approve it. */
async function orderSalaries(brian: Traveller): Promise<void> {
  await brian.goTo('/console/payouts');
  await brian.press('main a[href="/console/payouts/import"]');
  await brian.page.fill('#f-name', 'Salaries');
  await brian.page.fill('#f-csv', SALARIES);
  await brian.press('form[action$="/payouts/check"] button:not([type=button])');
  assert.match(await brian.read(), /Nothing has been sent yet.*Juma.*Asha/);
  await brian.press('form[action$="/payouts/import"] button');
  assert.match(await brian.read(), /Needs approval/);
  assert.equal(await brian.page.locator('form[action$="/approve"]').count(), 0);
}

function sumOf(rows: readonly Row[], column: string): bigint {
  return rows.reduce((sum, row) => sum + amountFrom(row[column] ?? ''), 0n);
}

function ordersOf({ ctx }: TestGateway, { holderId }: Shop): Promise<unknown[]> {
  return ctx.db.query(
    "select 1 from transactions where holder_id = $1 and direction = 'payout' and status = 'success'",
    [holderId],
  );
}
