// For commands that call a running gateway over HTTP like any client, with the credentials of the environment or those
// of the demo holder.

import { createHmac } from 'node:crypto';
import { readDemoFile } from '../demo-file.ts';
import { canonicalJson } from '../platform/canonical-json.ts';
import { systemClock } from '../platform/clock.ts';
import { type Config, publicUrl, readConfig } from '../platform/config.ts';
import { randomSecret } from '../platform/ids.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { runningServer } from '../running-server.ts';
import { exitCodeOf } from './exit-codes.ts';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

const TIMEOUT_MS = 15_000;

export type Credentials = { url: string; clientId: string; secretKey: string; sender: string };

export const CREDENTIALS_HELP = `
Credentials are read from SIMBI_URL, SIMBI_CLIENT_ID, SIMBI_SECRET_KEY and SIMBI_SENDER,
or from DATA_DIR/demo.json, which the sandbox writes when it starts.`;

export async function readCredentials(terminal: Terminal): Promise<Credentials> {
  const { environment } = terminal;
  const demo = environment.SIMBI_CLIENT_ID ? null : await readDemoFile(dataDirOf(terminal));
  const credentials = {
    url: environment.SIMBI_URL || demo?.base_url || '',
    clientId: environment.SIMBI_CLIENT_ID || demo?.client_id || '',
    secretKey: environment.SIMBI_SECRET_KEY || demo?.secret_key || '',
    sender: environment.SIMBI_SENDER || demo?.sender || '',
  };
  if (credentials.clientId && credentials.secretKey) return credentials;
  throw new CommandError(
    'No credentials found. Start the sandbox (npm start), or set SIMBI_URL, SIMBI_CLIENT_ID, SIMBI_SECRET_KEY and SIMBI_SENDER.',
    EXIT.auth,
  );
}

/** The client_id of the credentials that a command would use; null without credentials. */
export async function findClientId(terminal: Terminal): Promise<string | null> {
  const { SIMBI_CLIENT_ID: given } = terminal.environment;
  return given || ((await readDemoFile(dataDirOf(terminal)))?.client_id ?? null);
}

/** The gateway for what needs no credentials: that of SIMBI_URL, the one that runs here, or the one that ran last. */
export async function findGateway(terminal: Terminal): Promise<string> {
  const config = dataDirOf(terminal);
  return (
    terminal.environment.SIMBI_URL ||
    runningServer(config)?.url ||
    (await readDemoFile(config))?.base_url ||
    publicUrl(config)
  );
}

/** A client only needs DATA_DIR; the other settings of the server may be invalid here. */
function dataDirOf(terminal: Terminal): Config {
  const dataDir = terminal.environment.DATA_DIR;
  return readConfig(dataDir ? { DATA_DIR: dataDir } : {});
}

/** Signs and posts params like any client. */
export function postSigned(
  credentials: Credentials,
  path: string,
  params: JsonObject,
  headers: Record<string, string> = {},
): Promise<RemoteAnswer> {
  const body: JsonObject = {
    client_id: credentials.clientId,
    sender: credentials.sender,
    timestamp: Math.floor(systemClock.millis() / 1000),
    salt: randomSecret(16),
    params,
  };
  return postJson(
    credentials,
    path,
    { ...body, signature: hmacOf(credentials.secretKey, canonicalJson(body)) },
    headers,
  );
}

/** The signature of a canonical text, made as any client makes it. */
export function hmacOf(secretKey: string, canonical: string): string {
  return createHmac('sha256', secretKey).update(canonical).digest('hex');
}

/** A bearer token, for the operations that take no signature. */
export async function fetchToken(credentials: Credentials): Promise<{ token: string; expires_at: string }> {
  const { body } = await postJson(credentials, '/api/integration/get-token', {
    client_id: credentials.clientId,
    secret_key: credentials.secretKey,
  });
  return body.data as { token: string; expires_at: string };
}

type RemoteAnswer = { status: number; body: Record<string, unknown>; isSandbox: boolean };

/** Posts JSON. An error response ends the command with its message. */
export function postJson(
  credentials: Pick<Credentials, 'url'>,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<RemoteAnswer> {
  return request(credentials.url, path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Requests a path of the gateway and returns its JSON. Long polls need a longer `timeoutMs`. */
export async function request(
  base: string,
  path: string,
  options: RequestInit = {},
  timeoutMs = TIMEOUT_MS,
): Promise<RemoteAnswer> {
  if (!/^https?:$/.test(URL.parse(base)?.protocol ?? ''))
    throw new CommandError('SIMBI_URL must begin with http:// or https://.', EXIT.usage);
  const url = new URL(path, base);
  let status: number;
  let text: string;
  let isSandbox: boolean;
  try {
    const response = await fetch(url, {
      ...options,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    status = response.status;
    isSandbox = response.headers.get('x-simbi-mode') === 'sandbox';
    text = await response.text();
  } catch {
    throw new CommandError(
      `No response from ${url.origin}. Check that the gateway is running: npx simbi status`,
      EXIT.unavailable,
    );
  }
  const answer = { status, body: readAnswer(text, url), isSandbox };
  if (status >= 400) throw new CommandError(sentenceOf(answer), exitCodeOf(status));
  return answer;
}

function readAnswer(text: string, url: URL): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new CommandError(`${url.origin} did not return a Simbi response. Check SIMBI_URL.`, EXIT.unavailable);
}

function sentenceOf(answer: RemoteAnswer): string {
  const { message, code, request_id, errors } = answer.body;
  const fields = Object.entries((errors ?? {}) as Record<string, string[]>).flatMap(([, sentences]) => sentences);
  return [`${String(message)} (${answer.status} ${String(code)}, ${String(request_id)})`, ...fields].join('\n  ');
}
