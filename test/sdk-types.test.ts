// The types of the client against the API document, in both directions: types are written from docs/openapi.json and
// compiled against those of sdk/src/types.ts. Changes that somebody might make to the document prove that it bites.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { compile } from './compiler.ts';
import { at, type Document, operation, operationsOf, typeOf } from './openapi-types.ts';

const ROOT = resolve(import.meta.dirname, '..');
const JSON_SCHEMA = 'content/application~1json/schema';
/** Operations that the client leaves to others, and why. */
const NOT_IN_THE_CLIENT: Record<string, string> = {
  downloadStatement: 'a file',
  findPayment: 'for the support of a shop, beside the page /find',
  getLogo: 'a picture',
  getPaymentLinkQr: 'a picture',
  createSignature: 'the client signs by itself',
  resendEvent: 'for a person, in the console and on the command line',
  replayEvents: 'for a person, in the console and on the command line',
};

const document = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as Document;
const folder = mkdtempSync(join(tmpdir(), 'simbi-types-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A program that compiles only when the client and the document say the same. */
function contract(doc: Document): string {
  const used = new Set<string>();
  const find = (id: string) => {
    used.add(id);
    return operation(doc, id);
  };
  const answer = (id: string, inside = 'data') =>
    typeOf(doc, at(doc, `/responses/200/${JSON_SCHEMA}/properties/${inside}`, find(id)));
  const params = (id: string, inside = '/properties/params') =>
    typeOf(doc, at(doc, `/requestBody/${JSON_SCHEMA}${inside}`, find(id)));
  const query = (id: string) =>
    ((find(id).parameters ?? []) as { name: string; in: string }[])
      .filter((each) => each.in === 'query')
      .map((each) => JSON.stringify(each.name))
      .join(' | ');
  const event = at(doc, `/webhooks/event/post/requestBody/${JSON_SCHEMA}`);
  const answers: [client: string, api: string][] = [
    ['Collection', answer('createCollection')],
    ['TransactionWithStep', answer('getStatus')],
    ['Transaction', answer('verifyCollection')],
    ['Transaction', answer('resendCollectionToken')],
    ['TransactionV2', answer('getStatusV2')],
    ['Balance[]', answer('getBalance')],
    ['Statement', answer('getStatement')],
    ['keyof Sdk.StatementParams & string', query('getStatement')],
    ['Refund', answer('createRefund')],
    ['RefundRecord', answer('getRefundStatus')],
    ['PaymentLink', answer('createPaymentLink')],
    ['PaymentLink[]', answer('listPaymentLinks')],
    ['Token', answer('getToken')],
    ['ListedToken[]', answer('listTokens')],
    ['RevokedToken', answer('revokeToken')],
    ['Countries', answer('listCountries')],
    ['Preflight', answer('preflight')],
    ['EventType', typeOf(doc, at(doc, '/properties/type', event))],
    ['EventData | Sdk.RefundData', typeOf(doc, at(doc, '/properties/data', event))],
    ['keyof Sdk.SimbiEvent & string', `keyof ${typeOf(doc, event)}`],
    ['keyof Sdk.SimbiEvent & string', `keyof (${answer('listEvents')})[number]`],
    ['ProblemCode', typeOf(doc, at(doc, '/components/schemas/Problem/properties/code'))],
    ['LinkStatus', `(${answer('listPaymentLinks')})[number]['status']`],
    ['"limit" | "cursor" | "status"', query('listPaymentLinks')],
    ['"after" | "limit"', query('listEvents')],
    ['"limit" | "cursor"', query('listTokens')],
  ];
  const requests: [client: string, api: string][] = [
    ['CollectionParams', params('createCollection')],
    ['PaymentLinkParams', params('createPaymentLink')],
    ['BalanceParams', params('getBalance')],
    ['PreflightParams', params('preflight', '')],
    ['{ id: string; token: string }', params('verifyCollection')],
    ['{ id: string }', params('resendCollectionToken')],
    ['{ id: string }', params('getStatusV2')],
    ['{ id: string; type?: "payin" | "payout" }', params('getStatus')],
    ['{ client_id: string; secret_key: string }', params('getToken', '')],
  ];
  assert.deepEqual(
    operationsOf(doc).filter((id) => !used.has(id) && !(id in NOT_IN_THE_CLIENT)),
    [],
    'neither in the client nor named as left out',
  );
  const named = (name: string) => (/^[A-Z]/.test(name) ? `Sdk.${name}` : name);
  return `import type * as Sdk from '${join(ROOT, 'sdk/src/types.ts')}';
    type Flat<T> = T extends (infer U)[] ? Flat<U>[] : T extends object ? { [K in keyof T]: Flat<T[K]> } : T;
    type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
    type Same<A, B> = Is<Flat<A>, Flat<B>>;
    type Needed<T> = { [K in keyof T]-?: undefined extends T[K] ? never : object extends Pick<T, K> ? never : K }[keyof T];
    /** What the client takes, the gateway takes; both know the same members and need the same ones. */
    type Fits<A, B> = [A] extends [B] ? (Is<keyof A, keyof B> extends true ? Is<Needed<A>, Needed<B>> : false) : false;
    ${answers
      .map(([name, type], index) => `export const answer${index}: Same<${named(name)}, ${type}> = true; // ${name}`)
      .join('\n')}
    ${requests
      .map(([name, type], index) => `export const request${index}: Fits<${named(name)}, ${type}> = true; // ${name}`)
      .join('\n')}`;
}

/** The document after one change, as somebody might make it without thinking of the client. */
function changed(change: (doc: Document) => void): Document {
  const copy = structuredClone(document);
  change(copy);
  return copy;
}
const data = (doc: Document, id: string) =>
  at(doc, `/responses/200/${JSON_SCHEMA}/properties/data`, operation(doc, id)) as {
    properties: Record<string, Record<string, unknown>>;
    required: string[];
  };
const drifts: Record<string, Document> = {
  'a member of an answer appears': changed((doc) => {
    data(doc, 'createCollection').properties.colour = { type: 'string' };
  }),
  'a member of an answer disappears': changed((doc) => {
    delete data(doc, 'getStatus').properties.balance;
  }),
  'a member becomes optional': changed((doc) => {
    data(doc, 'createPaymentLink').required.pop();
  }),
  'a member may be null': changed((doc) => {
    data(doc, 'getStatusV2').properties.ref = { type: ['string', 'null'] };
  }),
  'a number becomes a string': changed((doc) => {
    data(doc, 'preflight').properties.fee = { anyOf: [{ type: 'string' }, { type: 'null' }] };
  }),
  'a param appears': changed((doc) => {
    const params = at(doc, `/requestBody/${JSON_SCHEMA}/properties/params`, operation(doc, 'createCollection'));
    (params.properties as Record<string, unknown>).note = { type: 'string' };
  }),
  'a param becomes required': changed((doc) => {
    const params = at(doc, `/requestBody/${JSON_SCHEMA}/properties/params`, operation(doc, 'createPaymentLink'));
    (params.required as string[]).push('item_name');
  }),
  'a code of refusal appears': changed((doc) => {
    const problem = at(doc, '/components/schemas/Problem/properties/code');
    (problem.enum as string[]).push('brand_new');
  }),
  'an event appears': changed((doc) => {
    const type = at(doc, `/webhooks/event/post/requestBody/${JSON_SCHEMA}/properties/type`);
    (type.enum as string[]).push('payout.late');
  }),
};

test('are those of docs/openapi.json; every drift would be noticed', async () => {
  writeFileSync(join(folder, 'now.ts'), contract(document));
  const files = Object.entries(drifts).map(([, doc], index) => {
    writeFileSync(join(folder, `drift${index}.ts`), contract(doc));
    return `drift${index}.ts`;
  });
  const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--allowImportingTsExtensions'];
  const settings = ['--module', 'nodenext', '--target', 'es2022', '--skipLibCheck', '--types', ''];
  await compile([...flags, ...settings, 'now.ts'], folder);
  const faults = await compile([...flags, ...settings, ...files], folder).then(
    () => '',
    (error: Error) => error.message,
  );
  for (const [index, name] of Object.keys(drifts).entries())
    assert.match(faults, new RegExp(`drift${index}\\.ts.*TS2322`), `nobody would notice that ${name}`);
});
