// "Try it" on the reference: a form for each operation, sent by the gateway itself with the keys of the signed-in developer, and
// below it what was sent and what came back.

import { type Form, field } from '../platform/forms.ts';
import { type Html, html } from '../platform/html.ts';
import type { Developer, TriedAnswer, TriedCall } from './developer.ts';
import { highlight } from './highlight.ts';
import type { ParameterObject } from './openapi.ts';
import { anchorOfOperation, exampleOf, type OperationEntry, securityOf } from './reference.ts';

const MAX_BODY_CHARACTERS = 6_000;
/** They take or return credentials, which a page should not show. */
const NOT_TRIED = ['getToken', 'createSignature'];

/** What was tried: the fields as they were typed, and the answer or why nothing was sent. */
export type Trial = { operation: string; fields: Form; answer: TriedAnswer | null; problem: string | null };

export function canBeTried({ operation }: OperationEntry): boolean {
  const isJson = operation.responses['200']?.content?.['application/json'] !== undefined;
  return isJson && securityOf(operation) !== 'none' && !NOT_TRIED.includes(operation.operationId);
}

/** The form of an operation, with the result of a trial below it. */
export function tryBox(entry: OperationEntry, developer: Developer, trial: Trial | null): Html | false {
  if (!canBeTried(entry)) return false;
  const name = anchorOfOperation(entry);
  const own = trial?.operation === name ? trial : null;
  const id = `try-${name}`;
  return html`
    <details class="try" id="${id}"${own && html` open`}>
      <summary>Try it</summary>
      <form method="post" action="#${id}">
        ${developer.formFields}
        <input type="hidden" name="operation" value="${name}">
        ${fieldsOf(entry).map((parameter) => parameterField(id, parameter, own))}
        ${bodyField(entry, own)}
        <button>Send</button>
        <span class="muted">As ${developer.keys.sender}, with test money</span>
      </form>
      ${own && result(entry, own)}
    </details>
  `;
}

/** Parameters of the path and the query; headers are the gateway's own matter here. */
function fieldsOf({ operation }: OperationEntry): ParameterObject[] {
  return (operation.parameters ?? []).filter((parameter) => parameter.in !== 'header');
}

function parameterField(id: string, { name, in: place, schema }: ParameterObject, trial: Trial | null): Html {
  const isRequired = place === 'path';
  const type = typeof schema?.type === 'string' ? schema.type : '';
  return html`
    <div class="field">
      <label for="${id}-${name}">${name}</label>
      <input id="${id}-${name}" name="parameter_${name}" maxlength="200" value="${trial?.fields.get(`parameter_${name}`) ?? ''}"
        placeholder="${type}"${isRequired && html` required`}>
    </div>
  `;
}

function bodyField(entry: OperationEntry, trial: Trial | null): Html | false {
  const example = exampleOf(entry);
  if (example === undefined) return false;
  const isSigned = securityOf(entry.operation) === 'signed';
  const shown = isSigned ? ((example as { params?: unknown }).params ?? {}) : example;
  const id = `try-${anchorOfOperation(entry)}-body`;
  return html`
    <div class="field">
      <label for="${id}">${isSigned ? 'params' : 'Body'}</label>
      <textarea id="${id}" name="body" spellcheck="false" maxlength="${MAX_BODY_CHARACTERS}">
        ${trial?.fields.get('body') ?? JSON.stringify(shown, null, 2)}
      </textarea>
    </div>
  `;
}

function result(entry: OperationEntry, { answer, problem }: Trial): Html {
  if (!answer) return html`<p class="box error" role="alert">${problem}</p>`;
  const tone = answer.status < 400 ? 'success' : 'error';
  return html`
    <div role="status">
      <p><span class="tag ${tone}">${answer.status}</span>${' '}${answer.requestId && html`<code>${answer.requestId}</code>`}</p>
      ${code('Answer', pretty(answer.text))}
      ${answer.sent !== null && code(`Sent to ${entry.method} ${entry.path}`, JSON.stringify(answer.sent, null, 2))}
    </div>
  `;
}

function code(title: string, text: string): Html {
  return html`<div class="code"><p class="code-name">${title}</p><pre tabindex="0"><code>${highlight(text, 'json')}</code></pre></div>`;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The request of a form, or the sentence that says what is wrong with it. */
export function readCall(entry: OperationEntry, form: Form): TriedCall | string {
  const query = new URLSearchParams();
  let url = entry.path;
  for (const { name, in: place } of fieldsOf(entry)) {
    const value = field(form, `parameter_${name}`);
    if (place === 'path') {
      if (value === '') return `Enter ${name}.`;
      url = url.replace(`{${name}}`, () => encodeURIComponent(value));
    } else if (value !== '') query.set(name, value);
  }
  const text = field(form, 'body', MAX_BODY_CHARACTERS);
  const security = securityOf(entry.operation);
  const call = { method: entry.method, url: query.size > 0 ? `${url}?${query.toString()}` : url, security };
  if (exampleOf(entry) === undefined) return { ...call, body: null };
  try {
    return { ...call, body: JSON.parse(text) as unknown };
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : ''}`;
  }
}
