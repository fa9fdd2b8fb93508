// The connections that people made: accounts at operators, with their settings and sealed secrets. Rows are checked here and
// opened as rails by registry.ts. Who made a change is recorded by the callers, in the same transaction.

import type { Config } from '../platform/config.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { Vault } from '../platform/secrets.ts';
import { ENVIRONMENTS, type OperatorEnvironment, type RailDefinition, type RailSetting } from './connection.ts';
import { initialValues, isSealed, readSettings, type SettingErrors, unknownName } from './connection-settings.ts';
import { SANDBOX_RAIL } from './sandbox.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/;
/** The console has other pages under these names, where the page of a connection would be. */
const PAGES = ['new', 'routes'];
const MAX_CONNECTIONS = 500;

export const MATCHED_POLICIES = ['apply', 'ask'] as const;
/** What an unsigned callback that matches what we stored is worth. */
export type MatchedCallbacks = (typeof MATCHED_POLICIES)[number];

/** A connection as people see it: without the values of its secrets. */
export type Connection = {
  name: string;
  rail: string;
  environment: OperatorEnvironment;
  /** Where its simulator is; null for operators, whose addresses the rail knows. */
  baseUrl: string | null;
  settings: Readonly<Record<string, string>>;
  /** Names of the secret settings that have a value. */
  sealedNames: readonly string[];
  methods: readonly string[];
  /** The holder whose own account it is. */
  holderId: bigint | null;
  matchedCallbacks: MatchedCallbacks;
  /** Grows with each change for which the rail is opened anew. */
  version: number;
  /** When the key by which the operator knows the account was replaced. */
  keyChangedAt: Date | null;
  pausedAt: Date | null;
  removedAt: Date | null;
  createdAt: Date;
  createdBy: string;
};

/** What somebody asks for. What is left out gets its usual value. */
export type ConnectionDraft = {
  rail: string;
  name?: string | undefined;
  environment?: string | undefined;
  /** Only with the environment `simulator`. */
  baseUrl?: string | undefined;
  values: Readonly<Record<string, string>>;
  methods?: readonly string[] | undefined;
  holderId?: bigint | null | undefined;
  matchedCallbacks?: string | undefined;
};

export type ConnectionChange = Pick<ConnectionDraft, 'baseUrl' | 'methods' | 'matchedCallbacks'> & {
  /** Only those that change. An empty value clears an optional setting. */
  values?: Readonly<Record<string, string>> | undefined;
};

type ConnectionRules = Pick<Config, 'mode' | 'allowSimulatorsLive' | 'port'>;
type CheckedConnection = Pick<
  Connection,
  'name' | 'rail' | 'environment' | 'baseUrl' | 'methods' | 'holderId' | 'matchedCallbacks'
> & { definition: RailDefinition; values: Record<string, string> };

const COLUMNS = `name, rail, environment, base_url as "baseUrl", settings, sealed_names as "sealedNames", methods,
  holder_id as "holderId", matched_callbacks as "matchedCallbacks", version, key_changed_at as "keyChangedAt",
  paused_at as "pausedAt", removed_at as "removedAt", created_at as "createdAt", created_by as "createdBy"`;

/** Those in use by their names, then the removed ones. */
export function listConnections(reader: Reader): Promise<Connection[]> {
  return reader.query<Connection>(
    `select ${COLUMNS} from connections order by removed_at nulls first, name limit ${2 * MAX_CONNECTIONS}`,
  );
}

export async function findConnection(reader: Reader, name: string): Promise<Connection | null> {
  const [row] = await reader.query<Connection>(`select ${COLUMNS} from connections where name = $1`, [name]);
  return row ?? null;
}

/** Every connection with its secrets, for the registry. */
export async function loadConnections(
  reader: Reader,
  vault: Vault,
  onUnreadable: (name: string) => void,
): Promise<(Connection & { values: Readonly<Record<string, string>> })[]> {
  const rows = await reader.query<Connection & { sealed: Buffer }>(`select ${COLUMNS}, sealed from connections`);
  const loaded = await Promise.all(
    rows.map(async ({ sealed, ...row }) => {
      try {
        return { ...row, values: { ...row.settings, ...(await openSecrets(vault, row.name, sealed)) } };
      } catch {
        onUnreadable(row.name);
        return null;
      }
    }),
  );
  return loaded.filter((connection) => connection !== null);
}

/** Refuses a draft with every error in it, each under the name of its field. */
export async function insertConnection(
  tx: Tx,
  { config, vault }: { config: ConnectionRules; vault: Vault },
  definitions: readonly RailDefinition[],
  draft: ConnectionDraft,
  made: { by: string; at: Date },
): Promise<Connection> {
  const checked = checkDraft(config, definitions, draft);
  const { definition, values } = checked;
  await refuseSameAccount(tx, vault, definition, checked, []);
  const { open, sealed, sealedNames } = sealSettings(vault, definition, checked.name, values);
  const [row] = await tx.query<Connection>(
    `insert into connections (name, rail, environment, base_url, settings, sealed, sealed_names, methods, holder_id,
       matched_callbacks, created_at, created_by)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
     where (select count(*) from connections where removed_at is null) < ${MAX_CONNECTIONS}
     on conflict (name) do nothing returning ${COLUMNS}`,
    [
      checked.name,
      checked.rail,
      checked.environment,
      checked.baseUrl,
      JSON.stringify(open),
      sealed,
      sealedNames,
      checked.methods,
      checked.holderId,
      checked.matchedCallbacks,
      made.at,
      made.by,
    ],
  );
  if (row) return row;
  const sentence = (await findConnection(tx, checked.name))
    ? `There is already a connection "${checked.name}", or there was one. Choose another name.`
    : `There are ${MAX_CONNECTIONS} connections already.`;
  throw new Problem('invalid_params', { status: 409, message: sentence, errors: { name: [sentence] } });
}

/**
 * Changes settings, secrets, methods or the address; the rail is opened anew by every process within a second. `onOtherAccount` is
 * called with the settings that name the account and would change.
 */
export async function updateConnection(
  tx: Tx,
  { config, vault }: { config: ConnectionRules; vault: Vault },
  definitions: readonly RailDefinition[],
  name: string,
  change: ConnectionChange,
  { at, onOtherAccount }: { at: Date; onOtherAccount: (settings: RailSetting[]) => Promise<void> },
): Promise<Connection> {
  const known = await lockConnection(tx, name);
  const definition = requireDefinition(definitions, known.rail);
  const before = { ...known.settings, ...(await openSecrets(vault, name, known.sealed)) };
  const { values, errors } = readSettings(definition, before, change.values ?? {});
  const baseUrl = change.baseUrl === undefined ? known.baseUrl : tidyAddress(change.baseUrl);
  const methods = change.methods ?? known.methods;
  const matchedCallbacks = readPolicy(change.matchedCallbacks ?? known.matchedCallbacks, errors);
  checkMethods(definition, methods, errors);
  checkPlace(config, definition, known.environment, baseUrl, errors);
  refuse(errors);
  const changed = definition.settings.filter(
    ({ name: setting }) => setting in before && before[setting] !== values[setting],
  );
  const accountChanges = changed.filter(({ namesAccount }) => namesAccount);
  if (accountChanges.length > 0) await onOtherAccount(accountChanges);
  const now = { name, environment: known.environment, baseUrl, values };
  await refuseSameAccount(tx, vault, definition, now, accountsAt(definition, { ...known, values: before }));
  const keyChangedAt = changed.some(({ isAccountKey }) => isAccountKey) ? at : known.keyChangedAt;
  const { open, sealed, sealedNames } = sealSettings(vault, definition, name, values);
  const [row] = await tx.query<Connection>(
    `update connections set settings = $2, sealed = $3, sealed_names = $4, methods = $5, base_url = $6,
       matched_callbacks = $7, key_changed_at = $8, version = version + 1
     where name = $1 returning ${COLUMNS}`,
    [name, JSON.stringify(open), sealed, sealedNames, methods, baseUrl, matchedCallbacks, keyChangedAt],
  );
  if (!row) throw notFound(name);
  return row;
}

type AccountPlace = Pick<Connection, 'name' | 'environment' | 'baseUrl'> & { values: Readonly<Record<string, string>> };

/** The accounts of a connection at its operator. Two simulators are two operators. */
function accountsAt({ accountsOf }: RailDefinition, { environment, baseUrl, values }: AccountPlace): string[] {
  return (accountsOf?.(values) ?? []).map((account) => `${environment} ${baseUrl ?? ''} ${account}`);
}

export type SharedAccount = {
  /** The name of the operator. */
  title: string;
  /** `reports`: one of them misses what the operator says; `payouts`: each sees the float of all as its own. */
  use: 'reports' | 'payouts';
  connections: readonly string[];
};

/** Connections in use that have an account in common: made before that was refused, or allowed to pay out from one. */
export async function findSharedAccounts(
  reader: Reader,
  vault: Vault,
  definitions: readonly RailDefinition[],
): Promise<SharedAccount[]> {
  const loaded = await loadConnections(reader, vault, () => undefined);
  const inUse = loaded.filter(({ removedAt }) => removedAt === null).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return definitions.flatMap((definition) => {
    const own = inUse.filter(({ rail }) => rail === definition.name);
    const { paysFrom } = definition;
    const floatsOf = (place: AccountPlace) =>
      accountsAt({ ...definition, accountsOf: (values) => [paysFrom?.(values) ?? []].flat() }, place);
    const reports = groupNames(own, (place) => accountsAt(definition, place));
    const payouts = groupNames(own, floatsOf).filter(
      (names) => !reports.some((each) => names.every((name) => each.includes(name))),
    );
    const shared = (use: SharedAccount['use']) => (connections: string[]) => ({
      title: definition.title,
      use,
      connections,
    });
    return [...reports.map(shared('reports')), ...payouts.map(shared('payouts'))];
  });
}

/** The names of those that have an account in common; each group once, however many accounts it shares. */
function groupNames(places: readonly AccountPlace[], accountsIn: (place: AccountPlace) => string[]): string[][] {
  const names = new Map<string, string[]>();
  for (const place of places)
    for (const account of new Set(accountsIn(place))) names.set(account, [...(names.get(account) ?? []), place.name]);
  const shared = [...names.values()].filter((group) => group.length > 1);
  return [...new Map(shared.map((group) => [group.join(' '), group])).values()];
}

/** An account of this connection, not `before` its own, that another one has. Connections that share one already can be changed. */
async function refuseSameAccount(
  tx: Tx,
  vault: Vault,
  definition: RailDefinition,
  connection: AccountPlace,
  before: readonly string[],
): Promise<void> {
  const added = accountsAt(definition, connection).filter((account) => !before.includes(account));
  if (added.length === 0) return;
  // Two people may connect the same account at once.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('accounts of connections', 0))`);
  // One whose secrets do not open cannot be used either.
  for (const other of await loadConnections(tx, vault, () => undefined)) {
    if (other.name === connection.name || other.rail !== definition.name || other.removedAt) continue;
    if (!accountsAt(definition, other).some((account) => added.includes(account))) continue;
    const sentence =
      `The connection "${other.name}" has this account already: ${definition.title} sends its reports to one of them only, ` +
      `and the other would miss them. Change "${other.name}", or remove it first.`;
    throw new Problem('invalid_params', { status: 409, message: sentence, errors: { name: [sentence] } });
  }
}

/** A paused connection takes no new transactions and finishes those that it began. */
export async function setPaused(tx: Tx, name: string, pausedAt: Date | null): Promise<Connection> {
  await lockConnection(tx, name);
  const [row] = await tx.query<Connection>(
    `update connections set paused_at = case when $2::timestamptz is null then null else coalesce(paused_at, $2) end
     where name = $1 returning ${COLUMNS}`,
    [name, pausedAt],
  );
  if (!row) throw notFound(name);
  return row;
}

/** Takes it out of every route. The row stays: a late callback still finds it. */
export async function markRemoved(tx: Tx, name: string, removedAt: Date): Promise<Connection> {
  await lockConnection(tx, name);
  await tx.query('delete from routes where connection = $1', [name]);
  await tx.query('delete from connection_tokens where connection = $1', [name]);
  const [row] = await tx.query<Connection>(
    `update connections set removed_at = $2 where name = $1 returning ${COLUMNS}`,
    [name, removedAt],
  );
  if (!row) throw notFound(name);
  return row;
}

/** Whether this gateway may use a connection of this environment at all; the reason if not. */
export function environmentProblem(config: ConnectionRules, environment: OperatorEnvironment): string | null {
  if (environment === 'production' && config.mode === 'sandbox')
    return 'Production connections move real money and exist only in live mode. Use the sandbox of the operator or a simulator.';
  if (environment === 'sandbox' && config.mode === 'live')
    return "An operator's sandbox moves no real money and exists only in sandbox mode.";
  if (environment === 'simulator' && config.mode === 'live' && !config.allowSimulatorsLive)
    return 'A simulator moves no real money. For a rehearsal in live mode set ALLOW_SIMULATORS_LIVE=true.';
  return null;
}

export function requireDefinition(definitions: readonly RailDefinition[], rail: string): RailDefinition {
  const found = definitions.find(({ name }) => name === rail);
  if (found) return found;
  const names = definitions.map(({ name }) => name);
  const sentence = unknownName(`There is no rail "${rail}"`, rail, names).replace('It has:', 'There are:');
  throw new Problem('invalid_params', { message: sentence, errors: { rail: [sentence] } });
}

function checkDraft(
  config: ConnectionRules,
  definitions: readonly RailDefinition[],
  draft: ConnectionDraft,
): CheckedConnection {
  const definition = requireDefinition(definitions, draft.rail);
  const given = draft.environment ?? (config.mode === 'live' ? 'production' : 'sandbox');
  const environment = ENVIRONMENTS.find((each) => each === given);
  if (!environment)
    throw new Problem('invalid_params', {
      errors: { environment: [`The environment must be one of ${ENVIRONMENTS.join(', ')}.`] },
    });
  const { values, errors } = readSettings(definition, initialValues(definition, environment), draft.values);
  const name = draft.name ?? definition.name;
  const address = draft.baseUrl ?? (environment === 'simulator' ? simulatorAddress(definition) : null);
  const baseUrl = address === null ? null : tidyAddress(address);
  const methods = draft.methods ?? definition.methods;
  checkName(definition, name, errors);
  checkMethods(definition, methods, errors);
  checkPlace(config, definition, environment, baseUrl, errors);
  const matchedCallbacks = readPolicy(draft.matchedCallbacks ?? 'apply', errors);
  refuse(errors);
  const holderId = draft.holderId ?? null;
  return { definition, values, name, rail: definition.name, environment, baseUrl, methods, holderId, matchedCallbacks };
}

/** Where `simbi simulate` starts it. */
function simulatorAddress({ simulatorPort }: RailDefinition): string | null {
  return simulatorPort === undefined ? null : `http://127.0.0.1:${simulatorPort}`;
}

function checkName(definition: RailDefinition, name: string, errors: SettingErrors): void {
  if (!NAME.test(name))
    errors.name = [
      `"${name}" is not a name: use 2 to 32 lower-case letters, digits and dashes, such as "${definition.name}-2".`,
    ];
  else if (name === SANDBOX_RAIL) errors.name = [`"${name}" is the name of the simulated operator.`];
  else if (PAGES.includes(name))
    errors.name = [`"${name}" is a page of the console beside the connections. Choose another name.`];
  const forbidden = definition.forbiddenInAddresses?.find((word) => name.includes(word.toLowerCase()));
  if (forbidden !== undefined)
    errors.name = [
      `${definition.title} refuses callback addresses with "${forbidden}" in them, and the name is part of them. Choose another name.`,
    ];
}

function checkMethods(definition: RailDefinition, methods: readonly string[], errors: SettingErrors): void {
  const unknown = methods.filter((method) => !definition.methods.includes(method));
  if (unknown.length > 0)
    errors.methods = unknown.map((method) =>
      unknownName(`${definition.title} does not serve ${method}`, method, definition.methods),
    );
  else if (methods.length === 0) errors.methods = ['A connection needs at least one method.'];
}

function checkPlace(
  config: ConnectionRules,
  definition: RailDefinition,
  environment: OperatorEnvironment,
  baseUrl: string | null,
  errors: SettingErrors,
): void {
  const problem = environmentProblem(config, environment);
  if (problem !== null) errors.environment = [problem];
  else if (environment !== 'simulator' && definition.hosts[environment] === null)
    errors.environment = [`${definition.title} has no ${environment} environment.`];
  if (environment !== 'simulator' && baseUrl !== null)
    errors.base_url = ['Only a simulator has an address of its own; the addresses of operators are part of the rail.'];
  if (environment !== 'simulator') return;
  if (baseUrl === null || !THIS_MACHINE.test(baseUrl))
    errors.base_url = ['A simulator needs its address on this machine, such as http://127.0.0.1:9091.'];
  else if (new URL(baseUrl).port === String(config.port))
    errors.base_url = [
      'This is the port of the gateway itself. Give the address that the simulator says when it starts.',
    ];
}

/** As browsers write it: people type capitals, spaces and short forms of addresses. */
function tidyAddress(text: string): string {
  const url = URL.parse(text);
  return url ? url.href.replace(/\/$/, '') : text;
}

/** The table has the same rule: no other form of a loopback address, no name and password. */
const THIS_MACHINE = /^http:\/\/(127(\.\d+){3}|localhost|\[::1\])(:\d+)?(\/[^?#]*)?$/;

function readPolicy(text: string, errors: SettingErrors): MatchedCallbacks {
  const policy = MATCHED_POLICIES.find((each) => each === text);
  if (!policy) errors.matched_callbacks = [`The rule for matched callbacks must be ${MATCHED_POLICIES.join(' or ')}.`];
  return policy ?? 'apply';
}

function refuse(errors: SettingErrors): void {
  if (Object.keys(errors).length === 0) return;
  throw new Problem('invalid_params', { message: 'The connection cannot be used like this.', errors });
}

/** The row in use, locked: two people who change it do so one after the other. */
async function lockConnection(tx: Tx, name: string): Promise<Connection & { sealed: Buffer }> {
  const [row] = await tx.query<Connection & { sealed: Buffer }>(
    `select ${COLUMNS}, sealed from connections where name = $1 and removed_at is null for update`,
    [name],
  );
  if (!row) throw notFound(name);
  return row;
}

function notFound(name: string): Problem {
  return new Problem('not_found', { message: `There is no connection "${name}".` });
}

export const secretsPurpose = (name: string) => `connection ${name}`;

function sealSettings(vault: Vault, definition: RailDefinition, name: string, values: Record<string, string>) {
  const open: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const setting of definition.settings) {
    const value = values[setting.name];
    if (value !== undefined) (isSealed(setting) ? secrets : open)[setting.name] = value;
  }
  return { open, sealed: vault.seal(JSON.stringify(secrets), secretsPurpose(name)), sealedNames: Object.keys(secrets) };
}

async function openSecrets(vault: Vault, name: string, sealed: Buffer): Promise<Record<string, string>> {
  return JSON.parse(await vault.open(sealed, secretsPurpose(name))) as Record<string, string>;
}
