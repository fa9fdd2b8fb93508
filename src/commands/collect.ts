// simbi collect: starts a collection through the API of a running gateway.

import type { Command } from 'commander';
import { randomSecret } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { CREDENTIALS_HELP, type Credentials, fetchToken, postSigned, readCredentials, request } from './remote.ts';
import { addNeededOption, CommandError, EXIT, print, requireAmount, type Terminal, withExamples } from './terminal.ts';
import { follow, readWait } from './transaction.ts';

type CollectOptions = {
  json?: boolean;
  phone: string;
  country?: string;
  method?: string;
  reference?: string;
  callbackUrl?: string;
  idempotencyKey?: string;
  wait?: string | true;
};

type Accepted = { ref: string; mobile: string; verification: { method: string; instructions: string } };

/** A row of a countries table of the API. */
type CountryRow = {
  country_id: number;
  country: string;
  dial_code: string;
  currency: string;
  supported?: boolean;
};

export function collectCommand(command: Command, terminal: Terminal): void {
  const described = withExamples(command, [
    'npx simbi collect 2500 UGX --phone 0772123456',
    'npx simbi collect 2500 UGX --phone 256772123000 --wait',
    'npx simbi collect 500 KES --phone 0712345678 --reference order-1042 --json',
  ]);
  addNeededOption(described, '--phone <number>', 'phone number of the customer, international or national')
    .option('--country <name or id>', 'needed if the currency has several countries and the number is national')
    .option('--method <name>', 'the operator, if the number does not determine it')
    .option('--reference <text>', 'your own reference')
    .option('--callback-url <url>', 'URL for the result')
    .option('--idempotency-key <key>', 'prevents a second payment with the same key; default: random')
    .option('--wait [seconds]', 'wait for the result; exit code 7 if the payment failed')
    .addHelpText('after', CREDENTIALS_HELP)
    .action((amount: string, currency: string, options: CollectOptions) =>
      collect(terminal, amount, currency.toUpperCase(), options),
    );
}

async function collect(terminal: Terminal, typed: string, currency: string, options: CollectOptions): Promise<void> {
  const amount = formatAmount(requireAmount(typed, currency));
  const waitSeconds = readWait(options.wait);
  const credentials = await readCredentials(terminal);
  const rows = (await readCountries(credentials)).collections.filter((row) => row.supported !== false);
  const mobile = options.phone.replace(/[\s().-]/g, '');
  const params: JsonObject = {
    amount,
    mobile,
    currency,
    country_id: chooseCountry(rows, currency, options.country, mobile).country_id,
    ...(options.method === undefined ? {} : { payment_method_type: options.method }),
    ...(options.reference === undefined ? {} : { third_party_reference_1: options.reference }),
    ...(options.callbackUrl === undefined ? {} : { callback_url: options.callbackUrl }),
  };
  const headers = { 'Idempotency-Key': options.idempotencyKey ?? randomSecret(16) };
  const { body, isSandbox } = await postSigned(credentials, '/api/v3/service-unified-collections', params, headers);
  const accepted = body.data as Accepted;
  terminal.say(`  ${accepted.verification.instructions}`);
  if (waitSeconds > 0) {
    terminal.say(`  ${accepted.ref}`);
    await follow(terminal, credentials, accepted.ref, waitSeconds, options);
    return;
  }
  print(terminal, options, accepted, accepted.ref);
  terminal.say(`Follow it with: npx simbi transaction ${accepted.ref} --wait`);
  if (isSandbox) terminal.say(`Approve it on the test phone: npx simbi phone ${accepted.mobile} --pin 1234`);
}

type Countries = { collections: CountryRow[]; payment_links: CountryRow[] };

export async function readCountries(credentials: Credentials): Promise<Countries> {
  const { token } = await fetchToken(credentials);
  const headers = { Authorization: `Bearer ${token}` };
  return (await request(credentials.url, '/api/v3/countries', { headers })).body.data as Countries;
}

/** The country: named with --country, the only one of the currency, or the one of the number's dial code. */
export function chooseCountry(
  rows: CountryRow[],
  currency: string,
  named: string | undefined,
  mobile?: string,
): CountryRow {
  const ofCurrency = rows.filter((row) => row.currency === currency);
  const digits = mobile?.replace(/^\+/, '') ?? '';
  const found =
    named === undefined
      ? ofCurrency.length === 1
        ? ofCurrency
        : ofCurrency.filter((row) => digits.startsWith(row.dial_code.replace(/\D/g, '')) && digits.length > 9)
      : rows.filter(
          (row) => String(row.country_id) === named || row.country.toLowerCase() === named.trim().toLowerCase(),
        );
  const [only, second] = found;
  if (only && !second) return only;
  if (ofCurrency.length === 0) throw unknownCurrency(rows, currency);
  const choices = ofCurrency.map((row) => `${row.country} (${row.country_id})`).join(', ');
  throw new CommandError(`Several countries use ${currency}. Choose one with --country: ${choices}.`, EXIT.usage);
}

export function unknownCurrency(rows: CountryRow[], currency: string): CommandError {
  const known = [...new Set(rows.map((row) => row.currency))].sort().join(', ');
  return new CommandError(`No country uses ${currency}. Currencies: ${known}.`, EXIT.usage);
}
