// simbi link: payment links. Created and listed through the API; disabled directly in the database, like in the console.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { chooseCountry, readCountries } from './collect.ts';
import { HOLDER_OPTION, requireHolder } from './payments-context.ts';
import { CREDENTIALS_HELP, fetchToken, postSigned, readCredentials, request } from './remote.ts';
import { addCommand, parseLimit, print, requireAmount, type Terminal, table, withContext } from './terminal.ts';

const MAX_LISTED = 1_000;

type CreateOptions = {
  json?: boolean;
  amount?: string;
  country?: string;
  payerCountry?: string;
  item?: string;
  business?: string;
  phone?: string;
  email?: string;
  firstName?: string;
  lastName?: string;
  callbackUrl?: string;
  redirectUrl?: string;
  expires?: string;
  reusable?: boolean;
};
type Link = {
  id: string;
  payment_link: string;
  short_url: string;
  item_name: string | null;
  amount: string | null;
  currency: string;
  status: string;
  payments_count: number;
};

export function linkCommands(group: Command, terminal: Terminal): void {
  addCreate(group, terminal);

  addCommand(group, 'list', 'list payment links, newest first', [
    'npx simbi link list',
    'npx simbi link list --status active --limit 10',
  ])
    .option('--status <status>', 'active, paid, expired or disabled')
    .option('--limit <number>', 'maximum number of rows', '50')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean; status?: string; limit: string }) => {
      const limit = parseLimit(options.limit, MAX_LISTED);
      const credentials = await readCredentials(terminal);
      const { token } = await fetchToken(credentials);
      const query = new URLSearchParams({
        limit: String(limit),
        ...(options.status ? { status: options.status } : {}),
      });
      const answer = await request(credentials.url, `/api/payment-link-api/list?${query.toString()}`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      const links = answer.body.data as Link[];
      print(terminal, options, links, rowsOf(links));
    });

  addCommand(group, 'disable <id>', 'disable a payment link', ['npx simbi link disable pl_01J…'])
    .option(...HOLDER_OPTION)
    .action(async (id: string, options: { json?: boolean; holder?: string }) => {
      const link = await withContext(terminal, async (ctx) => {
        const { describeLink, disableLink } = await import('../links/links.ts');
        const holder = await requireHolder(terminal, ctx, options.holder);
        return describeLink(ctx, await disableLink(ctx, COMMAND_LINE, holder.id, id));
      });
      print(terminal, options, link, rowsOf([link]));
    });
}

function addCreate(group: Command, terminal: Terminal): void {
  addCommand(group, 'create <currency>', 'create a payment page', [
    'npx simbi link create UGX --amount 25000 --item "Chicken and rice"',
    'npx simbi link create XOF --country Benin --reusable',
  ])
    .option('--amount <amount>', 'without it the payer enters the amount')
    .option('--country <name or id>', 'your country, if the currency has several')
    .option('--payer-country <name or id>', "the payer's country; without it the payer chooses")
    .option('--item <name>', 'name of the item')
    .option('--business <name>', 'name of the business')
    .option('--phone <number>', "the payer's phone number")
    .option('--email <address>', "the payer's e-mail address")
    .option('--first-name <name>', "the payer's first name")
    .option('--last-name <name>', "the payer's last name")
    .option('--callback-url <url>', 'URL for callbacks')
    .option('--redirect-url <url>', 'URL the payer is sent to after paying')
    .option('--expires <moment>', 'expiry time, for example 2026-12-31T18:00:00Z')
    .option('--reusable', 'allow more than one payment')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (code: string, options: CreateOptions) => {
      const currency = code.toUpperCase();
      const amount = options.amount === undefined ? undefined : formatAmount(requireAmount(options.amount, currency));
      const credentials = await readCredentials(terminal);
      const rows = (await readCountries(credentials)).payment_links;
      const country = chooseCountry(rows, currency, options.country);
      const payer = options.payerCountry && chooseCountry(rows, currency, options.payerCountry);
      const given: Record<string, JsonObject[string] | undefined> = {
        currency,
        country_id: country.country_id,
        currency_country_id: payer ? payer.country_id : undefined,
        amount,
        item_name: options.item,
        business_name: options.business,
        phone: options.phone,
        email: options.email,
        first_name: options.firstName,
        last_name: options.lastName,
        callback_url: options.callbackUrl,
        redirection_url: options.redirectUrl,
        expires_at: options.expires,
        reusable: options.reusable,
      };
      const params: JsonObject = {};
      for (const [name, value] of Object.entries(given)) if (value !== undefined) params[name] = value;
      const { body } = await postSigned(credentials, '/api/v3/payment-link-api/create', params);
      const link = body.data as Link;
      print(terminal, options, link, link.payment_link);
      terminal.say(`Short address: ${link.short_url}`);
    });
}

function rowsOf(links: Link[]): string {
  return table(
    ['id', 'status', 'amount', 'item', 'payments', 'URL'],
    links.map((link) => [
      link.id,
      link.status,
      link.amount === null ? `any ${link.currency}` : `${link.amount} ${link.currency}`,
      link.item_name ?? '-',
      String(link.payments_count),
      link.short_url,
    ]),
  );
}
