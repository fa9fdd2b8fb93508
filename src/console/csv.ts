// CSV out and in: exports that stream page by page, and the files of payouts that people paste. RFC 4180.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { randomSecret } from '../platform/ids.ts';
import type { HolderRequest } from './console-request.ts';

const MAX_EXPORTS = 200;

/** A cell. Text that a spreadsheet would run as a formula is made plain text. */
function cell(value: string | number | bigint | null): string {
  if (value === null) return '';
  const text = String(value);
  const safe =
    typeof value === 'string' && /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export type CsvRow = readonly (string | number | bigint | null)[];

export function csvLine(row: CsvRow): string {
  return `${row.map(cell).join(',')}\r\n`;
}

/** How far downloads have come, so that the page they were begun on can say so. */
type Progress = { rows: number; done: boolean };
const exportsUnderWay = new WeakMap<object, Map<string, Progress>>();

function progressOf(request: HolderRequest): Map<string, Progress> {
  let all = exportsUnderWay.get(request.ctx.db);
  if (!all) {
    all = new Map();
    exportsUnderWay.set(request.ctx.db, all);
  }
  return all;
}

export function newExportId(): string {
  return randomSecret(9);
}

export function readProgress(request: HolderRequest, id: string): Progress | null {
  return progressOf(request).get(`${request.holder.id} ${id}`) ?? null;
}

/** Streams pages of rows: the memory of one page, however many there are. */
export function sendCsv(
  request: HolderRequest,
  name: string,
  head: CsvRow,
  pages: AsyncIterable<CsvRow[]>,
  exportId: string,
): FastifyReply {
  const all = progressOf(request);
  const progress: Progress = { rows: 0, done: false };
  all.set(`${request.holder.id} ${exportId}`, progress);
  if (all.size > MAX_EXPORTS) all.delete(all.keys().next().value ?? '');
  async function* lines(): AsyncGenerator<string> {
    yield csvLine(head);
    for await (const rows of pages) {
      progress.rows += rows.length;
      yield rows.map(csvLine).join('');
    }
    progress.done = true;
  }
  return request.reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name}"`)
    .header('Cache-Control', 'no-store')
    .header('X-Content-Type-Options', 'nosniff')
    .send(Readable.from(lines(), { objectMode: false }));
}

/** The records of a pasted file; null when a quote never ends or there are too many lines. */
export function parseCsv(text: string, maxRecords: number): string[][] | null {
  const records: string[][] = [];
  let record: string[] = [];
  let value = '';
  let quoted = false;
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const separator = /^[^\n"]*;/.test(source) && !/^[^\n"]*,/.test(source) ? ';' : ',';
  const endRecord = () => {
    record.push(value.trim());
    if (record.some((each) => each !== '')) records.push(record);
    record = [];
    value = '';
  };
  for (let index = 0; index < source.length; index++) {
    const character = source.charAt(index);
    if (quoted) {
      if (character !== '"') value += character;
      else if (source.charAt(index + 1) === '"') {
        value += '"';
        index++;
      } else quoted = false;
    } else if (character === '"' && value === '') quoted = true;
    else if (character === separator) {
      record.push(value.trim());
      value = '';
    } else if (character === '\n') {
      endRecord();
      if (records.length > maxRecords) return null;
    } else value += character;
  }
  if (quoted) return null;
  endRecord();
  return records.length > maxRecords ? null : records;
}
