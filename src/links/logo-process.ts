// The program that decodes logos, started by logo-encoder.ts as a process of its own: it yields the processor to payments, it
// has none of the gateway's secrets in its memory, and a picture that crashes the decoder stops no payment.

import { constants, setPriority } from 'node:os';
import process from 'node:process';
import sharp, { type CreateRaw } from 'sharp';

export type LogoFormat = 'png' | 'jpeg' | 'gif' | 'webp';
export type LogoOrder = { bytes: Uint8Array; format: LogoFormat };
/** The small picture, or the sentence why it was refused; null: nothing can read it. */
export type EncodedLogo = Uint8Array | string | null;

/** 4096 × 4096: enough for a photo of a sign, and fast to decode. */
const MAX_PIXELS = 4_096 * 4_096;
/** A picture one pixel wide and millions high takes the library seconds that its own time-out does not cut. */
const MAX_SIDE = 8_192;
const BOX_PIXELS = 96;
/** The target size, because the hosted page has 15 kB in all. The lowest quality is used even if it is larger. */
const AIMED_BYTES = 6 * 1024;
const QUALITIES = [82, 65, 45, 25];
const DECODE_TIMEOUT_SECONDS = 3;

// Decoding shares the machine with payments: the lowest priority, one thread, and no cache between pictures.
setPriority(constants.priority.PRIORITY_LOW);
sharp.concurrency(1);
sharp.cache(false);
// The library reads dozens of formats. The readers that are not needed are disabled.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
});

process.on('message', (order: LogoOrder) => {
  void encode(order).then((answer) => process.send?.(answer));
});

async function encode({ bytes, format }: LogoOrder): Promise<EncodedLogo> {
  try {
    // Only the header is read here, so that a small file with huge dimensions is never decoded.
    const { width, height, format: found } = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (found !== format) return null;
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
    return null;
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
