// Commands that speak to a running gateway over HTTP, as any client does: with the credentials of the
// environment, or else with those of the demo account.

import { readDemoFile } from '../demo.ts';
import { type Config, readConfig } from '../platform/config.ts';
import { CommandFault, EXIT, type Terminal } from './terminal.ts';

const TIMEOUT_MS = 15_000;

export type Credentials = { url: string; clientId: string; secretKey: string; sender: string };

export const CREDENTIALS_HELP = `
Credentials come from SIMBI_URL, SIMBI_CLIENT_ID, SIMBI_SECRET_KEY and SIMBI_SENDER,
or else from demo.json in DATA_DIR, which the sandbox writes when it starts.`;

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
  throw new CommandFault(
    'There are no credentials. Start the sandbox first (npm start), or set SIMBI_URL, SIMBI_CLIENT_ID, SIMBI_SECRET_KEY and SIMBI_SENDER.',
    EXIT.auth,
  );
}

/** Only DATA_DIR matters to a client; the server's other settings may be anything here. */
function dataDirOf(terminal: Terminal): Config {
  const dataDir = terminal.environment.DATA_DIR;
  return readConfig(dataDir ? { DATA_DIR: dataDir } : {});
}

export type Answer = { status: number; body: Record<string, unknown> };

/** Posts JSON and answers what came back; an answer that is no success ends the command with its message. */
export async function postJson(
  credentials: Credentials,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  if (!URL.canParse(credentials.url)) throw new CommandFault('SIMBI_URL is not a URL.', EXIT.usage);
  const url = new URL(path, credentials.url);
  let status: number;
  let text: string;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    status = response.status;
    text = await response.text();
  } catch {
    throw new CommandFault(`Nothing answers at ${url.origin}. Is the gateway running? Try: npx simbi status`, 6);
  }
  const answer = { status, body: readAnswer(text, url) };
  if (status >= 400) throw new CommandFault(sentenceOf(answer), exitCodeOf(status));
  return answer;
}

function readAnswer(text: string, url: URL): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new CommandFault(`${url.origin} answered something that is not ours. Is SIMBI_URL right?`, EXIT.unavailable);
}

function sentenceOf(answer: Answer): string {
  const { message, code, request_id, errors } = answer.body;
  const fields = Object.entries((errors ?? {}) as Record<string, string[]>).flatMap(([, sentences]) => sentences);
  return [`${String(message)} (${answer.status} ${String(code)}, ${String(request_id)})`, ...fields].join('\n  ');
}

export function exitCodeOf(status: number): number {
  if (status === 401 || status === 403) return EXIT.auth;
  if (status === 404) return EXIT.notFound;
  if (status === 409) return EXIT.conflict;
  if (status === 429 || status === 503) return EXIT.unavailable;
  return EXIT.fault;
}
