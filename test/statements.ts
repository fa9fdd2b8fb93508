// Statement files for tests: written to a folder of their own, as text or as a spreadsheet.

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { AccountDefaults } from '../src/books/account-defaults.ts';
import type { StatementProblem } from '../src/books/statement-files.ts';
import type { NewLine } from '../src/books/statement-lines.ts';
import {
  type LineBatch,
  openStatement,
  type ReadingChoices,
  type StatementReading,
} from '../src/books/statement-reading.ts';
import { inspectFile } from '../src/books/statement-source.ts';

export type StatementFolder = {
  write(name: string, content: string | Buffer): Promise<string>;
  /** A workbook with one sheet. Numbers are written as numbers, texts as shared texts. */
  writeXlsx(name: string, rows: readonly (readonly (string | number | null)[])[]): Promise<string>;
  /** `isStored`: the entries are not compressed. */
  writeZip(name: string, entries: Readonly<Record<string, string | Buffer>>, isStored?: boolean): Promise<string>;
  /** A data directory for commands. */
  dataDir(): Promise<string>;
  close(): Promise<void>;
};

export async function createStatementFolder(): Promise<StatementFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'simbi-statements-'));
  const write = async (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  };
  const writeZip: StatementFolder['writeZip'] = async (name, entries, isStored = false) => {
    const zip = new ZipFile();
    for (const [entry, content] of Object.entries(entries))
      zip.addBuffer(Buffer.from(content), entry, { compress: !isStored });
    zip.end();
    const path = join(folder, name);
    await pipeline(zip.outputStream, createWriteStream(path));
    return path;
  };
  return {
    write,
    writeZip,
    writeXlsx: (name, rows) => writeZip(name, workbookOf(rows)),
    dataDir: async () => join(folder, 'data'),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function workbookOf(rows: readonly (readonly (string | number | null)[])[]): Record<string, string> {
  const shared: string[] = [];
  const cell = (value: string | number | null, column: number, row: number) => {
    if (value === null) return '';
    const place = `r="${String.fromCharCode(65 + column)}${row + 1}"`;
    if (typeof value === 'number') return `<c ${place}><v>${value}</v></c>`;
    return `<c ${place} t="s"><v>${shared.push(value) - 1}</v></c>`;
  };
  const sheet = rows.map(
    (cells, row) => `<row r="${row + 1}">${cells.map((value, at) => cell(value, at, row)).join('')}</row>`,
  );
  return {
    'xl/workbook.xml': `${XML}<workbook xmlns:r="r"><sheets><sheet name="Report" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${XML}<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`,
    'xl/worksheets/sheet1.xml': `${XML}<worksheet><sheetData>${sheet.join('')}</sheetData></worksheet>`,
    'xl/sharedStrings.xml': `${XML}<sst>${shared.map((text) => `<si><t>${escaped(text)}</t></si>`).join('')}</sst>`,
  };
}

export type ReadStatement = {
  format: string;
  lines: NewLine[];
  problems: StatementProblem[];
  openingBalance: bigint | null;
  closingBalance: bigint | null;
};

/** Reads a file without a database. */
export async function readStatement(
  path: string,
  choices: ReadingChoices = {},
  account: Partial<AccountDefaults> = {},
): Promise<ReadStatement> {
  const lines: NewLine[] = [];
  const problems: StatementProblem[] = [];
  const reading = await readInBatches(path, choices, account, (batch) => {
    lines.push(...batch.lines);
    problems.push(...batch.problems);
  });
  return { format: reading.format, lines, problems, ...reading.balances() };
}

/** The same, for files of which nothing is to be held. */
export async function readInBatches(
  path: string,
  choices: ReadingChoices,
  account: Partial<AccountDefaults>,
  see: (batch: LineBatch) => void,
): Promise<StatementReading> {
  const facts = await inspectFile(path);
  const now = new Date('2026-11-15T12:00:00Z');
  const defaults = { currency: null, zone: 'UTC', settings: {}, ...account };
  const reading = await openStatement(path, facts, defaults, choices, now);
  for await (const batch of reading.batches(now)) see(batch);
  await reading.close();
  return reading;
}

const SAFARICOM_HEADER =
  'Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,' +
  'Reason Type,Other Party Info,Linked Transaction ID,A/C No.';

/** A statement of Safaricom's portal: title rows, the newest line first, totals at the end. */
export function safaricomStatement(lines: readonly string[]): string {
  return [
    'Organization Name,Duka Ltd',
    'Short Code,600998',
    'Time Period,"From 2026-11-14 00:00:00 To 2026-11-14 23:59:59"',
    '',
    SAFARICOM_HEADER,
    ...lines,
    ',,,,Total,"1,000.00","-27.00",,,,,,',
    '',
  ].join('\n');
}

/** `count` payments of one day, each of another receipt. */
export function safaricomLines(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const time = new Date(Date.UTC(2026, 10, 14, 20, 59, 59) - index * 1000)
      .toISOString()
      .slice(0, 19)
      .replace('T', ' ');
    const receipt = `SK${String(index).padStart(8, '0')}`;
    const details = `Pay Bill from 2547****678 - JANE DOE Acc. INV${index}`;
    const party = `Pay Bill,2547****678 - JANE DOE,,INV${index}`;
    return `${receipt},${time},${time},${details},Completed,"1,000.00",,"5,000.00",true,${party}`;
  });
}
