// simbi sign: signs a request body locally and explains each step.

import type { Command } from 'commander';
import { canonicalJson } from '../platform/canonical-json.ts';
import { systemClock } from '../platform/clock.ts';
import { randomSecret } from '../platform/ids.ts';
import { sha256 } from '../platform/secrets.ts';
import { JsonError, type JsonObject, type JsonValue, parseStrictJson } from '../platform/strict-json.ts';
import { CREDENTIALS_HELP, hmacOf, readCredentials } from './remote.ts';
import { CommandError, EXIT, type Terminal, toJson, withExamples } from './terminal.ts';

type SignOptions = { json?: boolean; explain?: boolean; params?: string; timestamp?: string; salt?: string };

export function signCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    `npx simbi sign --explain --params '{"id":"TX_1"}'`,
    `npx simbi sign --params '{}' | ` +
      `curl -H 'Content-Type: application/json' -d @- http://localhost:8080/api/v3/get-unified-balance`,
    'npx simbi sign < body.json',
  ])
    .option('--params <json>', 'the params; without it the body or the params are read from standard input')
    .option('--explain', 'also print the canonical string, its SHA-256 and the signature')
    .option('--timestamp <seconds>', 'Unix time; default: now')
    .option('--salt <text>', 'default: random')
    .addHelpText(
      'after',
      `\nInput with a member "params" is a whole body: missing members are added.${CREDENTIALS_HELP}`,
    )
    .action((options: SignOptions) => sign(terminal, options));
}

async function sign(terminal: Terminal, options: SignOptions): Promise<void> {
  const input = options.params === undefined ? await terminal.readInput() : Buffer.from(options.params);
  if (input === null) throw new CommandError('Pass the params with --params, or a body on standard input.', EXIT.usage);
  const given = parseInput(input);
  const isBody = options.params === undefined && 'params' in given;
  const credentials = await readCredentials(terminal);
  if (options.timestamp !== undefined && !/^-?\d{1,15}$/.test(options.timestamp))
    throw new CommandError('--timestamp must be a whole number of seconds.', EXIT.usage);
  const body: JsonObject = {
    client_id: credentials.clientId,
    sender: credentials.sender,
    timestamp: Math.floor(systemClock.millis() / 1000),
    salt: randomSecret(16),
    ...(isBody ? given : { params: given }),
    ...(options.timestamp === undefined ? {} : { timestamp: Number(options.timestamp) }),
    ...(options.salt === undefined ? {} : { salt: options.salt }),
  };
  const { signature: _, ...unsigned } = body;
  const canonical = canonicalJson(unsigned);
  const signature = hmacOf(credentials.secretKey, canonical);
  const signed = { ...body, signature };
  if (!options.explain) {
    terminal.out(JSON.stringify(signed));
    return;
  }
  const digest = sha256(canonical).toString('hex');
  if (options.json) {
    terminal.out(toJson({ canonical, sha256: digest, signature, body: signed }));
    return;
  }
  const steps: [string, string][] = [
    ['1. The canonical JSON (RFC 8785) of the body without "signature":', canonical],
    ['2. Its SHA-256, to compare with yours:', digest],
    ['3. The signature, HMAC-SHA256 of 1 with your secret_key, in lower-case hexadecimal:', signature],
    ['4. The body to send:', JSON.stringify(signed)],
  ];
  terminal.out(steps.map(([title, text]) => `${terminal.bold(title)}\n${text}`).join('\n\n'));
}

function parseInput(input: Buffer): JsonObject {
  let value: JsonValue;
  try {
    value = parseStrictJson(input);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new CommandError(
      `The input is not acceptable JSON: ${error.message}, at position ${error.position}.`,
      EXIT.usage,
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandError('The input must be a JSON object.', EXIT.usage);
  return value;
}
