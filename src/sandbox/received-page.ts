// The page of received callbacks: what arrived, whether its signature is valid, and how to check it in your own program.

import type { Config } from '../platform/config.ts';
import { type Html, type HtmlPage, html, scriptFile, styleFile } from '../platform/html.ts';
import { emptyState, facts, status } from '../ui/components.ts';
import type { ReceivedCallback } from './received-callbacks.ts';
import { sandboxPage } from './sandbox-layout.ts';

const STYLE = styleFile(new URL('./received.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./received.js', import.meta.url));
/** The headers that verification needs, and those that help to find a mistake. */
const SHOWN_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type', 'user-agent'];

export function receivedPage(config: Config, callbacks: readonly ReceivedCallback[], text: string): HtmlPage {
  return sandboxPage(config, {
    title: 'Received callbacks',
    lead: html`
      A receiver like yours: it keeps what the gateway sends to <code>/sandbox/callbacks</code> and checks each signature.
    `,
    active: 'callbacks',
    actions: filterForm(text),
    styles: [STYLE],
    scripts: [SCRIPT],
    body: html`
      <div id="received" data-newest="${callbacks[0]?.number ?? 0}">
        ${callbacks.length === 0 ? nothing(text) : callbacks.map((callback, place) => callbackCard(callback, place === 0))}
      </div>
    `,
  });
}

function filterForm(text: string): Html {
  return html`
    <form class="filter-received" method="get">
      <label>
        Reference, type or any text
        <input type="search" name="q" value="${text}" maxlength="100">
      </label>
      <button class="button-secondary">Filter</button>
    </form>
  `;
}

function nothing(text: string): Html {
  if (text !== '')
    return emptyState(
      'No matches',
      'No received callback contains this text.',
      html`<a class="button" href="?">Show all</a>`,
    );
  return emptyState(
    'No callbacks yet',
    'Make a test payment. Its result arrives here, and this page updates by itself.',
    html`<a class="button" href="/console">Open the console</a>`,
    'bell',
  );
}

function callbackCard(callback: ReceivedCallback, isOpen: boolean): Html {
  const { number, at, headers, body, verdict } = callback;
  const event = readEvent(body);
  return html`
    <details class="card received"${isOpen && html` open`}>
      <summary>
        <span class="muted">${number}</span>
        <b>${event.type ?? 'not an event'}</b>
        ${verdict.verified ? status('success', 'Signature valid') : status('error', 'Not verified', verdict.why)}
        <time class="muted" datetime="${at.toISOString()}">${at.toISOString().slice(11, 19)} UTC</time>
      </summary>
      ${facts([
        ['Reference', event.ref !== null && html`<a href="/console/search?q=${event.ref}">${event.ref}</a>`],
        ['Status', event.status],
      ])}
      <h2>Body</h2>
      <pre tabindex="0" aria-label="Body of callback ${number}">${indented(body)}</pre>
      <h2>Headers</h2>
      <pre tabindex="0" aria-label="Headers of callback ${number}">${headerLines(headers)}</pre>
      ${verifySnippet(callback)}
    </details>
  `;
}

function headerLines(headers: Record<string, string>): string {
  return SHOWN_HEADERS.filter((name) => headers[name] !== undefined)
    .map((name) => `${name}: ${headers[name]}`)
    .join('\n');
}

/** The check of this very callback, to run or to compare with one's own. */
function verifySnippet({ number, headers }: ReceivedCallback): Html {
  const id = headers['webhook-id'] ?? '';
  const timestamp = headers['webhook-timestamp'] ?? '';
  const python = `import base64, hashlib, hmac
# secret: the callback secret of the integration, without "whsec_"
key = base64.b64decode(secret)
signed = b"${id}.${timestamp}." + raw_body
expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
assert hmac.compare_digest(expected, headers["webhook-signature"])`;
  const typescript = `import { webhooks } from 'simbi';
const event = await webhooks.verify(rawBody, headers, callbackSecret);`;
  return html`
    <details>
      <summary>Verify this in your language</summary>
      <p class="muted">TypeScript, with our SDK</p>
      <pre tabindex="0" aria-label="TypeScript, callback ${number}">${typescript}</pre>
      <p class="muted">Python. PHP and others: <a href="/docs/callbacks">Callbacks</a></p>
      <pre tabindex="0" aria-label="Python, callback ${number}">${python}</pre>
    </details>
  `;
}

type EventFacts = { type: string | null; ref: string | null; status: string | null };

/** What strangers send here need not be an event. */
function readEvent(body: string): EventFacts {
  const event = parsed(body);
  const data = isRecord(event) && isRecord(event.data) ? event.data : {};
  const text = (value: unknown, pattern: RegExp) => (typeof value === 'string' && pattern.test(value) ? value : null);
  return {
    type: isRecord(event) ? text(event.type, /^[a-z_.]{1,40}$/) : null,
    ref: text(data.ref, /^\w{1,60}$/),
    status: text(data.status, /^[a-z]{1,20}$/),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function indented(body: string): string {
  const value = parsed(body);
  return value === null ? body : JSON.stringify(value, null, 2);
}
