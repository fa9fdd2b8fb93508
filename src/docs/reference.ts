// The API reference and the page of each error, as Markdown, from the OpenAPI document and the table of problems. Pages
// render this text; programs can read it directly.

import { PROBLEMS, type ProblemCode } from '../platform/errors.ts';
import { anchorOf } from './markdown.ts';
import type { ApiDocument, MediaObject, OperationObject, ResponseObject, SchemaObject } from './openapi.ts';

const JSON_TYPE = 'application/json';

type OperationEntry = { path: string; method: string; operation: OperationObject };

export function listOperations(document: ApiDocument): OperationEntry[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
}

/** Where the reference describes an operation. */
export function anchorOfOperation({ path, method }: OperationEntry): string {
  return anchorOf(`${method} ${path}`);
}

/** Every operation on a line, with a link to its description. */
export function writeOperations(document: ApiDocument): string {
  const rows = listOperations(document).map(
    (entry) =>
      `| [${entry.method} ${entry.path}](/docs/reference#${anchorOfOperation(entry)}) | ${cell(entry.operation.summary ?? '')} |`,
  );
  return ['| operation | what it does |', '|---|---|', ...rows].join('\n');
}

export function writeReference(document: ApiDocument): string {
  const operations = listOperations(document);
  const sections = document.tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags?.[0] === name);
    return `## ${name}\n\n${description}\n\n${own.map(writeOperation).join('\n\n')}`;
  });
  return `# API reference

${document.info.description}

Base URL: \`${document.servers[0]?.url ?? ''}\`. The same as data: [openapi.json](/openapi.json).

${writeOperations(document)}

${sections.join('\n\n')}
`;
}

function writeOperation(entry: OperationEntry): string {
  const { operation } = entry;
  const body = operation.requestBody?.content[JSON_TYPE];
  const params = memberOf(body?.schema, 'params');
  const success = operation.responses['200'];
  return [
    `### ${entry.method} ${entry.path}`,
    `**${operation.summary ?? ''}**${operation.deprecated ? ' (superseded)' : ''} ${operation.description ?? ''}`,
    `Authentication: ${describeSecurity(operation, params !== null)}.`,
    operation.parameters ? writeParameters(operation) : null,
    params ? `Members of \`params\`:\n\n${writeMembers(params)}` : body?.schema ? writeMembers(body.schema) : null,
    body?.example === undefined ? null : `Request:\n\n${writeJson(body.example)}`,
    success ? writeSuccess(success) : null,
    `Refusals:\n\n${writeRefusals(operation)}`,
  ]
    .filter((part) => part !== null)
    .join('\n\n');
}

function describeSecurity(operation: OperationObject, isSigned: boolean): string {
  const token = operation.security?.some((scheme) => 'bearerAuth' in scheme);
  const apiKey = operation.security?.some((scheme) => 'apiKeyAuth' in scheme);
  if (isSigned) return apiKey ? 'signed envelope; `X-API-Key` optional' : 'signed envelope';
  return token ? 'bearer token' : 'none';
}

function writeParameters(operation: OperationObject): string {
  const rows = (operation.parameters ?? []).map(
    (one) => `| \`${one.name}\` | ${one.in} | ${describeType(one.schema ?? {})} | ${cell(one.description ?? '')} |`,
  );
  return ['| parameter | in | type | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function writeMembers(schema: SchemaObject): string {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const rows = Object.entries(propertiesOf(schema)).map(
    ([name, member]) =>
      `| \`${name}\` | ${describeType(member)} | ${required.has(name) ? 'yes' : 'no'} | ${cell(textOf(member.description))} |`,
  );
  return ['| member | type | required | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function writeSuccess(answer: ResponseObject): string {
  const media: MediaObject | undefined = answer.content?.[JSON_TYPE];
  const data = memberOf(media?.schema, 'data');
  const record = data?.type === 'array' ? (data.items as SchemaObject) : data;
  const members = record && Object.keys(propertiesOf(record)).length > 0 ? writeMembers(record) : null;
  return [
    '200:',
    media?.example === undefined ? null : writeJson(media.example),
    members &&
      `Members of ${data?.type === 'array' ? 'an entry of `data`' : '`data`'} (always present unless "required" says no):\n\n${members}`,
  ]
    .filter(Boolean)
    .join('\n\n');
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
      `| [${entry.method} ${entry.path}](/docs/reference#${anchorOfOperation(entry)}) | ${found[0]} | ${cell(value.message ?? '')} |`,
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

Messages differ between operations, as the specification says. On the balance operation \`success\` is the string
\`"false"\` and \`data\` an empty array. A 4xx has no effect and does not use the signature, with one exception: a wrong
token sent to verify a collection counts as a try and uses its signature. After a 503 or a lost answer, sign again and
send again with the same \`Idempotency-Key\`.

| code | status | cause | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}
