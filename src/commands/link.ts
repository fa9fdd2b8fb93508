// simbi link: payment links. Made and listed through the API; disabled on the database, as a person does in the console.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { chooseCountry, readCountries } from './collect.ts';
import { HOLDER_OPTION, requireHolder } from './payments-context.ts';
import { CREDENTIALS_HELP, fetchToken, postSigned, readCredentials, request } from './remote.ts';
import { addCommand, addGroup, parseLimit, print, type Terminal, table, withContext } from './terminal.ts';

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
  item_name: string | null;
  amount: string | null;
  currency: string;
  status: string;
  payments_count: number;
};

export function linkCommands(program: Command, terminal: Terminal): void {
  const group = addGroup(program, 'link', 'make, list and disable payment links');
  addCreate(group, terminal);

  addCommand(group, 'list', 'payment links, newest first', [
    'npx simbi link list',
    'npx simbi link list --status active --limit 10',
  ])
    .option('--status <status>', 'active, paid, expired or disabled')
    .option('--limit <number>', 'how many at most', '50')
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

  addCommand(group, 'disable <id>', 'take a link out of use', ['npx simbi link disable pl_01J…'])
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
  addCommand(group, 'create <currency>', 'make a page on which anybody can pay', [
    'npx simbi link create UGX --amount 25000 --item "Chicken and rice"',
    'npx simbi link create XOF --country Benin --reusable',
  ])
    .option('--amount <amount>', 'left out, the payer types it')
    .option('--country <name or id>', 'your country, where the currency has several')
    .option('--payer-country <name or id>', "the payer's country; left out, the payer chooses")
    .option('--item <name>', 'what is paid for')
    .option('--business <name>', 'who is paid')
    .option('--phone <number>', "the payer's number")
    .option('--email <address>', "the payer's address")
    .option('--first-name <name>', "the payer's first name")
    .option('--last-name <name>', "the payer's last name")
    .option('--callback-url <url>', 'where payments are told')
    .option('--redirect-url <url>', 'where the payer goes afterwards')
    .option('--expires <moment>', 'such as 2026-12-31T18:00:00Z')
    .option('--reusable', 'may be paid many times')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (code: string, options: CreateOptions) => {
      const credentials = await readCredentials(terminal);
      const currency = code.toUpperCase();
      const rows = (await readCountries(credentials)).payment_links;
      const country = chooseCountry(rows, currency, options.country);
      const payer = options.payerCountry && chooseCountry(rows, currency, options.payerCountry);
      const wished: Record<string, JsonObject[string] | undefined> = {
        currency,
        country_id: country.country_id,
        currency_country_id: payer ? payer.country_id : undefined,
        amount: options.amount,
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
      for (const [name, value] of Object.entries(wished)) if (value !== undefined) params[name] = value;
      const { body } = await postSigned(credentials, '/api/v3/payment-link-api/create', params);
      const link = body.data as Link;
      print(terminal, options, link, link.payment_link);
    });
}

function rowsOf(links: Link[]): string {
  return table(
    ['id', 'status', 'amount', 'item', 'paid', 'address'],
    links.map((link) => [
      link.id,
      link.status,
      link.amount === null ? `any ${link.currency}` : `${link.amount} ${link.currency}`,
      link.item_name ?? '-',
      String(link.payments_count),
      link.payment_link,
    ]),
  );
}
