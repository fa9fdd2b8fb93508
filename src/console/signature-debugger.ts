// Sign-check: a pasted request, beside it the result of every check, and the first byte in which the signed text and ours
// differ.

import type { FastifyReply } from 'fastify';
import { listUnverified, type UnverifiedRequest } from '../holders/unverified-requests.ts';
import { type Html, html, styleFile } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { emptyState } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type HolderRequest, queryOf } from './console-request.ts';
import { form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, forRoles } from './route.ts';
import { type Inspection, inspectRequest, type SignatureStep, type TextDifference } from './signature-checks.ts';

const STYLE = styleFile(new URL('./signature-debugger.css', import.meta.url));
const MAX_BODY = 64 * 1024;
const MAX_ADDRESS = 60;

export const debuggerRoutes: ConsoleRoute[] = [
  forRoles(BUILDERS, 'GET', '/debugger', showPage),
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

/** A refused request of the request log: its address is filled in. Bodies are not stored, so the body is pasted. */
async function showPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder } = request;
  const id = uuidFromPublicId('req', queryOf(request, 'request', 40));
  const [refused] = id === null ? [] : await listUnverified(ctx.db, holder.id, { id }, 1);
  return debuggerPage(request, null, refused);
}

function debuggerPage(
  request: HolderRequest,
  inspection: Inspection | null,
  refused?: UnverifiedRequest,
): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.menu.debugger,
    lead: t.debugger.lead,
    active: 'debugger',
    styles: [STYLE],
    body: html`
      ${refused && refusedBox(request, refused)}
      <div class="columns${inspection && ' checked'}">
        <section class="card">${pasteForm(request, refused)}</section>
        ${inspection ? verdict(request, inspection) : emptyState(t.debugger.noVerdict, t.debugger.noVerdictText, false, 'bug')}
      </div>
      ${inspection && comparison(request, inspection)}
    `,
  });
}

function refusedBox(request: HolderRequest, { id, route, at, address }: UnverifiedRequest): Html {
  const { t } = request;
  return html`
    <p class="box neutral">
      ${t.debugger.refused} <code>${publicId('req', id)}</code>
      ${' '}· <code>${route}</code> · ${address} · ${timeTag(request, at)}
    </p>
  `;
}

function pasteForm(request: HolderRequest, refused: UnverifiedRequest | undefined): Html {
  const { t } = request;
  return form(request, {
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
        value: refused?.address ?? fieldOf(request, 'address', MAX_ADDRESS),
      },
    ],
    submit: t.debugger.button,
  });
}

/** Only what is wrong has a colour. */
function verdict(request: HolderRequest, inspection: Inspection): Html {
  const { t } = request;
  const failed = inspection.checks.find((check) => check.result === 'failed');
  const line = (check: SignatureStep) => {
    const detail = check.result === 'failed' ? explain(request, check) : check.detail;
    return html`
      <li${check.result === 'failed' && html` class="wrong"`}>
        <div>${t.debugger.names[check.name]}${detail && html`<br><span class="muted">${detail}</span>`}</div>
        <span>${t.debugger[check.result]}</span>
      </li>
    `;
  };
  return html`
    <section class="card" aria-labelledby="verdict-title">
      <h2 id="verdict-title">${t.debugger.checks}</h2>
      <div class="box ${failed ? 'error' : 'success'}" role="status">
        <p>${failed ? explain(request, failed) : t.debugger.allPassed}</p>
      </div>
      <ul class="plain sign-checks">${inspection.checks.map(line)}</ul>
    </section>
  `;
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
      ${difference ? firstDifference(request, difference) : html`<p class="box success" id="difference">${t.debugger.same}</p>`}
      <h3>${t.debugger.ours}</h3>
      ${markedText(ours, byte, t.debugger.ours)}
      <h3>${t.debugger.theirs}</h3>
      ${markedText(theirs, byte, t.debugger.theirs)}
    </div>
  `;
}

/** The same byte of both texts, one under the other. */
function firstDifference({ t }: HolderRequest, { byte, ours, theirs }: TextDifference): Html {
  return html`
    <div class="box warning" id="difference">
      <p>${t.debugger.firstDifference(byte)}</p>
      <dl class="difference">
        <dt>${t.debugger.ours}</dt>
        <dd><code>${ours || t.debugger.end}</code></dd>
        <dt>${t.debugger.theirs}</dt>
        <dd><code>${theirs || t.debugger.end}</code></dd>
      </dl>
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
