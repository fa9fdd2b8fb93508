// The signature debugger: a pasted request, the verdict of every check, both texts side by side and the first byte in
// which they differ.

import type { FastifyReply } from 'fastify';
import { type Html, html } from '../platform/html.ts';
import { dataTable, inputField, postForm, tag, textField } from './components.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, forRoles } from './route.ts';
import { type Inspection, inspectRequest, type SignatureStep } from './signature-checks.ts';

const MAX_BODY = 64 * 1024;

export const debuggerRoutes: ConsoleRoute[] = [
  forRoles(BUILDERS, 'GET', '/debugger', (visit) => debuggerPage(visit, null)),
  forRoles(BUILDERS, 'POST', '/debugger', async (visit) => {
    const input = {
      body: (visit.form.get('body') ?? '').slice(0, MAX_BODY),
      // A text area sends line ends as CR LF; nobody signs those.
      ownString: (visit.form.get('own_string') ?? '').slice(0, MAX_BODY).replaceAll('\r\n', '\n').trim(),
      address: fieldOf(visit, 'address', 60),
    };
    return debuggerPage(visit, await inspectRequest(visit.ctx, visit.holder.id, input));
  }),
];

function debuggerPage(visit: HolderRequest, inspection: Inspection | null): Promise<FastifyReply> {
  const { words } = visit;
  return renderPage(visit, {
    title: words.menu.debugger,
    lead: words.debugger.lead,
    active: 'debugger',
    body: html`${inspection && verdicts(visit, inspection)}<div class="card">${postForm(
      visit,
      '/debugger',
      html`${textField({ name: 'body', label: words.debugger.body, hint: words.debugger.bodyHint, value: visit.form.get('body') ?? '', required: true, rows: 8 })}${textField({ name: 'own_string', label: words.debugger.own, hint: words.debugger.ownHint, value: visit.form.get('own_string') ?? '', rows: 4 })}${inputField({ name: 'address', label: words.debugger.address, hint: words.debugger.addressHint, value: fieldOf(visit, 'address', 60) })}<button>${words.debugger.button}</button>`,
    )}</div>`,
  });
}

function verdicts(visit: HolderRequest, inspection: Inspection): Html {
  const { words } = visit;
  const wrong = inspection.checks.find((check) => check.verdict === 'wrong');
  return html`<div class="box ${wrong ? 'bad' : 'good'}" role="status"><p>${wrong ? explain(visit, wrong) : words.debugger.allRight}</p></div>${dataTable(
    words.debugger.checks,
    [{ label: words.debugger.check }, { label: words.debugger.verdict }, { label: words.debugger.detail }],
    inspection.checks.map((check) => [
      words.debugger.names[check.name],
      check.verdict === 'right'
        ? tag('s', words.debugger.right)
        : check.verdict === 'wrong'
          ? tag('e', words.debugger.wrong)
          : tag('n', words.debugger.skipped),
      check.verdict === 'wrong' ? explain(visit, check) : (check.fact ?? ''),
    ]),
  )}${comparison(visit, inspection)}`;
}

function explain({ words }: HolderRequest, check: SignatureStep): string {
  const said = check.mistake ? words.debugger.mistakes[check.mistake] : words.debugger.faults[check.name];
  return check.fact ? `${said} ${check.fact}` : said;
}

function comparison(visit: HolderRequest, { ours, theirs, difference }: Inspection): Html | false {
  if (ours === null || theirs === null) return false;
  const { words } = visit;
  return html`<div class="card"><h2>${words.debugger.strings}</h2>${
    difference
      ? html`<p class="box warn" id="difference">${words.debugger.differ(difference.byte)} <code>${difference.ours || words.debugger.end}</code> / <code>${difference.theirs || words.debugger.end}</code></p>`
      : html`<p class="box good" id="difference">${words.debugger.same}</p>`
  }<h3>${words.debugger.ours}</h3>${marked(ours, difference?.byte ?? null, words.debugger.ours)}<h3>${words.debugger.theirs}</h3>${marked(theirs, difference?.byte ?? null, words.debugger.theirs)}</div>`;
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
