// The only reader of the environment. Every setting is one entry of SETTINGS: its description, its default and its parser.
// .env.example and the configuration reference are generated from the same table.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isAddressOrRange } from './addresses.ts';
import { isTrustedConnection, parseDatabaseUrl } from './database-url.ts';

type Setting<T> = {
  about: string;
  fallback: string;
  /** Secret settings can also be given as a file: NAME_FILE. They are never printed. */
  secret?: true;
  parse(text: string): T;
};

function text(about: string, fallback: string): Setting<string> {
  return { about, fallback, parse: (value) => value };
}

function secret(about: string): Setting<string> {
  return { about, fallback: '', secret: true, parse: (value) => value };
}

function integer(about: string, fallback: number, least: number, most: number): Setting<number> {
  return {
    about,
    fallback: String(fallback),
    parse(value) {
      const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
      if (!(number >= least && number <= most)) throw new Error(`must be a whole number from ${least} to ${most}`);
      return number;
    },
  };
}

function choice<const T extends string>(about: string, fallback: T, ...values: T[]): Setting<T> {
  return {
    about: `${about} One of: ${values.join(', ')}.`,
    fallback,
    parse(value) {
      const found = values.find((candidate) => candidate === value);
      if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
      return found;
    },
  };
}

function flag(about: string): Setting<boolean> {
  const setting = choice(about, 'false', 'true', 'false');
  return { ...setting, parse: (value) => setting.parse(value) === 'true' };
}

function list(about: string, fallback: string, check: (item: string) => boolean, what: string): Setting<string[]> {
  return {
    about,
    fallback,
    parse(value) {
      const items = value
        .split(',')
        .map((item) => item.trim())
        .filter(Boolean);
      const wrong = items.find((item) => !check(item));
      if (wrong !== undefined) throw new Error(`must be a comma-separated list of ${what}; "${wrong}" is not one`);
      return items;
    },
  };
}

function origin(about: string): Setting<string> {
  return {
    about,
    fallback: '',
    parse(value) {
      if (value === '') return '';
      const url = URL.canParse(value) ? new URL(value) : null;
      if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash || url.username)
        throw new Error('must be an http or https origin such as https://pay.example.org');
      return url.origin;
    },
  };
}

export const SETTINGS = {
  PORT: integer('Port that the service listens on.', 8080, 0, 65535),
  HOST: text('Address that the service listens on. 0.0.0.0 opens it to the network.', '127.0.0.1'),
  PUBLIC_URL: origin(
    'Origin under which people and servers reach the service; printed in links. Empty: http://localhost:PORT.',
  ),
  DATA_DIR: text('Folder for the embedded database, the demo credentials and the sandbox master key.', './data'),
  DATABASE_URL: secret(
    'PostgreSQL 15 or newer, postgres://user:password@host:port/name. Empty: an embedded PostgreSQL in DATA_DIR.',
  ),
  MIGRATION_DATABASE_URL: secret(
    'The same database for a login that owns its tables: it migrates and restores, the service never uses it. ' +
      'Empty: DATABASE_URL migrates too, and the service gives up its rights.',
  ),
  ALLOW_DATABASE_WITHOUT_TLS: flag(
    'Live mode on a database of another machine without sslmode=verify-full, in a network that you trust.',
  ),
  DATABASE_POOL_SIZE: integer('Maximum number of connections to PostgreSQL, per process.', 10, 2, 200),
  MODE: choice('sandbox: simulated operators, no real money. live: real rails.', 'sandbox', 'sandbox', 'live'),
  MASTER_KEY: secret(
    '32 bytes as 64 hexadecimal characters or base64; encrypts API and callback secrets. ' +
      'Generated in DATA_DIR in sandbox mode, required in live mode.',
  ),
  BRAND_NAME: text('Name that replaces "Service" in messages and on pages.', 'Service'),
  LOG_LEVEL: choice('Lowest level that is logged.', 'info', 'trace', 'debug', 'info', 'warn', 'error', 'silent'),
  ROLE: choice('What this process does: answer requests, do background work, or both.', 'all', 'all', 'api', 'worker'),
  SIGNATURE_TOLERANCE_SECONDS: integer('How far a signed timestamp may be from our clock, either side.', 300, 1, 3600),
  TOKEN_TTL_SECONDS: integer('Lifetime of an API token.', 86_400, 60, 31_536_000),
  RATE_LIMIT_PER_SECOND: integer(
    'Requests a second that one integration may make; the burst is twice that. 0: no limit.',
    100,
    0,
    1_000_000,
  ),
  RATE_LIMIT_PER_ADDRESS_PER_SECOND: integer(
    'Requests a second from one address, before anything is read; the burst is twice that. 0: no limit.',
    500,
    0,
    1_000_000,
  ),
  MAX_IN_FLIGHT: integer(
    'Requests that one process handles at the same time; further ones get 503 at once.',
    1_000,
    1,
    100_000,
  ),
  TRUSTED_PROXIES: list(
    'Addresses or ranges of reverse proxies whose X-Forwarded-For is trusted.',
    '',
    isAddressOrRange,
    'IP addresses or CIDR ranges',
  ),
  METRICS_ALLOWED_RANGES: list(
    'Addresses or ranges besides this machine that may read /metrics in live mode.',
    '',
    isAddressOrRange,
    'IP addresses or CIDR ranges',
  ),
  ALLOW_EMBEDDED_LIVE: flag('Live mode on the embedded database, which is one machine without a standby.'),
  ALLOW_SIGN_UP: flag('Whether anybody may open an account in the console.'),
  REQUEST_LOG: choice(
    'Whether API requests are kept for thirty days and shown in the console (no bodies, one small row each).',
    'on',
    'on',
    'off',
  ),
  CATALOG_FILE: text(
    'JSON file that overrides countries, methods, limits and fees. Empty: the built-in catalogue.',
    '',
  ),
  CALLBACK_ALLOWED_PORTS: list(
    'Ports besides 443 and 8443 that callbacks may go to in live mode.',
    '',
    (value) => /^\d{1,5}$/.test(value) && Number(value) > 0 && Number(value) < 65_536,
    'ports',
  ),
  CALLBACK_ALLOWED_RANGES: list(
    'Private ranges that callbacks may go to in live mode (receivers in your own network).',
    '',
    isAddressOrRange,
    'IP addresses or CIDR ranges',
  ),
  FAILPOINT: text(
    'For crash tests only: the place where the process kills itself; "place:7" is the seventh time, ' +
      '"place/refund" where a refund passes. Rejected in live mode.',
    '',
  ),
} as const satisfies Record<string, Setting<unknown>>;

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<S>;
type Settings = typeof SETTINGS;
export type Config = { [K in keyof Settings as CamelCase<K & string>]: ReturnType<Settings[K]['parse']> };

export type Environment = Record<string, string | undefined>;

/** Everything that is wrong with the configuration, one line each. The command line prints it and exits with 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly errors: string[];
  constructor(errors: string[]) {
    const count = errors.length === 1 ? 'an error' : `${errors.length} errors`;
    super(`The configuration has ${count}:\n${errors.map((error) => `  - ${error}`).join('\n')}`);
    this.errors = errors;
  }
}

export function readConfig(environment: Environment): Config {
  const errors: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    try {
      values[camelCase(name)] = setting.parse(readRaw(environment, name, setting) ?? setting.fallback);
    } catch (error) {
      const shown = setting.secret ? '' : ` (it is "${environment[name] ?? ''}")`;
      errors.push(`${name} ${(error as Error).message}${shown}`);
    }
  }
  const config = values as Config;
  errors.push(...errorsBetween(config));
  if (errors.length > 0) throw new ConfigError(errors);
  return config;
}

function readRaw(environment: Environment, name: string, setting: Setting<unknown>): string | undefined {
  const file = setting.secret ? environment[`${name}_FILE`] : undefined;
  if (!file) return environment[name] === '' ? undefined : environment[name];
  if (environment[name]) throw new Error(`is given twice: unset ${name} or ${name}_FILE`);
  if (!existsSync(file)) throw new Error(`cannot be read: ${name}_FILE names a file that does not exist`);
  return readFileSync(file, 'utf8').trim();
}

/** Rules about several settings. A setting that was already wrong is undefined here and skipped. */
function errorsBetween(config: Config): string[] {
  const errors: string[] = [];
  if (config.masterKey && !masterKeyBytes(config.masterKey))
    errors.push('MASTER_KEY must be 32 bytes: 64 hexadecimal characters, or base64');
  errors.push(...databaseErrors(config));
  if (config.catalogFile && !existsSync(config.catalogFile))
    errors.push(`CATALOG_FILE names a file that does not exist (it is "${config.catalogFile}")`);
  if (config.mode === 'live') {
    if (config.failpoint) errors.push('FAILPOINT is for crash tests and rejected in live mode');
    if (config.masterKey === '')
      errors.push('MASTER_KEY is required in live mode; generate one with: openssl rand -hex 32');
    if (config.databaseUrl === '' && !config.allowEmbeddedLive)
      errors.push(
        'DATABASE_URL is required in live mode: the embedded database has no standby and no external backup. ' +
          'Set ALLOW_EMBEDDED_LIVE=true to accept that',
      );
    if (config.publicUrl !== undefined && !config.publicUrl.startsWith('https://'))
      errors.push('PUBLIC_URL must be an https origin in live mode');
  }
  return errors;
}

function databaseErrors(config: Config): string[] {
  const errors: string[] = [];
  const urls = { DATABASE_URL: config.databaseUrl, MIGRATION_DATABASE_URL: config.migrationDatabaseUrl };
  for (const [name, url] of Object.entries(urls)) {
    if (!url) continue;
    if (!parseDatabaseUrl(url)) errors.push(`${name} must begin with postgres://`);
    else if (config.mode === 'live' && !config.allowDatabaseWithoutTls && !isTrustedConnection(url))
      errors.push(
        `${name} must end with ?sslmode=verify-full in live mode: the connection to another machine is encrypted, and its ` +
          'certificate is checked. Set ALLOW_DATABASE_WITHOUT_TLS=true to do without',
      );
  }
  if (config.migrationDatabaseUrl && !config.databaseUrl)
    errors.push('MIGRATION_DATABASE_URL is for the database of DATABASE_URL, which is not set');
  return errors;
}

/** The 32 bytes of a master key written as hexadecimal or base64, or null. */
export function masterKeyBytes(value: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
  // Checked here because Buffer.from ignores what is not base64 and would turn any sentence into a key.
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(value) ? Buffer.from(value, 'base64') : null;
}

export function publicUrl(config: Config): string {
  return config.publicUrl || `http://localhost:${config.port}`;
}

export function dataPath(config: Config, ...names: string[]): string {
  return resolve(config.dataDir, ...names);
}

function camelCase(name: string): string {
  return name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The text of .env.example: every setting with its description. */
export function environmentExample(): string {
  const head =
    '# Every setting, with its default. All are optional in sandbox mode.\n# A secret can also be given as NAME_FILE=/path/to/file.\n';
  const entries = Object.entries<Setting<unknown>>(SETTINGS).map(
    ([name, setting]) => `\n# ${setting.about}\n#${name}=${setting.fallback}\n`,
  );
  return head + entries.join('');
}

/** The text of docs/configuration.md: the same settings as a page. */
export function configurationReference(): string {
  const rows = Object.entries<Setting<unknown>>(SETTINGS).map(
    ([name, { about, fallback, secret }]) =>
      `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${about}${secret ? ' Secret.' : ''} |`,
  );
  return `# Configuration

Settings are environment variables, or lines of a file \`.env\` in the folder where the service starts; a variable overrides
the file. All are optional in sandbox mode. A secret can also be given as a file: \`NAME_FILE=/run/secrets/name\`. If a value
is wrong, the service does not start: it prints all errors in one message and exits with code 2. \`npx simbi doctor\` checks
the rest.

| setting | default | meaning |
|---|---|---|
${rows.join('\n')}

Live mode requires \`MASTER_KEY\`, an https \`PUBLIC_URL\` and \`DATABASE_URL\` (or \`ALLOW_EMBEDDED_LIVE=true\`):
[going live](going-live.md).
`;
}
