// The demo holder: in sandbox mode a new database gets a holder with an integration and a payment link, and
// DATA_DIR/demo.json has its credentials. All of it can be read from the database, so the file is written again at every
// start, with the current address.

import { type DemoFile, writeDemoFile } from './demo-file.ts';
import { type Actor, COMMAND_LINE } from './holders/audit.ts';
import { createHolder, findActiveHolder, findHolder, type Holder, listHolders } from './holders/holders.ts';
import { DEFAULT_KEY } from './holders/integration-secrets.ts';
import {
  createIntegration,
  type Integration,
  listIntegrations,
  loadLiveIntegration,
  updateIntegration,
} from './holders/integrations.ts';
import { addMember, createLoginLink, findMemberByEmail, listMemberships, type Member } from './holders/members.ts';
import { ensureWallets } from './ledger/accounts.ts';
import { balancesOf } from './ledger/ledger.ts';
import type { PaymentsContext } from './payments/context.ts';
import { publicUrl } from './platform/config.ts';
import type { Context } from './platform/context.ts';

const DEMO_NAME = 'Demo shop';
export const DEMO_EMAIL = 'demo@simbi.local';
/** Reusable, so that it can be paid many times. */
const DEMO_LINK = {
  business_name: DEMO_NAME,
  item_name: 'Woven basket',
  amount: '2500',
  currency: 'KES',
  country_id: 1,
  reusable: true,
};
/** The zone of its currency. */
const DEMO_ZONE = 'Africa/Nairobi';
/** The sample link is looked for among the newest ones. */
const LINKS_SEARCHED = 1_000;
const RECEIVER_PATH = '/sandbox/callbacks';
/** A number without a scenario: its prompt waits on the test phone. */
const FIRST_PAYER = '254712345678';
/** "demo" in ASCII. With this lock, only one of several processes creates the demo holder in a new database. */
const DEMO_LOCK = 1_684_368_751n;
const ACTOR: Actor = { ...COMMAND_LINE, name: 'first start' };

export type Demo = { file: DemoFile; path: string; isNew: boolean };

/** The wallets and the payment link of the demo holder; created if missing, at every start. */
async function prepareWalletAndLink(
  ctx: PaymentsContext,
  integration: Integration,
): Promise<Pick<DemoFile, 'wallet_accounts' | 'payment_link'>> {
  // Loaded only here, because commands that read demo.json need no catalogue.
  const [{ createLink, linkUrl }, { listLinks }] = await Promise.all([
    import('./links/links.ts'),
    import('./links/listing.ts'),
  ]);
  const { holderId } = integration;
  const wallets = await ctx.db.transaction((tx) =>
    ensureWallets(tx, [{ holderId, currency: DEMO_LINK.currency }], ctx.clock.now()),
  );
  const owner = { holderId, integrationId: integration.id, defaultCallbackUrl: integration.defaultCallbackUrl };
  const links = await listLinks(ctx.db, holderId, {
    before: null,
    status: 'active',
    limit: LINKS_SEARCHED,
    now: ctx.clock.now(),
  });
  const sample = links.findLast(({ item_name }) => item_name === DEMO_LINK.item_name);
  const link = sample ?? links[0] ?? (await createLink(ctx, owner, DEMO_LINK));
  const balances = await balancesOf(ctx.db, holderId);
  return {
    wallet_accounts: [...new Set([...wallets, ...balances].map((wallet) => wallet.walletAccount))],
    payment_link: linkUrl(ctx.config, link),
  };
}

/** Creates the demo holder in a new database, finds it in a used one, and writes demo.json. */
export async function prepareDemo(ctx: PaymentsContext): Promise<Demo | null> {
  const demo = await ctx.db.withLock(DEMO_LOCK, () => findOrCreateDemo(ctx));
  if (!demo) return null;
  const base = publicUrl(ctx.config);
  const live = await loadLiveIntegration(ctx, { id: demo.integration.id });
  const link = await createLoginLink(ctx, demo.member.id);
  const file: DemoFile = {
    base_url: base,
    client_id: demo.integration.clientId,
    secret_key:
      live?.keys
        .find((key) => key.name === DEFAULT_KEY)
        ?.secret.export()
        .toString('utf8') ?? '',
    sender: demo.integration.title,
    callback_secret: live?.callbackSecrets[0] ?? '',
    console_url: `${base}/console`,
    login_link: loginUrl(base, link.token),
    ...(await prepareWalletAndLink(ctx, demo.integration)),
    phone_url: `${base}/sandbox/phone`,
  };
  return { file, path: await writeDemoFile(ctx.config, file), isNew: demo.isNew };
}

/** The URL of a one-time sign-in token. */
export function loginUrl(base: string, token: string): string {
  return `${base}/console/login/${token}`;
}

async function findOrCreateDemo(
  ctx: Context,
): Promise<{ member: Member; integration: Integration; isNew: boolean } | null> {
  const isNew = (await listHolders(ctx.db, { limit: 1 })).length === 0;
  // Each part is looked for and created if it is missing, so the next start completes one that was killed half way.
  const holder = isNew ? await createHolder(ctx, ACTOR, DEMO_NAME, DEMO_ZONE) : await findDemoHolder(ctx);
  if (!holder) return null;
  const person = { email: DEMO_EMAIL, name: 'Demo', holderId: holder.id, role: 'owner' } as const;
  const member = (await findMemberByEmail(ctx.db, DEMO_EMAIL)) ?? (await addMember(ctx, ACTOR, person));
  const integrations = await listIntegrations(ctx.db, holder.id);
  const callbackUrl = `${publicUrl(ctx.config)}${RECEIVER_PATH}`;
  if (integrations.length === 0) {
    const integration = await createIntegration(ctx, ACTOR, holder.id, DEMO_NAME, { defaultCallbackUrl: callbackUrl });
    return { member, integration, isNew };
  }
  const integration = integrations.find((one) => one.title === DEMO_NAME && one.status === 'active');
  if (!integration) return null;
  // The URL of the built-in receiver follows the port; a URL that somebody configured stays.
  const moved =
    integration.defaultCallbackUrl?.endsWith(RECEIVER_PATH) && integration.defaultCallbackUrl !== callbackUrl;
  if (moved) await updateIntegration(ctx, ACTOR, holder.id, integration.id, { defaultCallbackUrl: callbackUrl });
  return { member, integration, isNew };
}

/** By its name, or, after it was given another one, as the first account of the demo member. */
async function findDemoHolder(ctx: Context): Promise<Holder | null> {
  const named = await findActiveHolder(ctx.db, DEMO_NAME);
  if (named) return named;
  const member = await findMemberByEmail(ctx.db, DEMO_EMAIL);
  const [first] = member
    ? (await listMemberships(ctx.db, member.id)).sort((a, b) => Number(a.holder_id - b.holder_id))
    : [];
  const holder = first ? await findHolder(ctx.db, first.holder_id) : null;
  return holder?.status === 'active' ? holder : null;
}

/** What `simbi up` prints: links, credentials and the next command to try. */
export function demoBlock(demo: DemoFile, options: { path: string; secret: boolean; isRunning?: true }): string {
  // The link of a gateway that runs already was probably used: it works once.
  const console: [string, string, string] = options.isRunning
    ? ['Console', demo.console_url, 'sign-in link: npx simbi login-link']
    : ['Console', demo.login_link, 'works once, for 30 minutes; new link: npx simbi login-link'];
  const lines: [string, string, string?][] = [
    ['First page', demo.base_url, 'start here'],
    console,
    ...(demo.payment_link ? [['Checkout', demo.payment_link, 'a payment link'] as [string, string, string]] : []),
    ['Phone', `${demo.phone_url}?n=${FIRST_PAYER}`, 'the test phone: enter any four digits to approve'],
    ['Callbacks', `${demo.base_url}${RECEIVER_PATH}`, 'the callbacks that your server would receive'],
    ['API', demo.base_url],
    ['Docs', `${demo.base_url}/docs/quickstart`],
    ['client_id', demo.client_id],
    ['sender', demo.sender],
    options.secret ? ['secret_key', demo.secret_key] : ['Secrets', options.path],
  ];
  const rows = lines.map(([name, value, note]) => `  ${name.padEnd(12)}${value}${note ? `   (${note})` : ''}`);
  return [
    ...rows,
    '',
    '  First payment: open the phone above, then run in a second terminal',
    `    npx simbi collect 2500 KES --phone ${FIRST_PAYER} --wait`,
    '    npx simbi callbacks list',
    '',
    '  Stop: Ctrl-C (data is kept)   Problems: npx simbi doctor',
  ].join('\n');
}
