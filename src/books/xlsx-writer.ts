// Writes a workbook of spreadsheets (Office Open XML) as a stream: the memory of one page of rows, however many there are. Texts are
// written into their cells, so no table of them has to be kept until the end; a text is never a formula.

import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { withoutFormula } from '../platform/csv.ts';
import { formatAmount } from '../platform/money.ts';

/** Rows of a sheet, in every program that reads the format. */
export const MAX_SHEET_ROWS = 1_048_576;
const MAX_CELL_CHARACTERS = 32_767;

/** `moment`: as clocks on the wall show it, 2026-11-14 09:30:00. The format knows no time zones. */
export type SheetCell =
  | null
  | string
  | number
  | { readonly amount: bigint; readonly bold?: boolean }
  | { readonly moment: string }
  | { readonly text: string; readonly bold: true };

export type Sheet = {
  readonly name: string;
  /** Stays in view while one scrolls. */
  readonly head: readonly string[];
  /** Of each column, in characters. */
  readonly widths: readonly number[];
  rows(): AsyncIterable<readonly (readonly SheetCell[])[]>;
};

/** Cell formats, in the order of `cellXfs` below. */
const STYLE = { plain: 0, bold: 1, amount: 2, boldAmount: 3, moment: 4 };

export function writeWorkbook(sheets: readonly Sheet[], decimals: 0 | 2): Readable {
  const zip = new ZipFile();
  const add = (name: string, text: string) => zip.addBuffer(Buffer.from(HEADER + text), name);
  add('[Content_Types].xml', contentTypes(sheets));
  add('_rels/.rels', relationships([['officeDocument', 'xl/workbook.xml']]));
  add('xl/workbook.xml', workbook(sheets));
  const targets = sheets.map((_, index) => ['worksheet', `worksheets/sheet${index + 1}.xml`] as const);
  add('xl/_rels/workbook.xml.rels', relationships([...targets, ['styles', 'styles.xml']]));
  add('xl/styles.xml', styles(decimals));
  const zipped = zip.outputStream as Readable;
  // An error ends the stream of the zip. The one made from it below would wait for its next bytes for ever.
  const fail = (error: Error) => void zipped.destroy(error);
  sheets.forEach((sheet, index) => {
    // Opened when its turn comes, so that rows are read once and in order.
    zip.addReadStreamLazy(`xl/worksheets/sheet${index + 1}.xml`, (done) => {
      const texts = Readable.from(sheetTexts(sheet), { objectMode: false });
      texts.on('error', fail);
      done(null, texts);
    });
  });
  zip.on('error', fail);
  zip.end();
  return Readable.from(zipped, { objectMode: false });
}

const HEADER = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const DOCUMENT = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

function contentTypes(sheets: readonly Sheet[]): string {
  const part = (name: string, type: string) =>
    `<Override PartName="/xl/${name}.xml" ContentType="${SHEET_TYPE}.${type}+xml"/>`;
  return (
    `<Types xmlns="${PACKAGE}/content-types">` +
    `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/>${part('workbook', 'sheet.main')}${part('styles', 'styles')}` +
    `${sheets.map((_, index) => part(`worksheets/sheet${index + 1}`, 'worksheet')).join('')}</Types>`
  );
}

function relationships(targets: readonly (readonly [type: string, target: string])[]): string {
  const entries = targets.map(
    ([type, target], index) => `<Relationship Id="r${index + 1}" Type="${DOCUMENT}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${PACKAGE}/relationships">${entries.join('')}</Relationships>`;
}

function workbook(sheets: readonly Sheet[]): string {
  const entries = sheets.map(
    // At most 31 characters, and none of those that formulas use.
    ({ name }, index) =>
      `<sheet name="${escapeText(name.replace(/[[\]:*?/\\]/g, ' ').slice(0, 31))}" sheetId="${index + 1}" r:id="r${index + 1}"/>`,
  );
  return `<workbook xmlns="${MAIN}" xmlns:r="${DOCUMENT}"><sheets>${entries.join('')}</sheets></workbook>`;
}

function styles(decimals: 0 | 2): string {
  const amount = decimals === 0 ? '#,##0' : '#,##0.00';
  const cell = (format: number, font: number) =>
    `<xf numFmtId="${format}" fontId="${font}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>`;
  return (
    `<styleSheet xmlns="${MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="${amount}"/>` +
    `<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>` +
    `<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
    `<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
    `<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
    `<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
    `<cellXfs count="5">${cell(0, 0)}${cell(0, 1)}${cell(164, 0)}${cell(164, 1)}${cell(165, 0)}</cellXfs></styleSheet>`
  );
}

async function* sheetTexts(sheet: Sheet): AsyncGenerator<string> {
  const columns = sheet.widths.map(
    (width, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`,
  );
  yield `${HEADER}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
    `<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>` +
    `<cols>${columns.join('')}</cols><sheetData>${rowText(
      1,
      sheet.head.map((text) => ({ text, bold: true as const })),
    )}`;
  let row = 1;
  for await (const page of sheet.rows()) yield page.map((cells) => rowText(++row, cells)).join('');
  yield '</sheetData></worksheet>';
}

function rowText(row: number, cells: readonly SheetCell[]): string {
  return `<row r="${row}">${cells.map((cell, at) => cellText(`${columnName(at)}${row}`, cell)).join('')}</row>`;
}

function cellText(place: string, cell: SheetCell): string {
  if (cell === null || cell === '') return '';
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`;
  if (typeof cell === 'string') return textCell(place, cell, STYLE.plain);
  if ('text' in cell) return textCell(place, cell.text, STYLE.bold);
  if ('moment' in cell) return `<c r="${place}" s="${STYLE.moment}"><v>${serialOf(cell.moment)}</v></c>`;
  return `<c r="${place}" s="${cell.bold ? STYLE.boldAmount : STYLE.amount}"><v>${formatAmount(cell.amount)}</v></c>`;
}

function textCell(place: string, text: string, style: number): string {
  const shown = escapeText(withoutFormula(text).slice(0, MAX_CELL_CHARACTERS));
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${shown}</t></is></c>`;
}

const DAY_MS = 86_400_000;
/** The days from the first of the format to that of Unix time. */
const EPOCH_DAYS = 25_569;

function serialOf(moment: string): number {
  return new Date(`${moment.replace(' ', 'T')}Z`).getTime() / DAY_MS + EPOCH_DAYS;
}

function columnName(index: number): string {
  return String.fromCharCode(65 + index);
}

/** What XML 1.0 cannot hold, even escaped. */
const NOT_XML =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escapeText(text: string): string {
  return text.replace(NOT_XML, '').replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}
