// What a database URL says: the servers, the login, and the role that its connections take.

/** Scheme and login, servers, and the rest. Several servers are separated by commas: a,b:5433. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/;

/** A URL for each server that it names. */
export function serversOf(databaseUrl: string): string[] {
  const [, before = '', servers = '', rest = ''] = PARTS.exec(databaseUrl) ?? [];
  return servers.includes(',') ? servers.split(',').map((server) => before + server + rest) : [databaseUrl];
}

/** Null: not a URL of PostgreSQL. The host may be left out, as the driver allows: then it is this machine. */
export function parseDatabaseUrl(text: string): URL | null {
  if (!/^postgres(ql)?:\/\//.test(text)) return null;
  const servers = serversOf(text).map((url) => URL.parse(url.replace('@/', '@localhost/')));
  return servers.includes(null) ? null : (servers[0] ?? null);
}

/** The servers as people read them, without the login. */
export function serverNames(databaseUrl: string): string {
  return serversOf(databaseUrl)
    .map((server) => requireUrl(server).host)
    .join(', ');
}

function requireUrl(text: string): URL {
  const url = parseDatabaseUrl(text);
  if (!url) throw new Error('a database URL must begin with postgres://');
  return url;
}

/** The same database, for connections that are of this role from their first statement on. */
export function asRole(databaseUrl: string, role: string): string {
  const url = requireUrl(databaseUrl);
  // Options of the URL win over those of the driver, so both stand here.
  url.searchParams.set('options', `${url.searchParams.get('options') ?? ''} -c role=${role}`.trim());
  const servers = PARTS.exec(databaseUrl)?.[2] ?? '';
  return servers.includes(',') ? url.toString().replace(PARTS, `$1${servers}$3`) : url.toString();
}

const POOLER = 'pooler';

/**
 * Whether a pooler stands before the database that lends a connection for one transaction only: ?pooler=transaction. Then nothing
 * can be left on a connection (settings, locks, prepared statements, LISTEN), and nothing asked for when it opens.
 */
export function isPooled(databaseUrl: string): boolean {
  return requireUrl(databaseUrl).searchParams.get(POOLER) === 'transaction';
}

/** Whether the URL says of a pooler what we do not know. */
export function hasUnknownPooler(databaseUrl: string): boolean {
  return requireUrl(databaseUrl).searchParams.has(POOLER) && !isPooled(databaseUrl);
}

/** The login of a database URL; empty: the driver chooses it. */
export function loginOf(databaseUrl: string): string {
  return decodeURIComponent(requireUrl(databaseUrl).username);
}

/** Whether nobody in between can read or change what is sent: TLS with a checked certificate, or this machine. */
export function isTrustedConnection(databaseUrl: string): boolean {
  return serversOf(databaseUrl).every((server) => {
    const { hostname, searchParams } = requireUrl(server);
    if (searchParams.get('sslmode') === 'verify-full') return true;
    const host = searchParams.get('host') ?? decodeURIComponent(hostname);
    return host === '' || host.startsWith('/') || /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);
  });
}
