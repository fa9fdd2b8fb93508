// The document that proves a decision: text or a picture. The script sends it as a data address in a field of the form. Its
// kind is known by its bytes alone, and it is never shown as a page: a browser saves it to a file.

import type { FastifyReply } from 'fastify';
import { pictureFormat } from '../links/logo.ts';
import { type DecisionDocument, MAX_DOCUMENT_BYTES, readDocument } from '../payments/decision-rows.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import { fieldOf, type MemberRequest } from './console-request.ts';

/** A document of the largest size in base64, with the beginning of its data address. */
const MAX_CHARACTERS = Math.ceil(MAX_DOCUMENT_BYTES / 3) * 4 + 200;
const DATA_ADDRESS = /^data:[^,]{0,190};base64,/;
/** Text has no control characters but tabs and line breaks. */
const NOT_TEXT = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

const EXTENSIONS: Record<DecisionDocument['type'], string> = {
  'text/plain': 'txt',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
};

/** The script puts the content of the file into the hidden field. */
export function documentField({ t }: MemberRequest, errors: string[] | undefined): Html {
  return html`
    <div class="field" data-js hidden>
      <label for="f-document">${t.decisions.document}</label>
      <span class="muted" id="h-document">${t.decisions.documentHint}</span>
      <input id="f-document" type="file" accept=".txt,.csv,text/plain,image/png,image/jpeg,image/webp"
        data-file="#f-document-data" aria-describedby="h-document${errors && ' e-document'}"${errors && html` aria-invalid="true"`}>
    </div>
    <input type="hidden" name="document" id="f-document-data" value="">
    ${errors && html`<p class="field-error" id="e-document">${errors.join(' ')}</p>`}
  `;
}

/** The document of a form; null when there is none. */
export function readDocumentField(request: MemberRequest): DecisionDocument | null {
  const text = fieldOf(request, 'document', MAX_CHARACTERS + 1);
  if (text === '') return null;
  const document = text.length > MAX_CHARACTERS ? null : documentOf(text);
  if (!document) throw new Problem('invalid_params', { errors: { document: [request.t.decisions.documentInvalid] } });
  return document;
}

function documentOf(text: string): DecisionDocument | null {
  const prefix = DATA_ADDRESS.exec(text)?.[0];
  if (prefix === undefined) return null;
  const base64 = text.slice(prefix.length);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length > MAX_DOCUMENT_BYTES || bytes.toString('base64') !== base64) return null;
  const picture = pictureFormat(bytes);
  if (picture === 'gif') return null;
  if (picture) return { type: `image/${picture}`, bytes };
  return isText(bytes) ? { type: 'text/plain', bytes } : null;
}

function isText(bytes: Buffer): boolean {
  try {
    return !NOT_TEXT.test(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return false;
  }
}

/** Sends the document of a decision as a file to save. */
export async function sendDocument(request: MemberRequest, decisionId: string): Promise<FastifyReply> {
  return replyWithDocument(request, await readDocument(request.ctx.db, decisionId), publicId('dec', decisionId));
}

export function replyWithDocument(
  request: MemberRequest,
  document: DecisionDocument | null,
  title: string,
): FastifyReply {
  if (!document) throw new Problem('not_found');
  const name = `${title}.${EXTENSIONS[document.type]}`;
  return request.reply
    .headers({
      'Content-Type': document.type === 'text/plain' ? 'text/plain; charset=utf-8' : document.type,
      'Content-Disposition': `attachment; filename="${name}"`,
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Cache-Control': 'no-store',
    })
    .send(document.bytes);
}
