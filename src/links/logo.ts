// Logos: uploaded pictures are re-encoded as small ones without metadata and stored by their hash. Four formats, detected by
// their bytes; dimensions are checked before pixels are decoded; one picture at a time, holders in turn.

import sharp, { type CreateRaw } from 'sharp';
import { type Config, publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { perProcess } from '../platform/memory.ts';
import { sha256 } from '../platform/secrets.ts';
import { createTurns } from './logo-turns.ts';

export const MAX_LOGO_BYTES = 2 * 1024 * 1024;
/** 4096 × 4096: enough for a photo of a sign, and fast to decode. */
const MAX_PIXELS = 4_096 * 4_096;
/** A picture one pixel wide and millions high takes the library seconds that its own time-out does not cut. */
const MAX_SIDE = 8_192;
const BOX_PIXELS = 96;
/** The target size, because the hosted page has 15 kB in all. The lowest quality is used even if it is larger. */
const AIMED_BYTES = 6 * 1024;
const QUALITIES = [82, 65, 45, 25];
const DECODE_TIMEOUT_SECONDS = 3;
const DATA_PREFIX = /^data:[a-z0-9.+-]+\/[a-z0-9.+-]+(?:;[a-z0-9-]+=[a-z0-9._-]+)*;base64,/i;
const MAX_PREFIX_CHARACTERS = 200;

// Decoding shares the machine with payments: one thread, and no cache between requests.
sharp.concurrency(1);
sharp.cache(false);
// The library reads dozens of formats. The readers that are not needed are disabled.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
});

/** `hash` is the SHA-256 of `webp`. */
export type Logo = { hash: Buffer; webp: Buffer };
type LogoResult = { ok: true; logo: Logo } | { ok: false; sentence: string };

const turnsOf = perProcess(createTurns);

/** Reads a logo as a holder sent it: base64, with or without a `data:` prefix. */
export async function readLogo(ctx: Pick<Context, 'memory'>, holderId: bigint, text: string): Promise<LogoResult> {
  const prefix = DATA_PREFIX.exec(text.slice(0, MAX_PREFIX_CHARACTERS))?.[0] ?? '';
  const base64 = text.slice(prefix.length);
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  if (Math.floor(base64.length / 4) * 3 - padding > MAX_LOGO_BYTES)
    return refuse('The logo may have at most 2 MiB (2,097,152 bytes) before base64.');
  const bytes = Buffer.from(base64, 'base64');
  // Buffer ignores characters that are not base64. The text was valid if it encodes to the same text again.
  if (bytes.length === 0 || bytes.toString('base64') !== base64)
    return refuse('The logo is not base64: use A-Z, a-z, 0-9, + and / with = at the end, without line breaks.');
  const format = pictureFormat(bytes);
  if (!format) return refuse('The logo must be a PNG, JPEG, WebP or GIF picture.');
  const webp = await turnsOf(ctx).take(holderId, () => encode(bytes, format));
  return typeof webp === 'string' ? refuse(webp) : { ok: true, logo: { hash: sha256(webp), webp } };
}

/** The format by the bytes. Names and prefixes can be wrong. */
export function pictureFormat(bytes: Buffer): 'png' | 'jpeg' | 'gif' | 'webp' | null {
  const starts = (signature: string) => bytes.subarray(0, signature.length).equals(Buffer.from(signature, 'latin1'));
  if (starts('\x89PNG\r\n\x1a\n')) return 'png';
  if (starts('\xff\xd8\xff')) return 'jpeg';
  if (starts('GIF87a') || starts('GIF89a')) return 'gif';
  return starts('RIFF') && bytes.subarray(8, 12).equals(Buffer.from('WEBP')) ? 'webp' : null;
}

/** The small picture, or the sentence why it was refused. */
async function encode(bytes: Buffer, format: string): Promise<Buffer | string> {
  const damaged = `The logo begins like a ${format.toUpperCase()} picture but cannot be read; it may be damaged.`;
  try {
    // Only the header is read here, so that a small file with huge dimensions is never decoded.
    const { width, height, format: found } = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (found !== format) return damaged;
    if (width * height > MAX_PIXELS)
      return `The logo has ${width} × ${height} pixels; at most ${MAX_PIXELS} in all are allowed.`;
    if (Math.max(width, height) > MAX_SIDE)
      return `The logo has ${width} × ${height} pixels; at most ${MAX_SIDE} are allowed on one side.`;
    // Only the first picture of an animation is used. Orientation is applied because it is lost with the metadata.
    const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', pages: 1 })
      .timeout({ seconds: DECODE_TIMEOUT_SECONDS })
      .autoOrient()
      .resize({ width: BOX_PIXELS, height: BOX_PIXELS, fit: 'inside', withoutEnlargement: true })
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true });
    return await encodeSmall(data, { width: info.width, height: info.height, channels: info.channels });
  } catch {
    return damaged;
  }
}

async function encodeSmall(data: Buffer, raw: CreateRaw): Promise<Buffer> {
  let webp = Buffer.alloc(0);
  for (const quality of QUALITIES) {
    webp = await sharp(data, { raw }).webp({ quality, alphaQuality: quality, effort: 4 }).toBuffer();
    if (webp.length <= AIMED_BYTES) break;
  }
  return webp;
}

/** Where a logo is served, from our own origin. `hash` in hexadecimal. */
export function logoUrl(config: Config, hash: string): string {
  return `${publicUrl(config)}/logos/${hash}.webp`;
}

export async function findLogo(reader: Reader, hash: string): Promise<Buffer | null> {
  if (!/^[0-9a-f]{64}$/.test(hash)) return null;
  const [row] = await reader.query<{ webp: Buffer }>('select webp from logos where hash = $1', [
    Buffer.from(hash, 'hex'),
  ]);
  return row?.webp ?? null;
}

function refuse(sentence: string): LogoResult {
  return { ok: false, sentence };
}
