// The program that decodes logos and draws the pictures of shared links, started by logo-encoder.ts as a process of its own: it
// yields the processor to payments, it has none of the gateway's secrets in its memory, and a picture that crashes the decoder
// stops no payment.

import { constants, setPriority } from 'node:os';
import process from 'node:process';
import sharp, { type CreateRaw } from 'sharp';

export type LogoFormat = 'png' | 'jpeg' | 'gif' | 'webp';
export type LogoOrder = { bytes: Uint8Array; format: LogoFormat };
/** A drawing of our own, and a stored logo to lay on it at this place. */
export type DrawingOrder = {
  svg: Uint8Array;
  logo: { webp: Uint8Array; left: number; top: number; side: number } | null;
};
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
/** With the lowest priority a picture of a good phone may take seconds on a busy machine. */
const DECODE_TIMEOUT_SECONDS = 10;
const DRAWING_COLOURS = 64;

// Decoding shares the machine with payments: the lowest priority, one thread, and no cache between pictures.
setPriority(constants.priority.PRIORITY_LOW);
sharp.concurrency(1);
sharp.cache(false);
// The library reads dozens of formats. The readers that are not needed are disabled.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadPng',
    'VipsForeignLoadJpeg',
    'VipsForeignLoadWebp',
    'VipsForeignLoadNsgif',
    // Only for drawings of our own: what a holder sends is compared with the four formats above before it comes here.
    'VipsForeignLoadSvg',
  ],
});

process.on('message', (order: LogoOrder | DrawingOrder) => {
  void ('svg' in order ? draw(order) : encode(order)).then((answer) => process.send?.(answer));
});

/** A PNG: not every program that shows a shared link reads another format. */
async function draw({ svg, logo }: DrawingOrder): Promise<EncodedLogo> {
  try {
    const layers = logo ? [{ input: await fit(logo), left: logo.left, top: logo.top }] : [];
    return await sharp(svg)
      .timeout({ seconds: DECODE_TIMEOUT_SECONDS })
      .composite(layers)
      .png({ palette: true, colours: DRAWING_COLOURS })
      .toBuffer();
  } catch {
    return null;
  }
}

function fit({ webp, side }: NonNullable<DrawingOrder['logo']>): Promise<Buffer> {
  return sharp(webp).resize({ width: side, height: side, fit: 'contain', background: '#ffffff' }).png().toBuffer();
}

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
