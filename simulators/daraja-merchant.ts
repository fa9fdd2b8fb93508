// A merchant for the tests of the simulated Daraja: it sends requests as the documents write them, and keeps what it is sent.

import { constants, publicEncrypt } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createDarajaSimulator, DARAJA_SIMULATOR_SETTINGS } from './daraja.ts';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from './frame.ts';

const DEADLINE_MS = 60_000;
const SHORT_TIMES = { promptSeconds: '0.1', callbackRetrySeconds: '0.01' };

export type Json = Record<string, unknown>;
export type Received = { path: string; text: string; body: Json };
export type Reply = { status: number; body: Json; text: string };

export interface Merchant extends AsyncDisposable {
  readonly simulator: RunningSimulator;
  readonly account: Readonly<Record<string, string>>;
  /** The address of a path at the merchant. */
  address(path: string): string;
  /** What the merchant answers at a path, instead of 200; null: nothing at all. */
  answer(path: string, reply: { status: number; text: string } | null): void;
  received(path: string): Received[];
  /** Waits until as many arrived at the path. */
  waitFor(path: string, count?: number): Promise<Received[]>;
  newToken(): Promise<string>;
  /** A POST with the live token. */
  post(path: string, body: Json): Promise<Reply>;
  credential(password?: string): string;
  /** Plans a quirk, or does another action of the simulator. */
  act(name: string, body?: Json): Promise<Json>;
}

export async function startMerchant(
  settings: Record<string, string> = {},
  options: SimulatorOptions = {},
): Promise<Merchant> {
  const simulator = await startSimulator(createDarajaSimulator, {
    ...options,
    settings: { ...SHORT_TIMES, ...settings },
  });
  const account = { ...DARAJA_SIMULATOR_SETTINGS, ...settings };
  const receiver = await startReceiver();
  let token: string | null = null;

  async function newToken(): Promise<string> {
    const keys = Buffer.from(`${account.consumerKey}:${account.consumerSecret}`).toString('base64');
    const answer = await fetch(`${simulator.url}/oauth/v1/generate?grant_type=client_credentials`, {
      headers: { authorization: `Basic ${keys}` },
    });
    token = ((await answer.json()) as { access_token: string }).access_token;
    return token;
  }

  return {
    simulator,
    account,
    ...receiver,
    newToken,
    post: async (path, body) => post(`${simulator.url}${path}`, body, token ?? (await newToken())),
    credential: (password = account.initiatorPassword ?? '') => encrypt(account.certificate ?? '', password),
    act: async (name, body = {}) => (await simulator.act(name, body)).body as Json,
    async [Symbol.asyncDispose]() {
      await simulator.close();
      await receiver.close();
    },
  };
}

export async function post(url: string, body: Json, token: string): Promise<Reply> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, text, body: text.startsWith('{') ? (JSON.parse(text) as Json) : {} };
}

function encrypt(certificate: string, password: string): string {
  const key = { key: certificate, padding: constants.RSA_PKCS1_PADDING };
  return publicEncrypt(key, Buffer.from(password)).toString('base64');
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('it did not happen in time');
    await pause(5);
  }
}

async function startReceiver() {
  const all: Received[] = [];
  const replies = new Map<string, { status: number; text: string } | null>();
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const path = incoming.url ?? '';
      all.push({ path, text, body: JSON.parse(text) as Json });
      const reply = replies.get(path);
      if (reply === null) return;
      response.writeHead(reply?.status ?? 200, { 'content-type': 'application/json' });
      response.end(reply?.text ?? '{"ResultCode":0,"ResultDesc":"Accepted"}');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const received = (path: string) => all.filter((each) => each.path === path);
  return {
    address: (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    answer: (path: string, reply: { status: number; text: string } | null) => void replies.set(path, reply),
    received,
    async waitFor(path: string, count = 1): Promise<Received[]> {
      await until(() => received(path).length >= count);
      return received(path);
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

export const PHONE_NUMBER = 254_708_374_149;

/** The request for a prompt, as the documents write it. */
export function expressRequest(merchant: Merchant, changes: Json = {}): Json {
  const { shortCode } = merchant.account;
  return {
    ...expressPassword(merchant, shortCode),
    TransactionType: 'CustomerPayBillOnline',
    Amount: '10',
    PartyA: PHONE_NUMBER,
    PartyB: shortCode,
    PhoneNumber: PHONE_NUMBER,
    CallBackURL: merchant.address('/express'),
    AccountReference: 'TX8K2J4M',
    TransactionDesc: 'Payment',
    ...changes,
  };
}

export function expressPassword(merchant: Merchant, shortCode = merchant.account.shortCode): Json {
  const Timestamp = '20260105091500';
  const Password = Buffer.from(`${shortCode}${merchant.account.passkey}${Timestamp}`).toString('base64');
  return { BusinessShortCode: shortCode, Password, Timestamp };
}

export function payoutRequest(merchant: Merchant, id: string, changes: Json = {}): Json {
  return {
    OriginatorConversationID: id,
    InitiatorName: merchant.account.initiatorName,
    SecurityCredential: merchant.credential(),
    CommandID: 'BusinessPayment',
    Amount: '10',
    PartyA: merchant.account.b2cShortCode,
    PartyB: '254705912645',
    Remarks: 'remarked',
    QueueTimeOutURL: merchant.address('/timeout'),
    ResultURL: merchant.address('/payout'),
    Occassion: 'x',
    ...changes,
  };
}

const initiated = (merchant: Merchant, CommandID: string, result: string): Json => ({
  Initiator: merchant.account.initiatorName,
  SecurityCredential: merchant.credential(),
  CommandID,
  Remarks: 'ok',
  QueueTimeOutURL: merchant.address('/timeout'),
  ResultURL: merchant.address(result),
});

export function statusRequest(merchant: Merchant, changes: Json): Json {
  const common = initiated(merchant, 'TransactionStatusQuery', '/status');
  return { ...common, PartyA: merchant.account.shortCode, IdentifierType: '4', Occasion: 'OK', ...changes };
}

export function reversalRequest(merchant: Merchant, receipt: string, changes: Json = {}): Json {
  return {
    ...initiated(merchant, 'TransactionReversal', '/reversal'),
    TransactionID: receipt,
    Amount: '10',
    ReceiverParty: merchant.account.shortCode,
    RecieverIdentifierType: '11',
    Occasion: '',
    ...changes,
  };
}

export function balanceRequest(merchant: Merchant, changes: Json = {}): Json {
  const common = initiated(merchant, 'AccountBalance', '/balance');
  return { ...common, PartyA: merchant.account.shortCode, IdentifierType: '4', ...changes };
}

export const PATHS = {
  express: '/mpesa/stkpush/v1/processrequest',
  expressQuery: '/mpesa/stkpushquery/v1/query',
  register: '/mpesa/c2b/v2/registerurl',
  payout: '/mpesa/b2c/v3/paymentrequest',
  status: '/mpesa/transactionstatus/v1/query',
  reversal: '/mpesa/reversal/v1/request',
  balance: '/mpesa/accountbalance/v1/query',
};

/** What stands in the Result at a path, the last one that arrived. */
export function resultOf(received: Received[]) {
  const result = (received.at(-1)?.body.Result ?? {}) as Json;
  const { ResultType, ResultCode, OriginatorConversationID, ConversationID, TransactionID, ...rest } = result;
  const { ResultParameters, ReferenceData } = rest;
  const parameters = (ResultParameters as { ResultParameter: Json[] } | undefined)?.ResultParameter ?? [];
  const ids = { OriginatorConversationID, ConversationID, TransactionID };
  return { ResultType, ResultCode, ResultDesc: rest.ResultDesc, ...ids, ResultParameters, ReferenceData, parameters };
}

export function callbackOf(received: Received | undefined): Json & { items: Json[] } {
  const callback = (received?.body.Body as { stkCallback: Json } | undefined)?.stkCallback ?? {};
  return { ...callback, items: (callback.CallbackMetadata as { Item: Json[] } | undefined)?.Item ?? [] };
}
