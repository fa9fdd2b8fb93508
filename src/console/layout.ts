// The frame around every page: the sandbox bar, the head with search and account, the menu, and the page itself.

import type { FastifyReply } from 'fastify';
import type { MemberRole } from '../holders/members.ts';
import { type Html, type HtmlPage, html, sendPage } from '../platform/html.ts';
import { type ConsoleRequest, queryOf } from './console-request.ts';
import { LANGUAGES, type Words } from './messages.ts';
import { BUILDERS, EVERYONE } from './route.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

export type MenuKey = keyof Words['menu'];

const MENU: readonly { key: MenuKey; path: string; roles: readonly MemberRole[] }[] = [
  { key: 'home', path: '', roles: EVERYONE },
  { key: 'transactions', path: '/transactions', roles: EVERYONE },
  { key: 'links', path: '/links', roles: EVERYONE },
  { key: 'payouts', path: '/payouts', roles: EVERYONE },
  { key: 'balances', path: '/balances', roles: EVERYONE },
  { key: 'cases', path: '/cases', roles: EVERYONE },
  { key: 'integrations', path: '/integrations', roles: EVERYONE },
  { key: 'callbacks', path: '/callbacks', roles: EVERYONE },
  { key: 'requests', path: '/requests', roles: EVERYONE },
  { key: 'debugger', path: '/debugger', roles: BUILDERS },
  { key: 'team', path: '/team', roles: EVERYONE },
  { key: 'audit', path: '/audit', roles: EVERYONE },
];

const OPERATOR_MENU: readonly { key: MenuKey; path: string }[] = [
  { key: 'admin', path: '/admin' },
  { key: 'rails', path: '/admin/rails' },
  { key: 'allCases', path: '/admin/cases' },
  { key: 'ledger', path: '/admin/ledger' },
];

export type ConsoleContent = {
  title: string;
  /** Said under the title. */
  lead?: string;
  body: Html;
  active?: MenuKey;
  status?: number;
  /** Buttons beside the title. */
  actions?: Html;
  /** The page looks for news every so many seconds. */
  live?: number;
  /** Pages of people who are not signed in stand alone. */
  alone?: boolean;
};

export function layoutPage(visit: ConsoleRequest, content: ConsoleContent): HtmlPage {
  const { words } = visit;
  const done = queryOf(visit, 'done', 40);
  const notice = Object.hasOwn(words.done, done) ? words.done[done as keyof Words['done']] : null;
  const page = html`<main id="main">${notice && html`<p class="box good" role="status">${notice}</p>`}<div class="head"><div><h1>${content.title}</h1>${content.lead && html`<p class="lead">${content.lead}</p>`}</div>${content.actions && html`<div class="acts">${content.actions}</div>`}</div>${content.body}</main>`;
  const alone = content.alone === true || visit.session === null;
  return {
    language: visit.language,
    title: `${content.title} – ${visit.ctx.config.brandName}`,
    styles: [STYLE],
    scripts: [SCRIPT],
    referrer: 'same-origin',
    attributes: html`class="${alone ? 'alone' : 'in'}"${content.live !== undefined && html` data-live="${content.live}"`}`,
    ...(content.status === undefined ? {} : { status: content.status }),
    body: html`<a class="skip" href="#main">${words.skip}</a>${sandboxBar(visit)}${alone ? html`${page}` : html`${head(visit)}<div class="shell">${menu(visit, content.active)}${page}</div>`}<footer>${languageLinks(visit)}</footer><p id="say" role="status" class="skip"></p>`,
  };
}

export function renderPage(visit: ConsoleRequest, content: ConsoleContent): Promise<FastifyReply> {
  return sendPage(visit.request, visit.reply, layoutPage(visit, content));
}

/** Goes to a page of ours, with a word about what was done. */
export function redirect(visit: ConsoleRequest, path: string, done?: keyof Words['done']): FastifyReply {
  const joint = path.includes('?') ? '&' : '?';
  return visit.reply.header('Cache-Control', 'no-store').redirect(done ? `${path}${joint}done=${done}` : path, 303);
}

function sandboxBar(visit: ConsoleRequest): Html | false {
  if (visit.ctx.config.mode !== 'sandbox') return false;
  return html`<aside class="sb" aria-label="${visit.words.sandbox}"><span>${visit.words.sandbox}</span> <span><a href="/sandbox/phone" target="_blank" rel="noopener">${visit.words.openPhone}</a></span></aside>`;
}

function head(visit: ConsoleRequest): Html {
  const { words, holder, session } = visit;
  const others = visit.memberships.length > 1;
  return html`<header class="top"><a class="brand" href="/console"><i aria-hidden="true">${visit.ctx.config.brandName.slice(0, 1)}</i>${visit.ctx.config.brandName}</a>
${holder && html`<form class="find" action="/console/search" role="search"><input id="q" name="q" type="search" aria-label="${words.search}" placeholder="${words.searchHint}" value="${queryOf(visit, 'q')}" maxlength="128"><kbd aria-hidden="true">Ctrl K</kbd></form>`}
<div class="who">${
    others
      ? html`<form method="post" action="/console/switch"><input type="hidden" name="csrf" value="${visit.csrf}"><select name="holder" aria-label="${words.account}" data-submit="1">${visit.memberships.map((each) => html`<option value="${each.holder_id}"${each.holder_id === holder?.id && html` selected`}>${each.name}</option>`)}</select><button class="q">${words.switch}</button></form>`
      : holder && html`<b><bdi>${holder.name}</bdi></b>`
  }<a href="/console/account">${session?.member.email}</a><form method="post" action="/console/sign-out"><input type="hidden" name="csrf" value="${visit.csrf}"><button class="lk">${words.signOut}</button></form></div></header>`;
}

function menu(visit: ConsoleRequest, active: MenuKey | undefined): Html {
  const { words, role, session } = visit;
  const item = (key: MenuKey, path: string) =>
    html`<li><a href="/console${path}"${key === active && html` aria-current="page"`}>${words.menu[key]}</a></li>`;
  return html`<nav class="menu" aria-label="${words.menuLabel}"><ul>${role && MENU.filter((each) => each.roles.includes(role)).map((each) => item(each.key, each.path))}${
    session?.member.is_admin === true &&
    html`<li class="sep">${words.operatorMenu}</li>${OPERATOR_MENU.map((each) => item(each.key, each.path))}`
  }</ul></nav>`;
}

function languageLinks(visit: ConsoleRequest): Html[] {
  const [path = '', search = ''] = visit.request.url.split('?');
  const query = new URLSearchParams(search);
  query.delete('done');
  // A page that answered a form has no address of its own to come back to.
  const back = visit.request.method === 'GET' ? path : '/console';
  return (['en', 'fr'] as const).map((code) => {
    query.set('lang', code);
    return html`<a href="${back}?${query.toString()}" lang="${code}" hreflang="${code}"${code === visit.language && html` aria-current="true"`}>${LANGUAGES[code].name}</a> `;
  });
}
