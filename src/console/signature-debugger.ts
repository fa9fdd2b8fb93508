// The signature debugger: a pasted request, the result of every check, and the first byte in which the signed text and
// ours differ.

import type { FastifyReply } from 'fastify';
import { type Html, html } from '../platform/html.ts';
import { dataTable, tag } from '../ui/components.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, forRoles } from './route.ts';
import { type Inspection, inspectRequest, type SignatureStep } from './signature-checks.ts';

const MAX_BODY = 64 * 1024;
const MAX_ADDRESS = 60;

export const debuggerRoutes: ConsoleRoute[] = [
  forRoles(BUILDERS, 'GET', '/debugger', (request) => debuggerPage(request, null)),
  forRoles(BUILDERS, 'POST', '/debugger', checkRequest, { whenSuspended: true, largeForm: true }),
];

async function checkRequest(request: HolderRequest): Promise<FastifyReply> {
  const inspection = await inspectRequest(request.ctx, request.holder.id, {
    body: (request.form.get('body') ?? '').slice(0, MAX_BODY),
    // A text area sends line ends as CR LF; a program signs LF.
    ownString: (request.form.get('own_string') ?? '').slice(0, MAX_BODY).replaceAll('\r\n', '\n').trim(),
    address: fieldOf(request, 'address', MAX_ADDRESS),
  });
  return debuggerPage(request, inspection);
}

function debuggerPage(request: HolderRequest, inspection: Inspection | null): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.menu.debugger,
    lead: t.debugger.lead,
    active: 'debugger',
    body: html`
      ${inspection && results(request, inspection)}
      <div class="card">
        ${form(request, {
          action: '/debugger',
          fields: [
            {
              type: 'textarea',
              name: 'body',
              label: t.debugger.body,
              hint: t.debugger.bodyHint,
              value: request.form.get('body') ?? '',
              required: true,
              rows: 8,
            },
            {
              type: 'textarea',
              name: 'own_string',
              label: t.debugger.signedText,
              hint: t.debugger.signedTextHint,
              value: request.form.get('own_string') ?? '',
              rows: 4,
            },
            {
              name: 'address',
              label: t.debugger.address,
              hint: t.debugger.addressHint,
              value: fieldOf(request, 'address', MAX_ADDRESS),
            },
          ],
          submit: t.debugger.button,
        })}
      </div>
    `,
  });
}

function results(request: HolderRequest, inspection: Inspection): Html {
  const { t } = request;
  const failed = inspection.checks.find((check) => check.result === 'failed');
  return html`
    <div class="box ${failed ? 'error' : 'success'}" role="status">
      <p>${failed ? explain(request, failed) : t.debugger.allPassed}</p>
    </div>
    ${dataTable(
      t.debugger.checks,
      [{ label: t.debugger.check }, { label: t.debugger.result }, { label: t.debugger.detail }],
      inspection.checks.map((check) => [
        t.debugger.names[check.name],
        resultTag(request, check),
        check.result === 'failed' ? explain(request, check) : (check.detail ?? ''),
      ]),
    )}
    ${comparison(request, inspection)}
  `;
}

function resultTag({ t }: HolderRequest, { result }: SignatureStep): Html {
  if (result === 'passed') return tag('success', t.debugger.passed);
  if (result === 'failed') return tag('error', t.debugger.failed);
  return tag('neutral', t.debugger.skipped);
}

function explain({ t }: HolderRequest, check: SignatureStep): string {
  const reason = check.mistake ? t.debugger.mistakes[check.mistake] : t.debugger.failures[check.name];
  return check.detail ? `${reason} ${check.detail}` : reason;
}

function comparison(request: HolderRequest, { ours, theirs, difference }: Inspection): Html | false {
  if (ours === null || theirs === null) return false;
  const { t } = request;
  const byte = difference?.byte ?? null;
  return html`
    <div class="card">
      <h2>${t.debugger.comparison}</h2>
      ${
        difference
          ? html`
              <p class="box warning" id="difference">
                ${t.debugger.firstDifference(difference.byte)}
                ${' '}
                <code>${difference.ours || t.debugger.end}</code> / <code>${difference.theirs || t.debugger.end}</code>
              </p>
            `
          : html`<p class="box success" id="difference">${t.debugger.same}</p>`
      }
      <h3>${t.debugger.ours}</h3>
      ${markedText(ours, byte, t.debugger.ours)}
      <h3>${t.debugger.theirs}</h3>
      ${markedText(theirs, byte, t.debugger.theirs)}
    </div>
  `;
}

/** A text with the character marked that holds the byte. */
function markedText(text: string, byte: number | null, label: string): Html {
  if (byte === null) return html`<pre tabindex="0" aria-label="${label}">${text}</pre>`;
  const bytes = Buffer.from(text);
  // Go back to the first byte of a character that UTF-8 writes in several.
  let start = byte;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  const before = bytes.subarray(0, start).toString('utf8');
  const rest = bytes.subarray(start).toString('utf8');
  const [first = ''] = rest;
  return html`
    <pre tabindex="0" aria-label="${label}">${before}<mark>${first || '∎'}</mark>${rest.slice(first.length)}</pre>
  `;
}
