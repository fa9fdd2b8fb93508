// The layout of every page: the sandbox bar, the top bar with search and account, the menu, and the page itself.

import type { FastifyReply } from 'fastify';
import type { MemberRole } from '../holders/members.ts';
import { shownBrand } from '../platform/config.ts';
import { type Html, type HtmlPage, html, scriptFile, sendPage, styleFile } from '../platform/html.ts';
import { type ConsoleRequest, queryOf } from './console-request.ts';
import { postButton, postForm } from './form-components.ts';
import { type ConsoleMessages, LANGUAGE_CODES, LANGUAGES } from './messages.ts';
import { noticeBox } from './notice-box.ts';
import { BUILDERS, EVERYONE } from './route.ts';

const STYLE = styleFile(new URL('./console.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./console.js', import.meta.url));
const PASSKEY_SCRIPT = scriptFile(new URL('./passkey.js', import.meta.url));

export type MenuKey = keyof ConsoleMessages['menu'];
type NoticeKey = keyof ConsoleMessages['notices'];

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

const ADMIN_MENU: readonly { key: MenuKey; path: string }[] = [
  { key: 'admin', path: '/admin' },
  { key: 'rails', path: '/admin/rails' },
  { key: 'allCases', path: '/admin/cases' },
  { key: 'reports', path: '/admin/reports' },
  { key: 'debts', path: '/admin/debts' },
  { key: 'ledger', path: '/admin/ledger' },
  { key: 'limits', path: '/admin/limits' },
  { key: 'auditExport', path: '/admin/audit' },
];

export type ConsoleContent = {
  title: string;
  /** One sentence under the title. */
  lead?: string;
  body: Html;
  active?: MenuKey;
  status?: number;
  /** Buttons beside the title. */
  actions?: Html;
  /** The script loads the page again every so many seconds. */
  live?: number;
  /** Without menu and header, as for visitors who are not signed in. */
  alone?: boolean;
  /** The page has a form for passkeys, which needs a script. */
  passkeys?: boolean;
};

export function layoutPage(request: ConsoleRequest, content: ConsoleContent): HtmlPage {
  const { t } = request;
  const alone = content.alone === true || request.session === null;
  const page = main(request, content);
  return {
    language: request.language,
    title: `${content.title} – ${shownBrand(request.ctx.config)}`,
    styles: [STYLE],
    scripts: content.passkeys ? [SCRIPT, PASSKEY_SCRIPT] : [SCRIPT],
    referrer: 'same-origin',
    attributes: html`
      class="${alone ? 'alone' : 'in'}"
      ${content.live !== undefined && html` data-live="${content.live}"`}
    `,
    ...(content.status === undefined ? {} : { status: content.status }),
    body: html`
      <a class="skip" href="#main">${t.skip}</a>
      ${sandboxBar(request)}
      ${alone ? page : html`${topbar(request)}<div class="shell">${menu(request, content.active)}${page}</div>`}
      <footer>${languageLinks(request)}</footer>
      <p id="say" role="status" class="skip"></p>
    `,
  };
}

export function renderPage(request: ConsoleRequest, content: ConsoleContent): Promise<FastifyReply> {
  return sendPage(request.raw, request.reply, layoutPage(request, content));
}

/** Goes to a page of the console, which then says what was done. */
export function redirect(request: ConsoleRequest, path: string, done?: NoticeKey): FastifyReply {
  const joint = path.includes('?') ? '&' : '?';
  return request.reply.header('Cache-Control', 'no-store').redirect(done ? `${path}${joint}done=${done}` : path, 303);
}

function main(request: ConsoleRequest, content: ConsoleContent): Html {
  const { t } = request;
  const done = queryOf(request, 'done', 40);
  const notice = Object.hasOwn(t.notices, done) ? t.notices[done as NoticeKey] : null;
  return html`
    <main id="main">
      ${notice && html`<p class="box success" role="status">${notice}</p>`}
      ${content.alone !== true && noticeBox(request)}
      <div class="page-head">
        <div>
          <h1>${content.title}</h1>
          ${content.lead && html`<p class="lead">${content.lead}</p>`}
        </div>
        ${content.actions && html`<div class="actions">${content.actions}</div>`}
      </div>
      ${content.body}
    </main>
  `;
}

function sandboxBar({ ctx, t }: ConsoleRequest): Html | false {
  if (ctx.config.mode !== 'sandbox') return false;
  return html`
    <aside class="sandbox-bar" aria-label="${t.sandbox}">
      <span>${t.sandbox}</span>
      ${' '}
      <span><a href="/sandbox/phone" target="_blank" rel="noopener">${t.openPhone}</a></span>
    </aside>
  `;
}

function topbar(request: ConsoleRequest): Html {
  const { t, holder, session, ctx } = request;
  const brand = shownBrand(ctx.config);
  return html`
    <header class="topbar">
      <a class="brand" href="/console"><i aria-hidden="true">${brand.slice(0, 1)}</i>${brand}</a>
      ${holder && searchForm(request)}
      <div class="user-menu">
        ${request.memberships.length > 1 ? holderSwitch(request) : holder && html`<b><bdi>${holder.name}</bdi></b>`}
        <a href="/console/account">${session?.member.email}</a>
        ${postButton(request, '/sign-out', t.signOut, { variant: 'link' })}
      </div>
    </header>
  `;
}

function searchForm(request: ConsoleRequest): Html {
  const { t } = request;
  return html`
    <form class="search" action="/console/search" role="search">
      <input id="q" name="q" type="search" aria-label="${t.search}" placeholder="${t.searchHint}"
        value="${queryOf(request, 'q')}" maxlength="128">
      <kbd aria-hidden="true">Ctrl K</kbd>
    </form>
  `;
}

/** For members of several holders. The script sends it as soon as another one is chosen. */
function holderSwitch(request: ConsoleRequest): Html {
  const { t, holder, memberships } = request;
  const option = ({ holder_id, name }: (typeof memberships)[number]) =>
    html`<option value="${holder_id}"${holder_id === holder?.id && html` selected`}>${name}</option>`;
  return postForm(
    request,
    '/switch',
    html`
      <select name="holder" aria-label="${t.account}" data-submit="1">${memberships.map(option)}</select>
      <button class="button-secondary">${t.switch}</button>
    `,
  );
}

function menu(request: ConsoleRequest, active: MenuKey | undefined): Html {
  const { t, role, session } = request;
  const item = ({ key, path }: { key: MenuKey; path: string }) =>
    html`<li><a href="/console${path}"${key === active && html` aria-current="page"`}>${t.menu[key]}</a></li>`;
  return html`
    <nav class="menu" aria-label="${t.menuLabel}">
      <ul>
        ${role && MENU.filter((each) => each.roles.includes(role)).map(item)}
        ${
          session?.member.is_admin === true && html`<li class="menu-heading">${t.adminMenu}</li>${ADMIN_MENU.map(item)}`
        }
      </ul>
    </nav>
  `;
}

function languageLinks(request: ConsoleRequest): Html[] {
  const [path = '', search = ''] = request.raw.url.split('?');
  const query = new URLSearchParams(search);
  query.delete('done');
  // The answer to a form has no address of its own to return to.
  const back = request.raw.method === 'GET' ? path : '/console';
  return LANGUAGE_CODES.map((code) => {
    query.set('lang', code);
    const current = code === request.language && html` aria-current="true"`;
    const { name } = LANGUAGES[code];
    return html`<a href="${back}?${query.toString()}" lang="${code}" hreflang="${code}"${current}>${name}</a> `;
  });
}
