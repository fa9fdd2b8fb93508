// AWS Signature Version 4, for requests with a body and without a query: what a JSON operation of AWS needs. Written from the
// public specification (docs.aws.amazon.com, "Create a signed AWS API request") and compared with its test vectors.

import { createHash, createHmac } from 'node:crypto';

export type AwsCredentials = { accessKeyId: string; secretAccessKey: string; sessionToken: string };

export type AwsRequest = {
  method: string;
  /** Already encoded, as it is sent. */
  path: string;
  /** Sorted `name=value` pairs, encoded. */
  query?: string;
  /** `host` must be among them; all are signed. */
  headers: Record<string, string>;
  body: string;
};

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The headers to send: those given, the date, the session token if there is one, and the signature. */
export function signAwsRequest(
  request: AwsRequest,
  scope: { region: string; service: string },
  credentials: AwsCredentials,
  at: Date,
): Record<string, string> {
  const moment = at.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const date = moment.slice(0, 8);
  const headers: Record<string, string> = { ...request.headers, 'x-amz-date': moment };
  if (credentials.sessionToken) headers['x-amz-security-token'] = credentials.sessionToken;
  const lines = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  const signedHeaders = lines.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    request.path,
    request.query ?? '',
    ...lines.map(([name, value]) => `${name}:${value}`),
    '',
    signedHeaders,
    hash(request.body),
  ].join('\n');
  const place = `${date}/${scope.region}/${scope.service}/aws4_request`;
  const key = [date, scope.region, scope.service, 'aws4_request'].reduce<Buffer>(
    (secret, part) => hmac(secret, part),
    Buffer.from(`AWS4${credentials.secretAccessKey}`),
  );
  const signature = hmac(key, [ALGORITHM, moment, place, hash(canonical)].join('\n')).toString('hex');
  return {
    ...headers,
    authorization: `${ALGORITHM} Credential=${credentials.accessKeyId}/${place}, SignedHeaders=${signedHeaders}, Signature=${signature}`,
  };
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();
