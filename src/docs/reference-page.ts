// The pages of the API reference: an overview, and one page for each group of operations, what it does on the left and how to
// call it on the right.

import { type Html, html } from '../platform/html.ts';
import { anchorOf, type Heading, renderMarkdown } from './markdown.ts';
import type { ApiDocument } from './openapi.ts';
import {
  anchorOfOperation,
  describeOperation,
  linkToOperation,
  type OperationEntry,
  operationsOf,
  securityOf,
  type WriteSamples,
  writeIntroduction,
} from './reference.ts';

const SECURITY = { signed: 'signed', token: 'bearer token', none: 'open' } as const;

/** Every operation on a line. Each line has the name that the operation had when all of them were on this page. */
export function referenceOverview(document: ApiDocument): Html {
  const row = (entry: OperationEntry) => html`
    <li id="${anchorOfOperation(entry)}">
      <a href="${linkToOperation(entry)}"><b>${entry.operation.summary ?? ''}</b></a>
      ${endpoint(entry)}
      <span class="muted">${SECURITY[securityOf(entry.operation)]}</span>
    </li>
  `;
  return html`
    <h1>API reference</h1>
    ${renderMarkdown(writeIntroduction(document))}
    ${document.tags.map(
      ({ name, description }) => html`
        <h2 id="${anchorOf(name)}">${name}</h2>
        <p class="muted">${description}</p>
        <ul class="operations">${operationsOf(document, name).map(row)}</ul>
      `,
    )}
  `;
}

/** A group of operations. The form of each is added for a developer, see `groupBody`. */
export type GroupPage = {
  title: string;
  description: string;
  operations: { entry: OperationEntry; body: Html; aside: Html }[];
};

export function groupPage(
  document: ApiDocument,
  { name, description }: ApiDocument['tags'][number],
  samples: WriteSamples,
): GroupPage {
  return {
    title: name,
    description,
    operations: operationsOf(document, name).map((entry) => {
      const { about, request, answer, refusals } = describeOperation(document, entry, samples);
      const prefix = anchorOfOperation(entry);
      return {
        entry,
        body: html`
          <h2 id="${prefix}">${entry.operation.summary ?? ''}</h2>
          ${endpoint(entry)}
          ${renderMarkdown(withoutTitle(about), { prefix })}
          <details class="refusals">
            <summary>Errors of this operation</summary>
            ${renderMarkdown(refusals, { prefix })}
          </details>
        `,
        aside: html`${renderMarkdown(request, { prefix })}${answer !== '' && renderMarkdown(answer, { prefix })}`,
      };
    }),
  };
}

/** The summary is the heading of the page already. */
function withoutTitle(about: string): string {
  return about.replace(/^\*\*[^*]*\*\*(?: \(superseded\))? ?/, '');
}

export function groupHeadings({ operations }: GroupPage): Heading[] {
  return operations.map(({ entry }) => ({
    depth: 2,
    text: entry.operation.summary ?? '',
    anchor: anchorOfOperation(entry),
  }));
}

export function groupBody(page: GroupPage, tryBox: (entry: OperationEntry) => Html | false): Html {
  return html`
    <h1>${page.title}</h1>
    <p class="lead">${page.description}</p>
    ${page.operations.map(
      ({ entry, body, aside }) => html`
        <section class="operation">
          <div>${body}</div>
          <div class="operation-aside">${aside}${tryBox(entry)}</div>
        </section>
      `,
    )}
  `;
}

function endpoint({ method, path }: OperationEntry): Html {
  return html`<p class="endpoint"><span class="method ${method.toLowerCase()}">${method}</span><code>${path}</code></p>`;
}
