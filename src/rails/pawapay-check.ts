// `simbi rail test` for pawaPay: compares the account's configuration at pawaPay with the connection.

import { dashboardAddress } from './callback-addresses.ts';
import type { RailConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { reasonOf } from './pawapay-answers.ts';
import type { Keyring } from './pawapay-keys.ts';
import { readSigner } from './pawapay-signatures.ts';
import type { ConnectionCheck } from './rail.ts';
import { field, firstOf, isObject, objectsOf, readJson, textOf } from './reading.ts';

const OPERATIONS = ['DEPOSIT', 'PAYOUT', 'REFUND'] as const;
type Operation = (typeof OPERATIONS)[number];

export async function checkAccount(
  connection: RailConnection,
  get: (path: string) => Promise<Exchange>,
  keyring: Keyring,
): Promise<ConnectionCheck[]> {
  const answer = await get('/v2/active-conf');
  const token = { name: 'API token', problem: tokenProblem(answer) };
  if (!answer.answered || token.problem !== null) return [token];
  const account = readJson(answer.body);
  return [
    token,
    { name: 'Methods', problem: methodsProblem(connection, account) },
    { name: 'Callback addresses', problem: addressesProblem(connection, account) },
    { name: 'Signed callbacks', problem: await callbacksProblem(connection, account, keyring) },
    { name: 'Signed requests', problem: requestsProblem(connection, account) },
  ];
}

function tokenProblem(answer: Exchange): string | null {
  if (!answer.answered) return `pawaPay cannot be reached: ${answer.reason}.`;
  if (answer.status === 401 || answer.status === 403) return 'pawaPay refuses the API token.';
  if (answer.status === 200 && Array.isArray(field(readJson(answer.body), 'countries'))) return null;
  return `pawaPay answered ${answer.status} ${reasonOf(readJson(answer.body)).code}`.trim();
}

function methodsProblem({ methods }: RailConnection, account: unknown): string | null {
  const operations = operationsOf(account);
  const missing = methods.filter((method) => !operations.has(method));
  const partial = methods.flatMap((method) => {
    const found = operations.get(method);
    const absent = found ? OPERATIONS.filter((name) => !found.has(name)) : [];
    return absent.length === 0 ? [] : [`${method} (no ${absent.join(', ').toLowerCase()})`];
  });
  if (missing.length + partial.length === 0) return null;
  return `The account does not offer everything: ${[...missing, ...partial].join(', ')}.`;
}

function addressesProblem({ addresses }: RailConnection, account: unknown): string | null {
  const ours = dashboardAddress(addresses);
  const others = new Set<string>();
  for (const operations of operationsOf(account).values())
    for (const details of operations.values()) {
      const url = textOf(firstOf(details, 'callbackUrl'));
      if (url !== null && url !== ours) others.add(url);
    }
  if (others.size === 0) return null;
  return `The dashboard has ${[...others].join(', ')} as callback address. It should be ${ours}.`;
}

async function callbacksProblem(
  { settings }: RailConnection,
  account: unknown,
  keyring: Keyring,
): Promise<string | null> {
  const isSigned = field(account, 'signatureConfiguration', 'signedCallbacks') === true;
  if (isSigned !== (settings.signed_callbacks === 'yes'))
    return isSigned
      ? 'pawaPay signs callbacks. Set signed_callbacks to yes, so that others are refused.'
      : 'pawaPay does not sign callbacks. Switch it on in the dashboard, or set signed_callbacks to no.';
  if (!isSigned) return null;
  const problem = await keyring.load();
  return problem === null ? null : `The public keys of pawaPay cannot be read: ${problem}.`;
}

function requestsProblem({ settings }: RailConnection, account: unknown): string | null {
  if (settings.signed_requests !== 'yes')
    return field(account, 'signatureConfiguration', 'signedRequestsOnly') === true
      ? 'pawaPay takes signed requests only. Set signed_requests, request_key_id and request_key.'
      : null;
  if (!settings.request_key_id) return 'request_key_id is missing.';
  const signer = readSigner(settings.request_key_id, settings.request_key ?? '', 'der');
  return signer === null ? 'request_key is not a private key (EC P-256, EC P-384 or RSA).' : null;
}

/** Provider → operation → details. pawaPay shows operations as an object or as a list of either kind. */
function operationsOf(account: unknown): Map<string, Map<Operation, unknown>> {
  const providers = objectsOf(field(account, 'countries')).flatMap((country) => objectsOf(country.providers));
  const found = new Map<string, Map<Operation, unknown>>();
  for (const provider of providers) {
    const code = textOf(provider.provider);
    if (code === null) continue;
    const operations = found.get(code) ?? new Map<Operation, unknown>();
    found.set(code, operations);
    for (const { operationTypes } of objectsOf(provider.currencies))
      for (const [operation, details] of readOperations(operationTypes)) operations.set(operation, details);
  }
  return found;
}

function readOperations(value: unknown): [Operation, unknown][] {
  const listed = Array.isArray(value) ? value : isObject(value) ? [value] : [];
  return listed.flatMap((entry: unknown) =>
    OPERATIONS.flatMap((name): [Operation, unknown][] => {
      if (field(entry, 'operationType') === name) return [[name, entry]];
      const details = field(entry, name);
      return details === undefined ? [] : [[name, details]];
    }),
  );
}
