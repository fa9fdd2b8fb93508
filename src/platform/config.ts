// The only reader of the environment. Every setting is one entry of SETTINGS: its description, its default and its parser.
// .env.example and the configuration reference are generated from the same table.

import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { isAddressOrRange, isLoopback } from './addresses.ts';
import { hasUnknownPooler, isPooled, isTrustedConnection, parseDatabaseUrl } from './database-url.ts';
import { isEmail } from './email.ts';

/** What the specification writes where the brand belongs. */
export const DEFAULT_BRAND = 'Service';

const MAX_PROCESSES = 64;

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

/** A whole number whose default depends on other settings: null when it is not set. */
function optionalInteger(about: string, least: number, most: number): Setting<number | null> {
  const setting = integer(about, least, least, most);
  return { ...setting, fallback: '', parse: (value) => (value === '' ? null : setting.parse(value)) };
}

/** A number of processes, or `auto` for as many as there are processors. */
function processes(about: string): Setting<number> {
  const setting = integer(about, 1, 1, MAX_PROCESSES);
  return {
    ...setting,
    parse(value) {
      if (value === 'auto') return Math.min(availableParallelism(), MAX_PROCESSES);
      try {
        return setting.parse(value);
      } catch {
        throw new Error(`must be auto or a whole number from 1 to ${MAX_PROCESSES}`);
      }
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

const KEY_SERVICE = /^(aws-kms|vault-transit):\/\/([\w.-]+)\/([\w:./-]+)$/;

/** A key service outside: `service://place/key`. Null: the master key of this machine. */
export type KeyProvider = { service: 'aws-kms' | 'vault-transit'; place: string; key: string };

function keyProvider(about: string): Setting<KeyProvider | null> {
  return {
    about,
    fallback: '',
    parse(value) {
      if (value === '') return null;
      const [, service, place = '', key = ''] = KEY_SERVICE.exec(value) ?? [];
      if (service !== 'aws-kms' && service !== 'vault-transit')
        throw new Error('must be aws-kms://region/key or vault-transit://mount/key');
      return { service, place, key };
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

/** Where mail is handed over: smtp:// (TLS when the server offers it, always in live mode) or smtps://. */
function mailServer(about: string): Setting<string> {
  return {
    about,
    fallback: '',
    secret: true,
    parse(value) {
      const url = URL.canParse(value) ? new URL(value) : null;
      if (value !== '' && (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === ''))
        throw new Error('must be a mail server such as smtps://user:password@mail.example.org');
      return value;
    },
  };
}

function sender(about: string): Setting<string> {
  return {
    about,
    fallback: '',
    parse(value) {
      if (value !== '' && !isEmail(value)) throw new Error('must be an e-mail address such as pay@example.org');
      return value;
    },
  };
}

function contact(about: string): Setting<string> {
  return {
    about,
    fallback: '',
    parse(value) {
      if (value !== '' && !/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/.test(value))
        throw new Error('must begin with mailto: or https://');
      return value;
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

function webAddress(about: string): Setting<string> {
  return {
    about,
    fallback: '',
    parse(value) {
      if (value !== '' && !/^https?:$/.test(URL.parse(value)?.protocol ?? ''))
        throw new Error('must be an http or https address such as https://safe.example.org/heads');
      return value;
    },
  };
}

export const SETTINGS = {
  PORT: integer('Port that the service listens on.', 8080, 0, 65535),
  HOST: text('Address that the service listens on. 0.0.0.0 opens it to the network.', '127.0.0.1'),
  PUBLIC_URL: origin(
    'Origin under which people and servers reach the service; printed in links. Empty: http://localhost:PORT, or the address of HOST.',
  ),
  DATA_DIR: text('Folder for the embedded database, the demo credentials and the sandbox master key.', './data'),
  DATABASE_URL: secret(
    'PostgreSQL 15 or newer, postgres://user:password@host:port/name. Several servers, host:port,host:port: the one that takes changes ' +
      'is found, and found again after a failover. Behind PgBouncer or another pooler: ?pooler=transaction. ' +
      'Empty: an embedded PostgreSQL in DATA_DIR.',
  ),
  MIGRATION_DATABASE_URL: secret(
    'The same database for a login that owns its tables: it migrates and restores, the service never uses it. ' +
      'Empty: DATABASE_URL migrates too, and the service gives up its rights.',
  ),
  DATABASE_LISTEN_URL: secret(
    'The same database without the pooler, for the one connection of a worker on which it hears of new work (LISTEN). ' +
      'Empty: DATABASE_URL, or, where that goes through a pooler, none: the worker looks for work every second.',
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
  MASTER_KEY_PREVIOUS: secret(
    'The master key before this one, while it is being replaced (npx simbi keys rotate --master). Empty afterwards.',
  ),
  KEY_PROVIDER: keyProvider(
    'A key service that protects the keys instead of MASTER_KEY: aws-kms://region/key-id-or-alias, or vault-transit://mount/key.',
  ),
  KEY_PROVIDER_PREVIOUS: keyProvider(
    'The key service before, while the keys are moved away from it. Empty afterwards.',
  ),
  AWS_ACCESS_KEY_ID: secret('Credentials for AWS KMS.'),
  AWS_SECRET_ACCESS_KEY: secret('Credentials for AWS KMS.'),
  AWS_SESSION_TOKEN: secret('Credentials for AWS KMS, where they are temporary.'),
  AWS_ENDPOINT_URL_KMS: text('Address of AWS KMS. Empty: the public one of the region.', ''),
  VAULT_ADDR: text('Address of HashiCorp Vault, such as https://vault.example.org:8200.', ''),
  VAULT_TOKEN: secret('Token for HashiCorp Vault that may encrypt and decrypt with the key of KEY_PROVIDER.'),
  VAULT_TOKEN_PATH: text('File that Vault Agent writes its token to; read at every call, so it may be renewed.', ''),
  VAULT_NAMESPACE: text('Namespace in HashiCorp Vault, where it has them.', ''),
  BACKUP_RECIPIENTS: list(
    'Public keys (age1…) that backups are encrypted to; npx simbi keys backup-key makes one.',
    '',
    (value) => /^age1[a-z0-9]{10,}$/.test(value),
    'age recipients',
  ),
  BACKUP_IDENTITY_FILE: text('File with the secret key that opens encrypted backups. Needed by restore only.', ''),
  BACKUP_PASSPHRASE: secret('Passphrase for backups, instead of BACKUP_RECIPIENTS.'),
  BRAND_NAME: text(
    'Name of the gateway. Without it messages of the API say "Service"; pages, mails and documents say "Simbi".',
    DEFAULT_BRAND,
  ),
  LOG_LEVEL: choice('Lowest level that is logged.', 'info', 'trace', 'debug', 'info', 'warn', 'error', 'silent'),
  ROLE: choice('What this process does: answer requests, do background work, or both.', 'all', 'all', 'api', 'worker'),
  PROCESSES: processes(
    'Processes of this gateway on this machine: a number, or auto for one per processor. One more supervises them.',
  ),
  STOP_DELAY_MS: integer(
    'How long the service still takes requests after SIGTERM, while /readyz already answers 503: longer than a load balancer ' +
      'needs to notice.',
    1_000,
    0,
    60_000,
  ),
  SIGNATURE_TOLERANCE_SECONDS: integer('How far a signed timestamp may be from our clock, either side.', 300, 1, 3600),
  TOKEN_TTL_SECONDS: integer('Lifetime of an API token.', 86_400, 60, 31_536_000),
  RATE_LIMIT_PER_SECOND: integer(
    'Requests a second that one integration may make, over all processes; the burst is twice that. 0: no limit.',
    100,
    0,
    1_000_000,
  ),
  HOLDER_RATE_LIMIT_PER_SECOND: optionalInteger(
    'Requests a second that all integrations of one holder may make together; the burst is twice that. 0: no limit. ' +
      'Empty: five times RATE_LIMIT_PER_SECOND.',
    0,
    1_000_000,
  ),
  RATE_LIMIT_PER_ADDRESS_PER_SECOND: integer(
    'Requests a second from one address (of IPv6: one /64), before anything is read; the burst is twice that. 0: no limit.',
    500,
    0,
    1_000_000,
  ),
  OPEN_PROMPTS_PER_NUMBER: integer(
    'Prompts that may wait on one phone at the same time, of all holders, for ten minutes each. 0: no limit.',
    3,
    0,
    1_000,
  ),
  PROMPTS_PER_NUMBER_PER_DAY: integer(
    'Prompts that one phone number may get in a day without paying, of all holders. 0: no limit.',
    10,
    0,
    1_000,
  ),
  WRONG_TOKENS_PER_NUMBER_PER_DAY: integer(
    'Wrong verification tokens that are judged for one phone number in a day, in all its payments together. 0: no limit.',
    20,
    0,
    1_000,
  ),
  FLOAT_WAIT_HOURS: integer(
    'How long a payout waits for float with its operator. Then it fails, and its money returns to the wallet.',
    24,
    1,
    720,
  ),
  MAX_IN_FLIGHT: integer(
    'Requests that one process handles at most at the same time; further ones get 503 at once.',
    1_000,
    1,
    100_000,
  ),
  MAX_REQUEST_DELAY_MS: integer(
    'When even the fastest API request takes longer for a second, a process handles fewer at the same time, down to 256. 0: never.',
    25,
    0,
    10_000,
  ),
  TRUSTED_PROXIES: list(
    'Addresses or ranges of reverse proxies whose X-Forwarded-For is trusted.',
    '',
    isAddressOrRange,
    'IP addresses or CIDR ranges',
  ),
  METRICS_ALLOWED_RANGES: list(
    'Addresses or ranges that may read /metrics in live mode, such as 127.0.0.1. Empty: nobody.',
    '',
    isAddressOrRange,
    'IP addresses or CIDR ranges',
  ),
  ALLOW_EMBEDDED_LIVE: flag('Live mode on the embedded database, which is one machine without a standby.'),
  ALLOW_SIMULATORS_LIVE: flag(
    'Live mode with connections to simulators on this machine, for rehearsals: the money of their payments is not real.',
  ),
  ALLOW_SIGN_UP: flag('Whether anybody may open an account in the console.'),
  SMTP_URL: mailServer(
    'Mail server for invitations, login links and notices, smtps://user:password@host:port. ' +
      'Empty: no mail is sent, and links are shown to the person who makes them.',
  ),
  MAIL_FROM: sender('Sender of those mails. Required with SMTP_URL.'),
  SECURITY_CONTACT: contact(
    'Where to report a vulnerability, as /.well-known/security.txt says it: mailto:… or https://… Empty: no such file.',
  ),
  LEDGER_HEAD_FILE: text(
    'File that the newest head of the ledger is appended to once a minute, signed; on another disk or machine. Empty: none.',
    '',
  ),
  LEDGER_HEAD_URL: webAddress(
    'Address that the newest head of the ledger is sent to by POST once a minute, signed. Empty: none.',
  ),
  LEDGER_HEAD_MAIL: sender('E-mail address that gets the newest head of the ledger once a day. It needs SMTP_URL.'),
  SESSION_IDLE_MINUTES: optionalInteger(
    'Minutes without a request after which a console session ends. Empty: 15 in live mode, 60 in sandbox mode.',
    1,
    720,
  ),
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
  errors.push(...keyErrors(config));
  errors.push(...databaseErrors(config));
  if (config.smtpUrl && config.mailFrom === '') errors.push('MAIL_FROM is required with SMTP_URL');
  if (config.ledgerHeadMail && !config.smtpUrl) errors.push('LEDGER_HEAD_MAIL needs SMTP_URL');
  if (config.catalogFile && !existsSync(config.catalogFile))
    errors.push(`CATALOG_FILE names a file that does not exist (it is "${config.catalogFile}")`);
  if (config.mode === 'live') {
    if (config.failpoint) errors.push('FAILPOINT is for crash tests and rejected in live mode');
    if (config.masterKey === '' && config.keyProvider === null)
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

/** Nobody else can read what is sent there: https, or this machine. */
function isPrivateOrigin(value: string): boolean {
  const url = URL.parse(value);
  if (url?.pathname !== '/' || url.search || url.username) return false;
  return (
    url.protocol === 'https:' || (url.protocol === 'http:' && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname))
  );
}

function keyErrors(config: Config): string[] {
  const errors: string[] = [];
  for (const [name, value] of [
    ['MASTER_KEY', config.masterKey],
    ['MASTER_KEY_PREVIOUS', config.masterKeyPrevious],
  ])
    if (value && !masterKeyBytes(value)) errors.push(`${name} must be 32 bytes: 64 hexadecimal characters, or base64`);
  if (config.keyProvider && config.masterKey)
    errors.push('KEY_PROVIDER replaces MASTER_KEY: unset it, or call it MASTER_KEY_PREVIOUS until the keys are moved');
  const services = [config.keyProvider?.service, config.keyProviderPrevious?.service];
  if (services.includes('aws-kms') && !(config.awsAccessKeyId && config.awsSecretAccessKey))
    errors.push('KEY_PROVIDER aws-kms needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  if (services.includes('vault-transit') && !(config.vaultAddr && (config.vaultToken || config.vaultTokenPath)))
    errors.push('KEY_PROVIDER vault-transit needs VAULT_ADDR, and VAULT_TOKEN or VAULT_TOKEN_PATH');
  // Other programs read these two as well, so they are checked only where they are used.
  if (services.includes('aws-kms') && config.awsEndpointUrlKms && !isPrivateOrigin(config.awsEndpointUrlKms))
    errors.push('AWS_ENDPOINT_URL_KMS must be an https origin: keys travel over it');
  if (services.includes('vault-transit') && config.vaultAddr && !isPrivateOrigin(config.vaultAddr))
    errors.push('VAULT_ADDR must be an https origin: keys travel over it');
  if (config.backupPassphrase && config.backupPassphrase.length < 12)
    errors.push('BACKUP_PASSPHRASE must have at least 12 characters');
  if (config.backupPassphrase && config.backupRecipients?.length)
    errors.push('BACKUP_PASSPHRASE and BACKUP_RECIPIENTS exclude each other');
  return errors;
}

const DATABASE_URL_FORM =
  'must be postgres://user:password@host:port/name. Write other characters than letters and digits in the password with their ' +
  'code: # is %23, / is %2F, ? is %3F, @ is %40, % is %25';

function databaseErrors(config: Config): string[] {
  const errors: string[] = [];
  const urls = {
    DATABASE_URL: config.databaseUrl,
    MIGRATION_DATABASE_URL: config.migrationDatabaseUrl,
    DATABASE_LISTEN_URL: config.databaseListenUrl,
  };
  for (const [name, url] of Object.entries(urls)) {
    if (!url) continue;
    if (!parseDatabaseUrl(url)) errors.push(`${name} ${DATABASE_URL_FORM}`);
    else if (config.mode === 'live' && !config.allowDatabaseWithoutTls && !isTrustedConnection(url))
      errors.push(
        `${name} must end with ?sslmode=verify-full in live mode: the connection to another machine is encrypted, and its ` +
          'certificate is checked. Set ALLOW_DATABASE_WITHOUT_TLS=true to do without',
      );
    else if (hasUnknownPooler(url)) errors.push(`${name} may say ?pooler=transaction, and nothing else of a pooler`);
    if (name !== 'DATABASE_URL' && !config.databaseUrl)
      errors.push(`${name} is for the database of DATABASE_URL, which is not set`);
  }
  if (config.databaseListenUrl && parseDatabaseUrl(config.databaseListenUrl) && isPooled(config.databaseListenUrl))
    errors.push('DATABASE_LISTEN_URL must go to PostgreSQL itself: LISTEN needs a connection of its own');
  return errors;
}

/** The 32 bytes of a master key written as hexadecimal or base64, or null. */
export function masterKeyBytes(value: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
  // Checked here because Buffer.from ignores what is not base64 and would turn any sentence into a key.
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(value) ? Buffer.from(value, 'base64') : null;
}

/** The name that people read on pages, in mails and in documents. Messages of the API use `brandName` itself. */
export function shownBrand({ brandName }: Pick<Config, 'brandName'>): string {
  return brandName === DEFAULT_BRAND ? 'Simbi' : brandName;
}

export function publicUrl(config: Config): string {
  if (config.publicUrl) return config.publicUrl;
  return HOSTS_OF_LOCALHOST.includes(config.host) ? `http://localhost:${config.port}` : localUrl(config);
}

/** What listens there answers at localhost too. Another address of this machine does not. */
const HOSTS_OF_LOCALHOST = ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'];

/** Where a program on this machine reaches the service: HOST may be one of its addresses, or all of them. */
export function localUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Whether a sandbox catches its own mails: without a mail server, and only where nobody else can reach it, because the mail
 * box shows links that sign in.
 */
export function hasMailBox(config: Pick<Config, 'mode' | 'smtpUrl' | 'host' | 'publicUrl'>): boolean {
  const isLocal = (host: string) => host === 'localhost' || isLoopback(host);
  const shown = config.publicUrl === '' ? null : URL.parse(config.publicUrl);
  return (
    config.mode === 'sandbox' &&
    config.smtpUrl === '' &&
    isLocal(config.host) &&
    (config.publicUrl === '' || (shown !== null && isLocal(shown.hostname)))
  );
}

/** How long a console session lives without a request. */
export function sessionIdleMs({ sessionIdleMinutes, mode }: Config): number {
  return (sessionIdleMinutes ?? (mode === 'live' ? 15 : 60)) * 60_000;
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

Live mode requires \`MASTER_KEY\` (or \`KEY_PROVIDER\`), an https \`PUBLIC_URL\` and \`DATABASE_URL\` (or \`ALLOW_EMBEDDED_LIVE=true\`):
[going live](going-live.md).
`;
}
