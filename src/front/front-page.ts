// The first page: what this is, the ways in, the first command, version and health.

import { type Config, shownBrand } from '../platform/config.ts';
import { type Html, type HtmlPage, html } from '../platform/html.ts';
import { status } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { frontLayout } from './layout.ts';
import type { FrontMessages } from './messages.ts';

/** A number without a scenario: its prompt waits on the test phone. */
const FIRST_COMMAND = 'npx simbi collect 2500 KES --phone 254712345678 --wait';
const FIRST_PHONE = '/sandbox/phone?n=254712345678';

export type FrontFacts = { version: string; isHealthy: boolean; sampleLink: string | null; hasMails: boolean };

export function frontPage(config: Config, t: FrontMessages, facts: FrontFacts): HtmlPage {
  const isSandbox = config.mode === 'sandbox';
  return frontLayout(
    config,
    t,
    null,
    html`
      <div class="hero">
        <h1>${isSandbox ? t.sandboxTitle : shownBrand(config)}</h1>
        ${isSandbox && html`<p class="lead">${t.lead}</p>`}
        <p class="lead">${isSandbox ? t.sandboxLead : t.liveLead}</p>
      </div>
      ${isSandbox ? sandboxDoors(t, facts) : doors([door('/console', 'house', t.console), door('/docs', 'book-open', t.docs)])}
      <footer class="front-foot">
        ${status(facts.isHealthy ? 'success' : 'error', facts.isHealthy ? t.healthy : t.unhealthy)}
        <span>${t.version} ${facts.version}</span>
        <a href="/openapi.json">OpenAPI</a>
        ${isSandbox && html`<a href="/sandbox/components">${t.components}</a>`}
      </footer>
    `,
  );
}

function sandboxDoors(t: FrontMessages, { sampleLink, hasMails }: FrontFacts): Html {
  return html`
    ${doors([
      door('/console', 'house', t.console),
      ...(sampleLink === null ? [] : [door(sampleLink, 'link', t.pay)]),
      door(FIRST_PHONE, 'smartphone', t.phone),
      door('/docs', 'book-open', t.docs),
    ])}
    <section class="card">
      <h2>${t.commandTitle}</h2>
      <p class="muted">${t.commandText}</p>
      ${commandLine(t, 'first-command', FIRST_COMMAND)}
      <p class="muted">${t.signIn} <code>npx simbi login-link</code></p>
    </section>
    ${doors(
      [
        door('/console/sample-shop', 'store', t.sample),
        door('/sandbox/callbacks', 'bell', t.receiver),
        ...(hasMails ? [door('/sandbox/mail', 'mail', t.mails)] : []),
      ],
      'doors-small',
    )}
  `;
}

function doors(items: readonly Html[], more = ''): Html {
  return html`<ul class="doors ${more}">${items.map((item) => html`<li>${item}</li>`)}</ul>`;
}

function door(href: string, iconName: string, [title, text]: readonly [string, string]): Html {
  return html`
    <a class="card door" href="${href}">
      ${icon(iconName)}
      <div><b>${title}</b><span>${text}</span></div>
    </a>
  `;
}

function commandLine(t: FrontMessages, id: string, command: string): Html {
  return html`
    <div class="copyline">
      <code id="${id}">${command}</code>
      <button type="button" class="button-secondary" data-copy="#${id}" data-done="${t.copied}" hidden>${t.copy}</button>
    </div>
  `;
}
