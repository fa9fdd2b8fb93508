// CSV downloads that stream page by page: the memory of one page, however many rows there are. The button shows the progress.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type CsvRow, writeCsv } from '../platform/csv.ts';
import { type Html, html } from '../platform/html.ts';
import { NO_HOLDER } from '../platform/ids.ts';
import { dayIn } from '../platform/time-zones.ts';
import { icon } from '../ui/icons.ts';
import { zoneOf } from './components.ts';
import { type HolderRequest, type MemberRequest, queryOf } from './console-request.ts';
import { newExportId } from './export-progress.ts';

/** The button of a list. `query`: what the list shows, so that the file has the same rows. */
export function exportButton({ t }: HolderRequest, path: string, query = ''): Html {
  const id = newExportId();
  const joint = query === '' ? '' : '&';
  return html`
    <a class="button button-secondary" href="${path}?${query}${joint}export=${id}" data-export="${id}" download>
      ${icon('download')}<span class="button-label">${t.transactions.export}</span>
    </a>
    <span class="muted" id="exported" role="status"></span>
  `;
}

/** A time in UTC that says so: files are read in other zones than that of the account, and by programs. */
export function csvTime(moment: Date): string {
  return `${moment.toISOString().slice(0, 19)}Z`;
}

/** `name` is that of the list; the file has the day in its name. */
export function sendCsv(
  request: MemberRequest,
  name: string,
  head: CsvRow,
  pages: AsyncIterable<CsvRow[]>,
): FastifyReply {
  const exportId = queryOf(request, 'export', 40) || newExportId();
  const progress = request.services.exports.start(request.holder?.id ?? NO_HOLDER, exportId);
  async function* texts(): AsyncGenerator<string> {
    yield writeCsv([head]);
    for await (const rows of pages) {
      progress.rows += rows.length;
      yield writeCsv(rows);
    }
    progress.done = true;
  }
  const day = dayIn(zoneOf(request), request.ctx.clock.now());
  return request.reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name}-${day}.csv"`)
    .header('Cache-Control', 'no-store')
    .header('X-Content-Type-Options', 'nosniff')
    .send(Readable.from(texts(), { objectMode: false }));
}
