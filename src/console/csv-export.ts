// CSV downloads that stream page by page: the memory of one page, however many rows there are.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type CsvRow, writeCsv } from '../platform/csv.ts';
import type { HolderRequest } from './console-request.ts';

export function sendCsv(
  request: HolderRequest,
  name: string,
  head: CsvRow,
  pages: AsyncIterable<CsvRow[]>,
  exportId: string,
): FastifyReply {
  const progress = request.services.exports.start(request.holder.id, exportId);
  async function* texts(): AsyncGenerator<string> {
    yield writeCsv([head]);
    for await (const rows of pages) {
      progress.rows += rows.length;
      yield writeCsv(rows);
    }
    progress.done = true;
  }
  return request.reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name}"`)
    .header('Cache-Control', 'no-store')
    .header('X-Content-Type-Options', 'nosniff')
    .send(Readable.from(texts(), { objectMode: false }));
}
