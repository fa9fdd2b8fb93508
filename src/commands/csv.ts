// CSV as spreadsheets write it (RFC 4180; also with semicolons, as where the comma is the decimal sign).

/** Rows of cells. Empty lines are passed over. */
export function parseCsv(text: string): string[][] {
  const separator = separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text.charAt(at + 1) === '"') {
        cell += '"';
        at++;
      } else quoted = false;
    } else if (sign === '"' && cell === '') quoted = true;
    else if (sign === separator) {
      row.push(cell);
      cell = '';
    } else if (sign === '\n') {
      endRow();
    } else if (sign !== '\r') cell += sign;
  }
  endRow();
  return rows;

  function endRow(): void {
    row.push(cell);
    if (row.some((each) => each.trim() !== '')) rows.push(row);
    row = [];
    cell = '';
  }
}

function separatorOf(text: string): string {
  const heading = text.slice(0, text.indexOf('\n') === -1 ? text.length : text.indexOf('\n'));
  return heading.includes(';') && !heading.includes(',') ? ';' : ',';
}

export function writeCsv(rows: string[][]): string {
  return rows.map((row) => `${row.map(writeCell).join(',')}\n`).join('');
}

/** A spreadsheet takes a cell that begins with one of these for a formula; an apostrophe keeps it text. */
function writeCell(cell: string): string {
  const safe = /^[=@\t]|^[+-](?![\d\s().]*$)/.test(cell) ? `'${cell}` : cell;
  return /[",;\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
