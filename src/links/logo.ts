// Logos: uploaded pictures are re-encoded as small ones without metadata and stored by their hash. Four formats, detected by
// their bytes; dimensions are checked before pixels are decoded; one picture at a time, holders in turn, in another process.

import { type Config, publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { NO_HOLDER } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';
import { sha256 } from '../platform/secrets.ts';
import { createLogoEncoder } from './logo-encoder.ts';
import type { DrawingOrder, LogoFormat } from './logo-process.ts';
import { createTurns } from './logo-turns.ts';

export const MAX_LOGO_BYTES = 2 * 1024 * 1024;
const DATA_PREFIX = /^data:[a-z0-9.+-]+\/[a-z0-9.+-]+(?:;[a-z0-9-]+=[a-z0-9._-]+)*;base64,/i;
const MAX_PREFIX_CHARACTERS = 200;

/** `hash` is the SHA-256 of `webp`. */
export type Logo = { hash: Buffer; webp: Buffer };
type LogoResult = { ok: true; logo: Logo } | { ok: false; sentence: string };

const turnsOf = perProcess(createTurns);
const encoderOf = perProcess(createLogoEncoder);

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
  const webp = await turnsOf(ctx).take(holderId, () => encoderOf(ctx).encode({ bytes, format }));
  if (webp === null)
    return refuse(`The logo begins like a ${format.toUpperCase()} picture but cannot be read; it may be damaged.`);
  if (typeof webp === 'string') return refuse(webp);
  const logo = Buffer.from(webp);
  return { ok: true, logo: { hash: sha256(logo), webp: logo } };
}

/**
 * A drawing as PNG; null when it cannot be made. Anyone who has a link may ask for its picture, so all drawings share one
 * turn: they cannot take that of a holder who sends a logo.
 */
export async function drawPicture(ctx: Pick<Context, 'memory'>, order: DrawingOrder): Promise<Buffer | null> {
  const png = await turnsOf(ctx).take(NO_HOLDER, () => encoderOf(ctx).encode(order));
  return png === null || typeof png === 'string' ? null : Buffer.from(png);
}

/** The format by the bytes. Names and prefixes can be wrong. */
export function pictureFormat(bytes: Buffer): LogoFormat | null {
  const starts = (signature: string) => bytes.subarray(0, signature.length).equals(Buffer.from(signature, 'latin1'));
  if (starts('\x89PNG\r\n\x1a\n')) return 'png';
  if (starts('\xff\xd8\xff')) return 'jpeg';
  if (starts('GIF87a') || starts('GIF89a')) return 'gif';
  return starts('RIFF') && bytes.subarray(8, 12).equals(Buffer.from('WEBP')) ? 'webp' : null;
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
