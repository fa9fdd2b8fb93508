// The layout of every page: the menu (menu.ts), the top bar with search, and the page itself.

import type { FastifyReply } from 'fastify';
import { findLostHead } from '../ledger/lost-history.ts';
import { shownBrand } from '../platform/config.ts';
import {
  type Html,
  type HtmlPage,
  type HtmlValue,
  html,
  type Inline,
  scriptFile,
  sendPage,
  styleFile,
} from '../platform/html.ts';
import { brandLink, brandOf } from '../ui/brand.ts';
import { COMPONENTS, menuButton } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { TOKENS } from '../ui/tokens.ts';
import { type ConsoleRequest, queryOf } from './console-request.ts';
import { unsaidRefusal } from './form-components.ts';
import { accountLine, type MenuCounts, type MenuKey, menuCounts, sideMenu, tabBar } from './menu.ts';
import { type ConsoleMessages, LANGUAGE_CODES, LANGUAGES } from './messages.ts';
import { noticeBox } from './notice-box.ts';
import { MAKERS } from './route.ts';

const STYLE = styleFile(new URL('./console.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./console.js', import.meta.url));
const SEARCH_STYLE = styleFile(new URL('./search.css', import.meta.url));
const SEARCH_SCRIPT = scriptFile(new URL('./search.js', import.meta.url));
const PASSKEY_SCRIPT = scriptFile(new URL('./passkey.js', import.meta.url));

/** A whole SMS may be pasted. */
const MAX_SEARCH_CHARACTERS = 1_000;

type NoticeKey = keyof ConsoleMessages['notices'];

export type ConsoleContent = {
  title: string;
  /** For the tab of the browser, behind the title: what tells this page from others that are called the same. */
  titleDetail?: string;
  /** Where the page is, above its title. */
  breadcrumbs?: Html;
  /** Beside the title, such as a status. */
  badge?: Html;
  /** One sentence under the title. */
  lead?: HtmlValue;
  body: Html;
  active?: MenuKey;
  status?: number;
  /** Buttons beside the title. */
  actions?: Html;
  /** The script loads the page again every so many seconds. */
  live?: number;
  /** Without menu and header, as for visitors who are not signed in. */
  alone?: boolean;
  /** For admins: no money leaves the gateway until one of them has looked. */
  historyLost?: boolean;
  /** The page has a form for passkeys, which needs a script. */
  passkeys?: boolean;
  /** Style sheets and scripts that only this page has. */
  styles?: readonly Inline[];
  scripts?: readonly Inline[];
};

export function layoutPage(request: ConsoleRequest, content: ConsoleContent, counts: MenuCounts = {}): HtmlPage {
  const { t, ctx } = request;
  const alone = content.alone === true || request.session === null;
  const page = main(request, content);
  return {
    language: request.language,
    theme: request.theme,
    title: [content.title, content.titleDetail, shownBrand(ctx.config)].filter(Boolean).join(' – '),
    icon: '/favicon.svg',
    styles: [TOKENS, COMPONENTS, STYLE, ...(alone ? [] : [SEARCH_STYLE]), ...(content.styles ?? [])],
    scripts: [
      SCRIPT,
      ...(alone ? [] : [SEARCH_SCRIPT]),
      ...(content.passkeys ? [PASSKEY_SCRIPT] : []),
      ...(content.scripts ?? []),
    ],
    referrer: 'same-origin',
    attributes: html`
      class="${alone ? 'alone' : 'in'}"
      ${content.live !== undefined && html` data-live="${content.live}"`}
    `,
    ...(content.status === undefined ? {} : { status: content.status }),
    body: html`
      <a class="skip" href="#main">${t.skip}</a>
      ${alone ? aloneShell(request, page) : shell(request, { active: content.active, counts, page })}
      <p id="say" role="status" class="skip"></p>
    `,
  };
}

/** A page without menu: the brand, the card in the middle, the languages. */
function aloneShell(request: ConsoleRequest, page: Html): Html {
  return html`
    <header class="alone-head">${brandLink(brandOf(request.ctx.config), '/')}${sandboxMark(request)}</header>
    ${page}
    <footer>${languageLinks(request)}</footer>
  `;
}

type ShellParts = { active: MenuKey | undefined; counts: MenuCounts; page: Html };

function shell(request: ConsoleRequest, { active, counts, page }: ShellParts): Html {
  return html`
    <div class="shell">
      <aside class="side" aria-label="${request.t.menuLabel}">
        <div class="side-content">
          ${brandLink(brandOf(request.ctx.config), '/console')}
          ${sideMenu(request, active, counts)}
          ${accountLine(request)}
        </div>
      </aside>
      <div class="page">
        ${topbar(request)}
        ${page}
        <footer>${languageLinks(request)}</footer>
      </div>
    </div>
    ${tabBar(request, active, counts)}
  `;
}

export async function renderPage(request: ConsoleRequest, content: ConsoleContent): Promise<FastifyReply> {
  const isAdmin = request.session?.member.is_admin === true;
  const historyLost = isAdmin && (await findLostHead(request.ctx)) !== null;
  const { live: _, ...still } = content;
  // A page that renews itself would lose what was typed.
  const shown = request.refused ? { ...still, status: request.refused.status } : content;
  return sendPage(
    request.raw,
    request.reply,
    layoutPage(request, { ...shown, historyLost }, await menuCounts(request)),
  );
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
      ${notice && html`<p class="box ${done === 'repeatStep' ? 'warning' : 'success'}" role="status">${notice}</p>`}
      ${unsaidRefusal(request)}
      ${content.historyLost === true && html`<p class="box error" role="alert">${t.system.payoutsStopped}</p>`}
      ${content.alone !== true && noticeBox(request)}
      <div class="page-head">
        <div>
          ${content.breadcrumbs}
          <h1>${content.title}${content.badge && html` ${content.badge}`}</h1>
          ${content.lead && html`<p class="lead">${content.lead}</p>`}
        </div>
        ${content.actions && html`<div class="actions">${content.actions}</div>`}
      </div>
      ${content.body}
    </main>
  `;
}

/** Nobody may take test money for real money, on any page. */
function sandboxMark({ ctx, t }: ConsoleRequest): Html | false {
  return ctx.config.mode === 'sandbox' && html`<span class="sandbox-mark" title="${t.sandbox}">${t.sandboxMark}</span>`;
}

function topbar(request: ConsoleRequest): Html {
  const { t, holder, ctx } = request;
  return html`
    <header class="topbar">
      <a class="phone-only" href="/console" aria-label="${t.menu.home}">${brandOf(ctx.config).mark}</a>
      ${holder && searchForm(request)}
      ${sandboxMark(request)}
      <div class="topbar-actions">
        ${
          ctx.config.mode === 'sandbox' &&
          html`
            <a class="button button-secondary" href="/sandbox/phone" target="_blank" rel="noopener">
              ${icon('smartphone')}${t.testPhone}
            </a>
          `
        }
        ${newMenu(request)}
      </div>
    </header>
  `;
}

/** What can be started from every page. */
function newMenu({ t, role }: ConsoleRequest): Html | false {
  if (role === null || !MAKERS.includes(role)) return false;
  return menuButton(html`${icon('plus')}${t.newMenu.label}`, [
    { label: t.newMenu.link, href: '/console/links/new', icon: 'link' },
    { label: t.newMenu.payout, href: '/console/payouts/new', icon: 'send' },
    { label: t.newMenu.integration, href: '/console/integrations', icon: 'plug' },
  ]);
}

function searchForm(request: ConsoleRequest): Html {
  const { t } = request;
  return html`
    <form class="search" action="/console/search" role="search">
      ${icon('search')}
      <input id="q" name="q" type="search" aria-label="${t.search}" placeholder="${t.searchHint}"
        value="${queryOf(request, 'q', MAX_SEARCH_CHARACTERS)}" maxlength="${MAX_SEARCH_CHARACTERS}">
      <kbd aria-hidden="true">Ctrl K</kbd>
    </form>
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
