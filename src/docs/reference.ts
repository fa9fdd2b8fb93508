// The API reference and the page of each error, as Markdown, from the OpenAPI document and the table of problems. Pages
// render this text; programs can read it directly.

import { PROBLEMS, type ProblemCode } from '../platform/errors.ts';
import { referencePath } from './contents.ts';
import { anchorOf } from './markdown.ts';
import type { ApiDocument, MediaObject, OperationObject, ResponseObject, SchemaObject } from './openapi.ts';

const JSON_TYPE = 'application/json';

/** What stands in the texts for the keys of the reader. */
export const PLACEHOLDERS = {
  clientId: 'YOUR_CLIENT_ID',
  sender: 'YOUR_SENDER',
  secretKey: 'YOUR_SECRET_KEY',
  callbackSecret: 'YOUR_CALLBACK_SECRET',
} as const;

export type OperationEntry = { path: string; method: string; operation: OperationObject };

/** A program that makes a call, as the tab of a language. */
export type Sample = { label: string; language: string; code: string };
/** The programs of a signed call, with placeholders for the keys. */
export type WriteSamples = (path: string, params: unknown) => readonly Sample[];

export function listOperations(document: ApiDocument): OperationEntry[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
}

/** The operations of one group. */
export function operationsOf(document: ApiDocument, tag: string): OperationEntry[] {
  return listOperations(document).filter(({ operation }) => operation.tags?.[0] === tag);
}

/** The name of an operation on its page. */
export function anchorOfOperation({ path, method }: OperationEntry): string {
  return anchorOf(`${method} ${path}`);
}

/** Where the reference describes an operation. */
export function linkToOperation(entry: OperationEntry): string {
  return `${referencePath(entry.operation.tags?.[0] ?? '')}#${anchorOfOperation(entry)}`;
}

/** Every operation on a line, with a link to its description. */
export function writeOperations(document: ApiDocument): string {
  const rows = listOperations(document).map(
    (entry) =>
      `| [${entry.method} ${entry.path}](${linkToOperation(entry)}) | ${cell(entry.operation.summary ?? '')} |`,
  );
  return ['| operation | what it does |', '|---|---|', ...rows].join('\n');
}

/** The whole reference as one text, for programs. */
export function writeReference(document: ApiDocument, samples: WriteSamples): string {
  return `# API reference

${writeIntroduction(document)}

${writeOperations(document)}

${document.tags.map((tag) => writeGroup(document, tag, samples)).join('\n\n')}
`;
}

/** What all operations have in common. */
export function writeIntroduction({ info, servers }: ApiDocument): string {
  return `${info.description}

Base URL: \`${servers[0]?.url ?? ''}\`. The same as data: [openapi.json](/openapi.json).`;
}

/** The operations of one group as a text. */
export function writeGroup(
  document: ApiDocument,
  { name, description }: ApiDocument['tags'][number],
  samples: WriteSamples,
): string {
  const operations = operationsOf(document, name).map((entry) => {
    const { about, answer, request, refusals } = describeOperation(document, entry, samples);
    return [`### ${entry.method} ${entry.path}`, about, request, answer, `Refusals:\n\n${refusals}`].join('\n\n');
  });
  return `## ${name}\n\n${description}\n\n${operations.join('\n\n')}`;
}

export type OperationText = {
  /** What it does, what it needs, and what its answer contains. */
  about: string;
  /** The call in several languages. */
  request: string;
  /** An answer as an example; empty where there is none. */
  answer: string;
  refusals: string;
};

/** An operation in parts, so that a page can place them beside each other. */
export function describeOperation(document: ApiDocument, entry: OperationEntry, samples: WriteSamples): OperationText {
  const { operation } = entry;
  const body = operation.requestBody?.content[JSON_TYPE];
  const params = memberOf(body?.schema, 'params');
  const success = operation.responses['200'];
  const about = [
    `**${operation.summary ?? ''}**${operation.deprecated ? ' (superseded)' : ''} ${operation.description ?? ''}`,
    `Authentication: ${describeSecurity(operation)}.`,
    operation.parameters ? writeParameters(operation) : null,
    params ? `Members of \`params\`:\n\n${writeMembers(params)}` : body?.schema ? writeMembers(body.schema) : null,
    success ? writeAnswerMembers(success) : null,
  ];
  const example = success?.content?.[JSON_TYPE]?.example;
  return {
    about: about.filter((part) => part !== null).join('\n\n'),
    request: writeRequest(document, entry, samples),
    answer: example === undefined ? '' : `Answer 200:\n\n${writeJson(example)}`,
    refusals: writeRefusals(operation),
  };
}

export type SecurityKind = 'signed' | 'token' | 'none';

/** How a caller proves who they are. */
export function securityOf({ requestBody, security }: OperationObject): SecurityKind {
  if (security?.some((scheme) => 'bearerAuth' in scheme)) return 'token';
  return memberOf(requestBody?.content[JSON_TYPE]?.schema, 'params') ? 'signed' : 'none';
}

function describeSecurity(operation: OperationObject): string {
  const kind = securityOf(operation);
  if (kind !== 'signed') return kind === 'token' ? 'bearer token' : 'none';
  const apiKey = operation.security?.some((scheme) => 'apiKeyAuth' in scheme);
  return apiKey ? '[signed envelope](/docs/signing); `X-API-Key` optional' : '[signed envelope](/docs/signing)';
}

/** The call as programs and as JSON, a tab each. */
function writeRequest(document: ApiDocument, entry: OperationEntry, samples: WriteSamples): string {
  const example = exampleOf(entry);
  const signed = securityOf(entry.operation) === 'signed';
  const programs = signed
    ? samples(entry.path, (example as { params?: unknown } | undefined)?.params ?? {})
    : [{ label: 'curl', language: 'bash', code: writeCurl(document, entry) }];
  const json = { label: 'JSON', language: 'json', code: JSON.stringify(example, null, 2) };
  const tabs = [...programs, ...(example === undefined ? [] : [json])].map(
    ({ label, language, code }) => `#### ${label}\n\n\`\`\`${language}\n${code}\n\`\`\``,
  );
  return `<!-- tabs -->\n\n${tabs.join('\n\n')}\n\n<!-- /tabs -->`;
}

/** The body of the example request. */
export function exampleOf({ operation }: OperationEntry): unknown {
  return operation.requestBody?.content[JSON_TYPE]?.example;
}

function writeCurl({ servers }: ApiDocument, entry: OperationEntry): string {
  const example = exampleOf(entry);
  const url = `${servers[0]?.url ?? ''}${entry.path}${writeQuery(entry)}`;
  const lines = [
    `curl -sS${entry.method === 'GET' ? '' : ` -X ${entry.method}`} '${url}'`,
    ...(securityOf(entry.operation) === 'token' ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(example === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(example, forReader)}'`]),
  ];
  return lines.join(' \\\n  ');
}

const KEYS_IN_BODY: Readonly<Record<string, string>> = {
  client_id: PLACEHOLDERS.clientId,
  secret_key: PLACEHOLDERS.secretKey,
  sender: PLACEHOLDERS.sender,
};

/** A member of a body that the reader sends now: their keys, and no time of the past, which the server fills in. */
function forReader(name: string, value: unknown): unknown {
  return name === 'timestamp' || name === 'salt' ? undefined : (KEYS_IN_BODY[name] ?? value);
}

/** What the query must have, by the examples of its parameters. */
function writeQuery({ operation }: OperationEntry): string {
  const needed = (operation.parameters ?? []).filter((one) => one.in === 'query' && one.required);
  const values = needed.map(({ name, example, schema }) => `${name}=${String(example ?? [schema?.enum].flat()[0])}`);
  return values.length === 0 ? '' : `?${values.join('&')}`;
}

function writeParameters(operation: OperationObject): string {
  const rows = (operation.parameters ?? []).map((one) => {
    const type = describeType(one.schema ?? {});
    return `| \`${one.name}\` | ${one.in} | ${type} | ${one.required ? 'yes' : 'no'} | ${cell(one.description ?? '')} |`;
  });
  return ['| parameter | in | type | required | meaning |', '|---|---|---|---|---|', ...rows].join('\n');
}

function writeMembers(schema: SchemaObject): string {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const rows = Object.entries(propertiesOf(schema)).map(
    ([name, member]) =>
      `| \`${name}\` | ${describeType(member)} | ${required.has(name) ? 'yes' : 'no'} | ${cell(textOf(member.description))} |`,
  );
  return ['| member | type | required | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function writeAnswerMembers(answer: ResponseObject): string | null {
  const media: MediaObject | undefined = answer.content?.[JSON_TYPE];
  const data = memberOf(media?.schema, 'data');
  const record = data?.type === 'array' ? (data.items as SchemaObject) : data;
  if (!record || Object.keys(propertiesOf(record)).length === 0) return null;
  const place = data?.type === 'array' ? 'an entry of `data`' : '`data`';
  return `Members of ${place} in the answer (always present unless "required" says no):\n\n${writeMembers(record)}`;
}

function writeRefusals(operation: OperationObject): string {
  const rows = Object.entries(operation.responses).flatMap(([status, answer]) =>
    Object.entries(answer.content?.[JSON_TYPE]?.examples ?? {}).map(
      ([code, { value }]) =>
        `| ${status} | [${code}](/docs/errors/${code}) | ${cell(textOf((value as { message?: unknown }).message))} |`,
    ),
  );
  return ['| status | code | message |', '|---|---|---|', ...rows].join('\n');
}

function describeType(schema: SchemaObject): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (Array.isArray(schema.anyOf))
    return [...new Set(schema.anyOf.map((one) => describeType(one as SchemaObject)))].join(' or ');
  if (schema.type === 'array') return `array of ${describeType((schema.items as SchemaObject) ?? {})}`;
  return typeof schema.type === 'string' ? schema.type : 'any';
}

function propertiesOf(schema: SchemaObject): Record<string, SchemaObject> {
  return typeof schema.properties === 'object' && schema.properties !== null
    ? (schema.properties as Record<string, SchemaObject>)
    : {};
}

function memberOf(schema: SchemaObject | undefined, name: string): SchemaObject | null {
  return schema ? (propertiesOf(schema)[name] ?? null) : null;
}

function writeJson(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}

/** One error as data. */
export function describeProblem(code: ProblemCode) {
  return { code, ...PROBLEMS[code] };
}

/** One page an error: what happened and what to do. */
export function writeProblem(code: ProblemCode, document: ApiDocument | null): string {
  const { status, message, cause, fix } = PROBLEMS[code];
  const users = (document ? listOperations(document) : []).flatMap((entry) => {
    const found = Object.entries(entry.operation.responses).find(
      ([, answer]) => answer.content?.[JSON_TYPE]?.examples?.[code] !== undefined,
    );
    if (!found) return [];
    const value = found[1].content?.[JSON_TYPE]?.examples?.[code]?.value as { message?: string };
    return [
      `| [${entry.method} ${entry.path}](${linkToOperation(entry)}) | ${found[0]} | ${cell(value.message ?? '')} |`,
    ];
  });
  const table =
    users.length > 0 && users.length < 12
      ? `\n\n| operation | status | message |\n|---|---|---|\n${users.join('\n')}`
      : '';
  return `# ${code}

Status ${status}: “${message}”

## Cause

${cause}

## What to do

${fix}${table}

[All errors](/docs/errors)
`;
}

/** The guide to all errors; committed as docs/errors.md. */
export function writeErrors(): string {
  const rows = (Object.keys(PROBLEMS) as ProblemCode[]).map((code) => {
    const { status, cause, fix } = PROBLEMS[code];
    return `| [\`${code}\`](/docs/errors/${code}) | ${status} | ${cell(cause)} | ${cell(fix)} |`;
  });
  return `# Errors

An error is JSON: \`success\` is false, \`message\` is a sentence, \`code\` is for programs, \`request_id\` is for the
administrators of the gateway, and \`errors\`, if present, maps each field to what is wrong with it:

\`\`\`json
{
  "success": false,
  "message": "Transaction was not created!",
  "code": "invalid_params",
  "request_id": "req_01JNAFQ7M0E9SRC45Y6Z8XKBDT",
  "errors": { "amount": ["The smallest amount for MTN MoMo in Uganda is 500 UGX."] }
}
\`\`\`

Messages, and a few statuses, differ between operations, as the specification says; the reference of each operation names
its own. On the balance operation \`success\` is the string \`"false"\` and \`data\` an empty array. A 4xx has no effect and
does not use the signature, with one exception: a wrong token sent to verify a collection counts as a try and uses its
signature. After a 503 or a lost answer, sign again and send again with the same \`Idempotency-Key\`.

| code | status | cause | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}
