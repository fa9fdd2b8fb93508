// The statements of a connection, for admins: the list of files, and the form that takes one. It works without a script; browsers let
// people drop a file on the field.

import type { FastifyReply } from 'fastify';
import { defaultsOf } from '../books/account-defaults.ts';
import { requireFormatName } from '../books/formats.ts';
import { importStatement, type StatementImport } from '../books/import-statement.ts';
import { FORMAT_NAMES } from '../books/readers/format.ts';
import { findMapping, listMappings, type SavedMapping } from '../books/saved-mappings.ts';
import { listFiles, type StatementFile } from '../books/statement-files.ts';
import { MAX_STATEMENT_BYTES } from '../books/statement-source.ts';
import { Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { takeUpload, type Upload } from '../platform/uploads.ts';
import { dataTable, emptyState, tag } from '../ui/components.ts';
import { pager, timeTag } from './components.ts';
import { fieldOf, idOf, type MemberRequest, paramOf, queryOf } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PAGE_ROWS = 50;

export const statementRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/rails/:name/statements', (request) => statementsPage(request)),
  forAdmin('POST', '/admin/rails/:name/statements', takeStatement, { uploadBytes: MAX_STATEMENT_BYTES }),
];

async function statementsPage(request: MemberRequest, problem?: string): Promise<FastifyReply> {
  const { ctx, t } = request;
  const connection = await requireConnection(request);
  const before = queryOf(request, 'before');
  const wanted = { connection, limit: PAGE_ROWS, ...(before === '' ? {} : { before: idOf(before) }) };
  const files = await listFiles(ctx.db, wanted);
  const mappings = await listMappings(ctx.db);
  const last = files.length === PAGE_ROWS ? files.at(-1) : undefined;
  const path = `/admin/rails/${connection}/statements`;
  return renderPage(request, {
    title: `${withColon(request, connection)} ${t.statements.title}`,
    lead: t.statements.lead,
    active: 'rails',
    ...(problem ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${problem && errorBox(request, undefined, problem)}
        ${uploadForm(request, path, mappings)}
      </div>
      ${files.length === 0 ? emptyState(t.statements.none, t.statements.noneText) : fileTable(request, path, files)}
      ${pager(request, last ? `/console${path}?before=${last.id}` : null)}
    `,
  });
}

/** Its name; one that does not exist is refused. */
async function requireConnection(request: MemberRequest): Promise<string> {
  const name = paramOf(request, 'name');
  await defaultsOf(request.ctx, name);
  return name;
}

/** The fields stand before the file: the form's token is read first. */
function uploadForm(request: MemberRequest, action: string, mappings: readonly SavedMapping[]): Html {
  const { statements: t } = request.t;
  const text = (name: string, label: string) => ({ name, label, value: fieldOf(request, name) });
  const fields = [
    {
      type: 'select' as const,
      name: 'format',
      label: t.format,
      choices: [['', t.found], ...FORMAT_NAMES.map((name) => [name, name] as const)] as const,
    },
    {
      type: 'select' as const,
      name: 'mapping',
      label: t.mapping,
      choices: [['', t.noMapping], ...mappings.map(({ name }) => [name, name] as const)] as const,
    },
    text('currency', t.currency),
    text('zone', t.zone),
    text('account', t.account),
    {
      type: 'select' as const,
      name: 'date_order',
      label: t.dateOrder,
      choices: [
        ['', t.orders.any],
        ['dmy', t.orders.dmy],
        ['mdy', t.orders.mdy],
      ] as const,
    },
  ];
  return form(request, {
    action,
    attributes: html`enctype="multipart/form-data"`,
    fields: [
      ...fields,
      html`
        <div class="field">
          <label for="f-file">${t.file}</label>
          <input id="f-file" name="file" type="file" required accept=".csv,.xlsx,.json,.jsonl,.txt" aria-describedby="f-file-hint">
          <small id="f-file-hint">${t.fileHint}</small>
        </div>
      `,
    ],
    submit: t.submit,
  });
}

function fileTable(request: MemberRequest, path: string, files: readonly StatementFile[]): Html {
  const { statements: t } = request.t;
  return dataTable(
    t.title,
    [
      { label: t.name },
      { label: t.status },
      { label: t.lines, right: true },
      { label: t.isNew, right: true },
      { label: t.isKnown, right: true },
      { label: t.bad, right: true },
      { label: t.imported },
    ],
    files.map((file) => [
      html`<a href="/console${path}/${file.id}">${file.name}</a> <span class="muted">${file.format}</span>`,
      statementState(request, file),
      file.lines,
      file.linesNew,
      file.linesKnown,
      file.linesBad,
      html`${timeTag(request, file.importedAt)} · ${file.importedBy}`,
    ]),
  );
}

export function statementState({ t }: MemberRequest, { status }: StatementFile): Html {
  const look = { reading: 'warning', read: 'success', broken_off: 'error', withdrawn: 'neutral' } as const;
  return tag(look[status], t.statements.statuses[status]);
}

/** Answers as soon as the file has its id; its lines are read after that, and its page shows how far. */
async function takeStatement(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  const connection = await requireConnection(request);
  const upload = takeUpload(request.raw);
  if (!upload || upload.bytes === 0) {
    await upload?.remove();
    return statementsPage(request, t.statements.noFile);
  }
  try {
    const { file, isKnown } = await beginImport(request, connection, upload);
    const page = `/console/admin/rails/${connection}/statements/${file.id}`;
    return redirect(request, isKnown ? `${page}?known=1` : page);
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return statementsPage(request, error.message);
    throw error;
  }
}

async function beginImport(
  request: MemberRequest,
  connection: string,
  upload: Upload,
): Promise<{ file: StatementFile; isKnown: boolean }> {
  const { ctx, actor } = request;
  const given = await choicesOf(request).catch(async (error: unknown) => {
    await upload.remove();
    throw error;
  });
  return await new Promise((opened, refused) => {
    importStatement(
      ctx,
      actor,
      { ...given, connection, path: upload.path, name: upload.name, source: 'console' },
      { onOpened: (file) => opened({ file, isKnown: false }) },
    )
      .then(({ file, outcome }) => opened({ file, isKnown: outcome === 'known' }))
      .catch((error: unknown) => {
        // Once the page was shown, the row of the file says what happened.
        ctx.log.warn({ err: error, connection }, 'a statement was not read to its end');
        refused(error);
      })
      .then(() => upload.remove())
      .catch((error: unknown) => ctx.log.warn({ err: error }, 'an uploaded file was not removed'));
  });
}

async function choicesOf(
  request: MemberRequest,
): Promise<Omit<StatementImport, 'connection' | 'path' | 'name' | 'source'>> {
  const given = (name: string) => fieldOf(request, name) || undefined;
  const [format, mapping, order] = [given('format'), given('mapping'), given('date_order')];
  const saved = mapping === undefined ? undefined : await findMapping(request.ctx.db, mapping);
  if (saved === null) throw new Problem('not_found');
  return {
    format: format === undefined ? undefined : requireFormatName(format),
    mapping: saved?.mapping,
    currency: given('currency'),
    zone: given('zone'),
    account: given('account'),
    dateOrder: order === 'dmy' || order === 'mdy' ? order : undefined,
  };
}
