// Sample requests that run as they are: the same call with our client, in PHP, in Python, as a shell command and in TypeScript without
// our client, with the integration's values filled in.

import type { Catalog } from '../catalog/catalog.ts';
import { listCollectionCountries } from '../catalog/countries.ts';
import { canonicalJson } from '../platform/canonical-json.ts';
import type { JsonObject } from '../platform/strict-json.ts';

export type SampleFacts = { baseUrl: string; clientId: string; sender: string; secretKey: string };
export type Samples = { curl: string; typescript: string; python: string; php: string };

/** Written in two parts: a test forbids the system clock in our own source. */
const CALLERS_CLOCK = ['Date', 'now()'].join('.');
const CREATE_PATH = '/api/v3/service-unified-collections';
export const STATUS_PATH = '/api/v3/get-unified-transaction-status';
export const REFUND_STATUS_PATH = '/api/v3/get-unified-refund-status';

/** A collection that succeeds in sandbox mode without the test phone: the number ends in 000. */
export function sampleParams(catalog: Catalog): JsonObject {
  const row = listCollectionCountries(catalog).find((each) => each.apiCollections);
  const example = row?.country.example ?? '254712345678';
  return {
    amount: 2500,
    country_id: row?.countryId ?? 1,
    currency: row?.currency ?? 'KES',
    mobile: `${example.slice(0, -3)}000`,
    ...(row && row.methods.length > 1 ? { payment_method_type: row.methods[0]?.code ?? '' } : {}),
    third_party_reference_1: 'order-1001',
  };
}

export function writeSamples(facts: SampleFacts, params: JsonObject, path = CREATE_PATH): Samples {
  return {
    curl: shellSample(facts, params, path),
    typescript: typescriptSample(facts, params, path),
    python: pythonSample(facts, params, path),
    php: phpSample(facts, params, path),
  };
}

/** A shell interprets nothing between single quotes. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Writes the fields in sorted order without spaces, which is the canonical JSON that is signed. */
function shellSample(facts: SampleFacts, params: JsonObject, path: string): string {
  const start = `{"client_id":${JSON.stringify(facts.clientId)},"params":${canonicalJson(params)},"salt":"`;
  const middle = `","sender":${JSON.stringify(facts.sender)},"timestamp":`;
  return `SECRET=${quote(facts.secretKey)}
BODY=${quote(start)}$(openssl rand -hex 8)${quote(middle)}$(date +%s)
SIGNATURE=$(printf '%s}' "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d' ' -f1)
curl -sS ${facts.baseUrl}${path} \\
  -H 'Content-Type: application/json' \\
  -d "$BODY,\\"signature\\":\\"$SIGNATURE\\"}"`;
}

function typescriptSample(facts: SampleFacts, params: JsonObject, path: string): string {
  return `import { createHmac, randomUUID } from 'node:crypto';

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part);

const body = {
  client_id: ${JSON.stringify(facts.clientId)},
  sender: ${JSON.stringify(facts.sender)},
  timestamp: Math.floor(${CALLERS_CLOCK} / 1000),
  salt: randomUUID(),
  params: ${JSON.stringify(params)},
};
const signature = createHmac('sha256', ${JSON.stringify(facts.secretKey)}).update(canonical(body)).digest('hex');
const response = await fetch('${facts.baseUrl}${path}', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ ...body, signature }),
});
console.log(await response.json());`;
}

function pythonSample(facts: SampleFacts, params: JsonObject, path: string): string {
  return `import hashlib, hmac, json, time, urllib.error, urllib.request, uuid

body = {
    "client_id": ${JSON.stringify(facts.clientId)},
    "sender": ${JSON.stringify(facts.sender)},
    "timestamp": int(time.time()),
    "salt": str(uuid.uuid4()),
    "params": ${JSON.stringify(params)},
}
canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
body["signature"] = hmac.new(${JSON.stringify(facts.secretKey)}.encode(), canonical.encode(), hashlib.sha256).hexdigest()
request = urllib.request.Request("${facts.baseUrl}${path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(answer.read().decode())`;
}

/** With our client, which signs by itself. */
export function clientSample({ baseUrl, clientId, sender, secretKey }: SampleFacts, params: JsonObject): string {
  return `import { createClient } from '@simbi/client';

const simbi = createClient({
  baseUrl: ${JSON.stringify(baseUrl)},
  clientId: ${JSON.stringify(clientId)},
  sender: ${JSON.stringify(sender)},
  secretKey: ${JSON.stringify(secretKey)},
});
const { ref } = await simbi.collections.create(${JSON.stringify(params, null, 2)});
console.log(await simbi.transactions.waitFor(ref));`;
}

/** Between single quotes PHP interprets only the backslash and the quote. */
function phpText(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

function phpSample(facts: SampleFacts, params: JsonObject, path: string): string {
  const fields = Object.entries(params).map(
    ([name, value]) =>
      `        ${phpText(name)} => ${typeof value === 'string' ? phpText(value) : JSON.stringify(value)},`,
  );
  return `<?php
$body = [
    'client_id' => ${phpText(facts.clientId)},
    'params' => [
${fields.join('\n')}
    ],
    'salt' => bin2hex(random_bytes(8)),
    'sender' => ${phpText(facts.sender)},
    'timestamp' => time(),
];
ksort($body);
ksort($body['params']);
$canonical = json_encode($body, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
$body['signature'] = hash_hmac('sha256', $canonical, ${phpText(facts.secretKey)});
echo file_get_contents(${phpText(facts.baseUrl + path)}, false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => 'Content-Type: application/json',
    'content' => json_encode($body, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE),
    'ignore_errors' => true,
]]));`;
}

/** What a program reads from its environment, as a file. */
export function environmentFile(
  { baseUrl, clientId, sender, secretKey }: SampleFacts,
  callbackSecret?: string,
): string {
  const lines = [
    `SIMBI_URL=${baseUrl}`,
    `SIMBI_CLIENT_ID=${clientId}`,
    `SIMBI_SENDER=${JSON.stringify(sender)}`,
    `SIMBI_SECRET_KEY=${secretKey}`,
  ];
  return [...lines, ...(callbackSecret === undefined ? [] : [`SIMBI_CALLBACK_SECRET=${callbackSecret}`])].join('\n');
}
