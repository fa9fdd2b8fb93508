// The signature debugger: a pasted request, the verdict of every check, both texts side by side and the first byte in
// which they differ.

import type { FastifyReply } from 'fastify';
import { type Html, html } from '../platform/html.ts';
import { dataTable, tag } from './components.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { formField, postForm } from './form-components.ts';
import { renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, forRoles } from './route.ts';
import { type Inspection, inspectRequest, type SignatureStep } from './signature-checks.ts';

const MAX_BODY = 64 * 1024;

export const debuggerRoutes: ConsoleRoute[] = [
  forRoles(BUILDERS, 'GET', '/debugger', (request) => debuggerPage(request, null)),
  forRoles(BUILDERS, 'POST', '/debugger', async (request) => {
    const input = {
      body: (request.form.get('body') ?? '').slice(0, MAX_BODY),
      // A text area sends line ends as CR LF; nobody signs those.
      ownString: (request.form.get('own_string') ?? '').slice(0, MAX_BODY).replaceAll('\r\n', '\n').trim(),
      address: fieldOf(request, 'address', 60),
    };
    return debuggerPage(request, await inspectRequest(request.ctx, request.holder.id, input));
  }),
];

function debuggerPage(request: HolderRequest, inspection: Inspection | null): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.menu.debugger,
    lead: t.debugger.lead,
    active: 'debugger',
    body: html`${inspection && verdicts(request, inspection)}<div class="card">${postForm(
      request,
      '/debugger',
      html`${formField({ type: 'textarea', name: 'body', label: t.debugger.body, hint: t.debugger.bodyHint, value: request.form.get('body') ?? '', required: true, rows: 8 })}${formField({ type: 'textarea', name: 'own_string', label: t.debugger.own, hint: t.debugger.ownHint, value: request.form.get('own_string') ?? '', rows: 4 })}${formField({ name: 'address', label: t.debugger.address, hint: t.debugger.addressHint, value: fieldOf(request, 'address', 60) })}<button>${t.debugger.button}</button>`,
    )}</div>`,
  });
}

function verdicts(request: HolderRequest, inspection: Inspection): Html {
  const { t } = request;
  const wrong = inspection.checks.find((check) => check.verdict === 'wrong');
  return html`<div class="box ${wrong ? 'error' : 'success'}" role="status"><p>${wrong ? explain(request, wrong) : t.debugger.allRight}</p></div>${dataTable(
    t.debugger.checks,
    [{ label: t.debugger.check }, { label: t.debugger.verdict }, { label: t.debugger.detail }],
    inspection.checks.map((check) => [
      t.debugger.names[check.name],
      check.verdict === 'right'
        ? tag('success', t.debugger.right)
        : check.verdict === 'wrong'
          ? tag('error', t.debugger.wrong)
          : tag('neutral', t.debugger.skipped),
      check.verdict === 'wrong' ? explain(request, check) : (check.fact ?? ''),
    ]),
  )}${comparison(request, inspection)}`;
}

function explain({ t }: HolderRequest, check: SignatureStep): string {
  const said = check.mistake ? t.debugger.mistakes[check.mistake] : t.debugger.faults[check.name];
  return check.fact ? `${said} ${check.fact}` : said;
}

function comparison(request: HolderRequest, { ours, theirs, difference }: Inspection): Html | false {
  if (ours === null || theirs === null) return false;
  const { t } = request;
  return html`<div class="card"><h2>${t.debugger.strings}</h2>${
    difference
      ? html`<p class="box warning" id="difference">${t.debugger.differ(difference.byte)} <code>${difference.ours || t.debugger.end}</code> / <code>${difference.theirs || t.debugger.end}</code></p>`
      : html`<p class="box success" id="difference">${t.debugger.same}</p>`
  }<h3>${t.debugger.ours}</h3>${marked(ours, difference?.byte ?? null, t.debugger.ours)}<h3>${t.debugger.theirs}</h3>${marked(theirs, difference?.byte ?? null, t.debugger.theirs)}</div>`;
}

function marked(text: string, byte: number | null, label: string): Html {
  if (byte === null) return html`<pre tabindex="0" aria-label="${label}">${text}</pre>`;
  const bytes = Buffer.from(text);
  // A difference inside a letter of several bytes is shown at the letter.
  let start = byte;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  const rest = bytes.subarray(start).toString('utf8');
  const [first = ''] = rest;
  return html`<pre tabindex="0" aria-label="${label}">${bytes.subarray(0, start).toString('utf8')}<mark>${first || '∎'}</mark>${rest.slice(first.length)}</pre>`;
}
