// What a statement of a connection usually has and its file does not say: the currency, and the zone of its times.

import { bankPlace, isBankPlace } from '../ledger/chart.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { type Connection, findConnection } from '../rails/connections.ts';
import { SANDBOX_RAIL } from '../rails/sandbox.ts';
import { requireBankAccount } from './bank-accounts.ts';

/** By ISO country. Capitals, where a country has several zones. */
const ZONES: Readonly<Record<string, string>> = {
  BJ: 'Africa/Porto-Novo',
  CI: 'Africa/Abidjan',
  CM: 'Africa/Douala',
  GH: 'Africa/Accra',
  KE: 'Africa/Nairobi',
  NG: 'Africa/Lagos',
  SL: 'Africa/Freetown',
  SN: 'Africa/Dakar',
  TZ: 'Africa/Dar_es_Salaam',
  UG: 'Africa/Kampala',
  ZM: 'Africa/Lusaka',
};

export type AccountDefaults = {
  /** Null where the connection has several. */
  currency: string | null;
  zone: string | null;
  settings: Readonly<Record<string, string>>;
};

/** Refuses an account that never was: of the sandbox, of a bank, of a connection. Of a removed one, statements still come. */
export async function requireAccount(reader: Reader, name: string): Promise<void> {
  if (name === SANDBOX_RAIL) return;
  if (isBankPlace(name)) await requireBankAccount(reader, name.slice(bankPlace('').length));
  else await requireConnection(reader, name);
}

async function requireConnection(reader: Reader, name: string): Promise<Connection> {
  const connection = await findConnection(reader, name);
  if (!connection)
    throw new Problem('invalid_params', { status: 404, message: `There is no connection "${name.slice(0, 40)}".` });
  return connection;
}

/** Refuses a connection that never was. */
export async function defaultsOf({ db, catalog }: PaymentsContext, name: string): Promise<AccountDefaults> {
  if (name === SANDBOX_RAIL) return { currency: null, zone: 'UTC', settings: {} };
  if (isBankPlace(name)) {
    const { currency, zone } = await requireBankAccount(db, name.slice(bankPlace('').length));
    return { currency, zone, settings: {} };
  }
  const connection = await requireConnection(db, name);
  const methods = connection.methods.map((code) => catalog.methods.get(code)).filter((method) => method !== undefined);
  return {
    currency: onlyOne(methods.map(({ currency }) => currency)),
    zone: onlyOne(methods.map(({ country }) => ZONES[country.iso] ?? 'UTC')),
    settings: connection.settings,
  };
}

function onlyOne(values: readonly string[]): string | null {
  const different = new Set(values);
  return different.size === 1 ? (values[0] ?? null) : null;
}
