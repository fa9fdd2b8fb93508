// The list of a merchant's newest links, as its program reads it: with a bearer token, as the specification asks for.

import { type Client, runLoad, signRequests } from './load.ts';

export const LINKS = '/api/payment-link-api/list';
const NEW_LINK = '/api/v3/payment-link-api/create';
const TOKEN = '/api/integration/get-token';
const LISTED = 50;

/** Makes as many links as a page shows, so that the page is full in every database, and returns the request for it. */
export async function fullPageOfLinks(client: Client, port: number): Promise<Buffer> {
  const requests = signRequests([client], LISTED, NEW_LINK, (index) => ({
    amount: 1_000 + index,
    currency: 'UGX',
    country_id: 11,
    item_name: `Item ${index}`,
  }));
  const at = { host: '127.0.0.1', port };
  const made = await runLoad({ ...at, path: NEW_LINK, connections: 1, rate: null, requests, maxSeconds: 120 });
  if (made.accepted < LISTED) throw new Error(`only ${made.accepted} of ${LISTED} links were made`);
  const authorization = `Authorization: Bearer ${await tokenOf(client, port)}`;
  return Buffer.from(`GET ${LINKS}?limit=${LISTED} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${authorization}\r\n\r\n`);
}

async function tokenOf({ clientId, secretKey }: Client, port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${TOKEN}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_id: clientId, secret_key: secretKey }),
  });
  const { data } = (await answer.json()) as { data?: { token?: string } };
  if (!data?.token) throw new Error(`no token: ${answer.status}`);
  return data.token;
}
