// What a database URL says: the host, the login, and the role that its connections take.

/** Null: not a URL of PostgreSQL. The host may be left out, as the driver allows: then it is this machine. */
export function parseDatabaseUrl(text: string): URL | null {
  return /^postgres(ql)?:\/\//.test(text) ? URL.parse(text.replace('@/', '@localhost/')) : null;
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
  return url.toString();
}

/** The login of a database URL; empty: the driver chooses it. */
export function loginOf(databaseUrl: string): string {
  return decodeURIComponent(requireUrl(databaseUrl).username);
}

/** Whether nobody in between can read or change what is sent: TLS with a checked certificate, or this machine. */
export function isTrustedConnection(databaseUrl: string): boolean {
  const { hostname, searchParams } = requireUrl(databaseUrl);
  if (searchParams.get('sslmode') === 'verify-full') return true;
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host === '' || host.startsWith('/') || /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);
}
