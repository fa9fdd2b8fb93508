// Logos: what is accepted, what is refused and at what cost, and the picture that is stored.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { Problem } from '../platform/errors.ts';
import { createMemory } from '../platform/memory.ts';
import { sha256 } from '../platform/secrets.ts';
import { MAX_LOGO_BYTES, readLogo } from './logo.ts';

const ctx = { memory: createMemory() };
const HOLDER = 1n;
const RED = { r: 220, g: 30, b: 40 };
const picture = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: channels === 3 ? RED : { ...RED, alpha: 0.5 } } });

async function accept(bytes: Buffer, prefix = '') {
  const result = await readLogo(ctx, HOLDER, prefix + bytes.toString('base64'));
  assert.ok(result.ok, result.ok ? '' : result.sentence);
  const { webp, hash } = result.logo;
  assert.deepEqual(hash, sha256(webp));
  assert.ok(webp.length <= 6 * 1024, `${webp.length} bytes`);
  const metadata = await sharp(webp).metadata();
  assert.equal(metadata.format, 'webp');
  assert.ok(metadata.width <= 96 && metadata.height <= 96, `${metadata.width} × ${metadata.height}`);
  for (const kept of ['exif', 'icc', 'xmp', 'iptc'] as const) assert.equal(metadata[kept], undefined, kept);
  return { webp, metadata };
}

async function refuse(bytes: Buffer | string, sentence: RegExp) {
  const result = await readLogo(ctx, HOLDER, typeof bytes === 'string' ? bytes : bytes.toString('base64'));
  assert.ok(!result.ok, 'the logo was accepted');
  assert.match(result.sentence, sentence);
}

/** A PNG of exactly `size` bytes: a picture, and after its end bytes that no reader looks at. */
async function pngOf(size: number): Promise<Buffer> {
  const png = await picture(64, 64).png().toBuffer();
  return Buffer.concat([png, Buffer.alloc(size - png.length, 0x5a)]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A small file that unfolds to `side` × `side` pixels. */
function pngBomb(side: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([1, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc(Math.ceil(side / 8 + 1) * Math.min(side, 5_000)))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function gifBomb(): Buffer {
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  // The screen and the only picture on it; a reader believes whichever is larger.
  for (const offset of [6, 8, 32, 34]) gif.writeUInt16LE(60_000, offset);
  return gif;
}

describe('what is accepted', () => {
  for (const format of ['png', 'jpeg', 'webp', 'gif'] as const)
    test(`${format}, with and without a data: prefix`, async () => {
      const bytes = await picture(300, 200).toFormat(format).toBuffer();
      const { metadata } = await accept(bytes);
      assert.deepEqual([metadata.width, metadata.height], [96, 64]);
      await accept(bytes, `data:image/${format};base64,`);
    });

  test('exactly 2 MiB', async () => {
    await accept(await pngOf(MAX_LOGO_BYTES));
  });

  test('a small picture is not enlarged', async () => {
    const { metadata } = await accept(await picture(20, 10, 4).png().toBuffer());
    assert.deepEqual([metadata.width, metadata.height, metadata.hasAlpha], [20, 10, true]);
  });

  test('a JPEG in CMYK keeps its colour', async () => {
    const { webp } = await accept(await picture(50, 50).toColourspace('cmyk').jpeg().toBuffer());
    const { channels } = await sharp(webp).stats();
    assert.ok((channels[0]?.mean ?? 0) > 150 && (channels[2]?.mean ?? 255) < 110);
  });

  test('grey and 16-bit pictures', async () => {
    await accept(await picture(50, 50).toColourspace('b-w').png().toBuffer());
    await accept(await picture(50, 50).toColourspace('rgb16').png().toBuffer());
  });

  test('EXIF is stripped and its orientation applied', async () => {
    const exif = { IFD0: { Copyright: 'somebody at 1 Home Street' } };
    const bytes = await picture(200, 100).withExif(exif).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const { webp, metadata } = await accept(bytes);
    assert.deepEqual([metadata.width, metadata.height], [48, 96]);
    assert.ok(!webp.includes('EXIF') && !webp.includes('Home Street'));
  });

  test('of an animation the first picture only', async () => {
    const frames = Buffer.concat([Buffer.alloc(40 * 40 * 3, 200), Buffer.alloc(40 * 40 * 3, 10)]);
    const raw = { width: 40, height: 80, channels: 3 as const, pageHeight: 40 };
    const bytes = await sharp(frames, { raw })
      .gif({ loop: 0, delay: [100, 100] })
      .toBuffer();
    assert.equal((await sharp(bytes).metadata()).pages, 2);
    const { webp, metadata } = await accept(bytes);
    assert.deepEqual([metadata.height, metadata.pages], [40, undefined]);
    assert.ok(((await sharp(webp).stats()).channels[0]?.mean ?? 0) > 150);
  });

  test('a picture of pure noise still becomes small', async () => {
    const raw = { width: 400, height: 400, channels: 3 as const };
    const noise = Buffer.from(Array.from({ length: 400 * 400 * 3 }, (_, index) => (index * 2_654_435_761) >>> 13));
    await accept(await sharp(noise, { raw }).png().toBuffer());
  });
});

describe('what is refused', () => {
  test('one byte more than 2 MiB', async () => {
    await refuse(await pngOf(MAX_LOGO_BYTES + 1), /at most 2 MiB/);
  });

  test('an SVG, plain or claiming to be a PNG', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><script/></svg>');
    await refuse(svg, /must be a PNG, JPEG, WebP or GIF/);
    await refuse(`data:image/svg+xml;base64,${svg.toString('base64')}`, /must be a PNG, JPEG, WebP or GIF/);
    await refuse(`data:image/png;base64,${svg.toString('base64')}`, /must be a PNG, JPEG, WebP or GIF/);
  });

  test('a text called PNG, also one that begins like a PNG', async () => {
    await refuse(`data:image/png;base64,${Buffer.from('hello').toString('base64')}`, /must be a PNG/);
    await refuse(Buffer.from('\x89PNG\r\n\x1a\nhello, I am a picture', 'latin1'), /cannot be read/);
    await refuse(Buffer.from('GIF89a'), /cannot be read/);
    await refuse(Buffer.from('RIFF\x10\0\0\0WEBPVP8 nothing', 'latin1'), /cannot be read/);
  });

  test('other formats', async () => {
    await refuse(await picture(10, 10).tiff().toBuffer(), /must be a PNG/);
    await refuse(Buffer.from('BM aaaaaaaaaaaaaaaaaaaaaaaa'), /must be a PNG/);
  });

  test('truncated files of every format', async () => {
    const raw = { width: 300, height: 300, channels: 3 as const };
    const noise = Buffer.from(Array.from({ length: 300 * 300 * 3 }, (_, index) => (index * 2_654_435_761) >>> 9));
    for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
      const bytes = await sharp(noise, { raw }).toFormat(format).toBuffer();
      await refuse(bytes.subarray(0, bytes.length / 2), /cannot be read/);
    }
  });

  for (const [what, text] of [
    ['not base64 at all', 'this is not base64!'],
    ['URL-safe letters', Buffer.from([251, 255, 254]).toString('base64url')],
    ['line breaks', 'iVBO\nRw0K'],
    ['missing padding', 'iVBORw'],
    ['spare bits', 'iVBORx=='],
    ['only a prefix', 'data:image/png;base64,'],
    ['a prefix without base64', 'data:image/png,iVBORw0K'],
  ] as const)
    test(`base64 that is not strict: ${what}`, () => refuse(text, /not base64/));

  test('bombs, without decoding them into memory', async () => {
    await refuse(pngBomb(5_000), /5000 × 5000 pixels/);
    const bombs: [Buffer, RegExp][] = [
      [pngBomb(50_000), /50000 × 50000 pixels/],
      [gifBomb(), /60000 × 60000 pixels/],
    ];
    for (const [bomb, sentence] of bombs) {
      assert.ok(bomb.length < 100_000);
      const memory = process.memoryUsage().rss;
      await refuse(bomb, sentence);
      assert.ok(process.memoryUsage().rss - memory < 20 * 1024 * 1024);
    }
  });

  test('security S16: a side over 8,192 pixels, however thin the picture', async () => {
    const thin = (width: number, height: number) =>
      sharp(Buffer.alloc(width * height), { raw: { width, height, channels: 1 }, limitInputPixels: false })
        .png()
        .toBuffer();
    await refuse(await thin(1, 100_000), /1 × 100000 pixels; at most 8192 are allowed on one side/);
    await refuse(await thin(8_193, 1), /8193 × 1 pixels/);
    await accept(await thin(8_192, 1));
  });

  test('security S16: holders take turns: one with many pictures delays another by one', async () => {
    const text = (await picture(500, 500).png().toBuffer()).toString('base64');
    const order: bigint[] = [];
    const send = (holderId: bigint) =>
      readLogo(ctx, holderId, text).then(
        () => order.push(holderId),
        () => undefined,
      );
    await Promise.all([...Array.from({ length: 20 }, () => send(1n)), send(2n), send(3n)]);
    assert.deepEqual(order, [1n, 2n, 3n, 1n, 1n, 1n]);
  });

  test('more pictures than may wait: refused at once, the others are processed', async () => {
    const text = (await picture(500, 500).png().toBuffer()).toString('base64');
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => readLogo(ctx, HOLDER, text)));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.equal(refused.length, 36);
    assert.ok(refused.every((reason) => reason instanceof Problem && reason.code === 'overloaded'));
    assert.ok((await readLogo(ctx, HOLDER, text)).ok);
  });
});
