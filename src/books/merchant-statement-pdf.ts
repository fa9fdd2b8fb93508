// A merchant's statement on A4 pages. The fonts that every reader of PDF has know Latin letters only (WinAnsi): another letter is
// written as its nearest Latin one, and what has none as a question mark. Programs that need the exact text read the CSV.

import { Readable } from 'node:stream';
import type PDFDocument from 'pdfkit';
import { formatAmount } from '../platform/money.ts';
import { createLocalTime } from '../platform/time-zones.ts';
import type { STATEMENT_TEXTS } from './merchant-statement-texts.ts';
import { type MerchantStatement, sumTotals, type WalletLine } from './merchant-statements.ts';

const MARGIN = 40;
const ROW = 15;
const SIZE = 7.5;
const SMALLEST = 4;
const INK = '#111827';
const GREY = '#6b7280';
const RULE = '#d1d5db';
const GROUP = '\u00a0';

/** Width in points, 515 together: A4 without its margins. */
const COLUMNS = [
  { name: 'date', width: 76 },
  { name: 'reference', width: 124 },
  { name: 'what', width: 93 },
  { name: 'gross', width: 56, right: true },
  { name: 'fee', width: 48, right: true },
  { name: 'net', width: 56, right: true },
  { name: 'balance', width: 62, right: true },
] as const;

type Document = InstanceType<typeof PDFDocument>;
type Texts = (typeof STATEMENT_TEXTS)['en'];
type Layout = { brand: string; texts: Texts };
type Row = readonly string[];

export function writeStatementPdf(
  statement: MerchantStatement,
  layout: Layout,
  lines: AsyncIterable<WalletLine[]>,
): Readable {
  return Readable.from(pdfBytes(statement, layout, lines), { objectMode: false });
}

async function* pdfBytes(
  statement: MerchantStatement,
  layout: Layout,
  lines: AsyncIterable<WalletLine[]>,
): AsyncGenerator<Buffer> {
  // Loaded with the first PDF: it is large, and most processes never write one.
  const { default: PDFDocument } = await import('pdfkit');
  const { holder, currency, firstDay, lastDay, madeAt } = statement;
  const document = new PDFDocument({
    size: 'A4',
    margin: MARGIN,
    // The number of pages stands on each of them, so they are kept until the last.
    bufferPages: true,
    info: {
      Title: winAnsi(`${layout.texts.statement} ${currency} ${firstDay} – ${lastDay}`),
      Author: winAnsi(layout.brand),
      Subject: winAnsi(holder.name),
      CreationDate: madeAt,
    },
  });
  draw(document, statement, layout, lines).catch((error: unknown) => {
    document.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  yield* document as unknown as AsyncIterable<Buffer>;
}

async function draw(
  document: Document,
  statement: MerchantStatement,
  layout: Layout,
  lines: AsyncIterable<WalletLine[]>,
): Promise<void> {
  const { texts: t } = layout;
  const localTime = createLocalTime(statement.holder.time_zone);
  const money = (amount: bigint) => grouped(amount, statement.decimals, t.decimalMark);
  drawTitle(document, statement, layout);
  drawTotals(document, statement, t, money);
  drawHead(document, t);
  drawRow(document, t, ['', t.opening, '', '', '', '', money(statement.opening)], true);
  for await (const page of lines)
    for (const line of page) {
      const note = [line.ownReference, line.details].filter((text) => text !== '').join(' · ');
      const amounts = [line.gross, line.fee, line.net, line.balance].map(money);
      drawRow(document, t, [localTime(line.postedAt), line.reference, t.kinds[line.kind], ...amounts], false);
      if (note !== '') drawNote(document, t, note);
    }
  drawRow(document, t, ['', t.closing, '', '', '', '', money(statement.closing)], true);
  numberPages(document, statement, t);
  document.end();
}

function drawTitle(document: Document, statement: MerchantStatement, { brand, texts: t }: Layout): void {
  const { holder, currency, walletAccount, firstDay, lastDay, madeAt } = statement;
  const made = createLocalTime(holder.time_zone)(madeAt);
  document.fillColor(GREY).font('Helvetica').fontSize(10).text(winAnsi(brand), MARGIN, MARGIN);
  document
    .fillColor(INK)
    .font('Helvetica-Bold')
    .fontSize(18)
    .text(winAnsi(`${t.statement} ${currency}`));
  document.fontSize(12).text(winAnsi(holder.name));
  document.moveDown(0.4).font('Helvetica').fontSize(9);
  document.text(winAnsi(`${t.period}: ${firstDay} – ${lastDay} · ${t.wallet} ${walletAccount}`));
  document.fillColor(GREY).text(winAnsi(`${t.days} ${holder.time_zone} · ${t.made} ${made}`));
  document.fillColor(INK).moveDown(0.8);
}

/** The whole statement in a few rows: what came in and went out, by kind. */
function drawTotals(
  document: Document,
  statement: MerchantStatement,
  t: Texts,
  money: (amount: bigint) => string,
): void {
  const sum = sumTotals(statement.totals);
  drawRow(document, t, ['', t.totals, t.count, t.gross, t.fee, t.net, ''], true);
  drawRow(document, t, ['', t.opening, '', '', '', '', money(statement.opening)], false);
  for (const { kind, count, gross, fee, net } of statement.totals)
    drawRow(document, t, ['', t.kinds[kind], String(count), money(gross), money(fee), money(net), ''], false);
  const total = [money(sum.gross), money(sum.fee), money(sum.net), money(statement.closing)];
  drawRow(document, t, ['', t.closing, String(statement.lines), ...total], true);
  if (statement.reserved > 0n) drawRow(document, t, ['', t.reserved, '', '', '', '', money(statement.reserved)], false);
  document.y += ROW;
}

function drawHead(document: Document, t: Texts): void {
  drawCells(document, [t.date, t.reference, t.what, t.gross, t.fee, t.net, t.balance], true);
}

function drawRow(document: Document, t: Texts, cells: Row, isBold: boolean): void {
  makeRoom(document, t);
  drawCells(document, cells, isBold);
}

function makeRoom(document: Document, t: Texts): void {
  if (document.y + 2 * ROW <= document.page.height - MARGIN) return;
  document.addPage();
  document.y = MARGIN;
  drawHead(document, t);
}

function drawCells(document: Document, cells: Row, isBold: boolean): void {
  const top = document.y;
  document.font(isBold ? 'Helvetica-Bold' : 'Helvetica');
  let left = MARGIN;
  COLUMNS.forEach((column, index) => {
    const next = cells[index + 1];
    // A long name may run over the empty cell beside it.
    const width = column.width + (next === '' ? (COLUMNS[index + 1]?.width ?? 0) : 0) - 4;
    drawFitting(document, winAnsi(cells[index] ?? ''), left, top, { width, isRight: 'right' in column });
    left += column.width;
  });
  document.y = top + ROW;
  document
    .moveTo(MARGIN, document.y - 5)
    .lineTo(left, document.y - 5)
    .lineWidth(0.3)
    .strokeColor(RULE)
    .stroke();
}

/** Smaller letters before a number is cut: an amount without its end would be another amount. */
function drawFitting(
  document: Document,
  text: string,
  left: number,
  top: number,
  { width, isRight }: { width: number; isRight: boolean },
): void {
  if (text === '') return;
  document.fontSize(SIZE);
  const needed = document.widthOfString(text);
  if (needed > width) document.fontSize(Math.max(SMALLEST, (SIZE * width) / needed));
  const start = isRight ? left + width - document.widthOfString(text) : left;
  document.text(text, start, top, { lineBreak: false });
}

function drawNote(document: Document, t: Texts, note: string): void {
  makeRoom(document, t);
  const top = document.y - 5;
  const shown = winAnsi(note).slice(0, 120);
  document
    .font('Helvetica')
    .fontSize(SIZE - 1)
    .fillColor(GREY);
  document.text(shown, MARGIN + COLUMNS[0].width, top, { lineBreak: false }).fillColor(INK);
  document.y = top + ROW - 4;
}

function numberPages(document: Document, { holder, currency }: MerchantStatement, t: Texts): void {
  const { start, count } = document.bufferedPageRange();
  for (let page = start; page < start + count; page++) {
    document.switchToPage(page);
    // Text below the margin would otherwise begin a page of its own.
    document.page.margins.bottom = 0;
    document.font('Helvetica').fontSize(SIZE).fillColor(GREY);
    const bottom = document.page.height - MARGIN + 12;
    document.text(winAnsi(`${holder.name} · ${currency}`).slice(0, 90), MARGIN, bottom, { lineBreak: false });
    const label = winAnsi(t.page(page - start + 1, count));
    const right = document.page.width - MARGIN - document.widthOfString(label);
    document.text(label, right, bottom, { lineBreak: false });
  }
}

function grouped(amount: bigint, decimals: 0 | 2, mark: string): string {
  const [whole = '', fraction] = formatAmount(amount, decimals).split('.');
  const groups = whole.replace(/\B(?=(?:\d{3})+$)/g, GROUP);
  return fraction === undefined ? groups : `${groups}${mark}${fraction}`;
}

/** Beside Latin-1, what WinAnsi has. */
const ALSO_KNOWN = '€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ';
/** Letters of African languages that are no Latin letter with a mark. */
const NEAREST: ReadonlyMap<string, string> = new Map(
  'ɛe ƐE ɔo ƆO ŋng ŊNg ɓb ƁB ɗd ƊD ƙk ƘK ƴy ƳY ʋv ƲV ɣg ƔG ɖd ƉD ǝe ƎE ɩi ƖI'
    .split(' ')
    .map((pair) => [pair.slice(0, 1), pair.slice(1)] as const),
)
  .set('\u02bc', "'")
  .set('\u202f', GROUP);

/** The text with letters that the standard fonts have. */
export function winAnsi(text: string): string {
  return Array.from(text.normalize('NFC'), knownLetter).join('');
}

function knownLetter(letter: string): string {
  if (isKnown(letter)) return letter;
  const bare = NEAREST.get(letter) ?? letter.normalize('NFKD').replace(/\p{M}/gu, '');
  if (/^\p{M}$/u.test(letter) || /^\p{Cc}$/u.test(letter)) return '';
  return bare !== '' && Array.from(bare).every(isKnown) ? bare : '?';
}

function isKnown(letter: string): boolean {
  const code = letter.codePointAt(0) ?? 0;
  return (code >= 0x20 && code <= 0x7e) || (code >= 0xa0 && code <= 0xff) || ALSO_KNOWN.includes(letter);
}
