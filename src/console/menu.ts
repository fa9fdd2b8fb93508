// The menu: groups beside the page on a desktop; on a phone five tabs below it, and the rest behind the last of them.

import type { MemberRole } from '../holders/members.ts';
import { countOpenCases } from '../payments/case-list.ts';
import { countWaitingApprovals } from '../payments/payout-orders.ts';
import { countWaitingRefunds } from '../payments/refund-orders.ts';
import { type Html, html } from '../platform/html.ts';
import { icon } from '../ui/icons.ts';
import type { ConsoleRequest } from './console-request.ts';
import { postButton, postForm } from './form-components.ts';
import type { ConsoleMessages } from './messages.ts';
import { BUILDERS, EVERYONE } from './route.ts';

export type MenuKey = keyof ConsoleMessages['menu'];
type GroupKey = keyof ConsoleMessages['menuGroups'];
type Item = { key: MenuKey; path: string; icon: string; roles: readonly MemberRole[] | 'admin' };
type Group = { key: GroupKey | null; items: readonly Item[] };

const GROUPS: readonly Group[] = [
  {
    key: null,
    items: [
      { key: 'home', path: '/console', icon: 'house', roles: EVERYONE },
      { key: 'transactions', path: '/console/transactions', icon: 'arrow-up-down', roles: EVERYONE },
      { key: 'links', path: '/console/links', icon: 'link', roles: EVERYONE },
      { key: 'payouts', path: '/console/payouts', icon: 'send', roles: EVERYONE },
      { key: 'balances', path: '/console/balances', icon: 'wallet', roles: EVERYONE },
      { key: 'settlements', path: '/console/settlements', icon: 'landmark', roles: EVERYONE },
      { key: 'cases', path: '/console/cases', icon: 'flag', roles: EVERYONE },
    ],
  },
  {
    key: 'developers',
    items: [
      { key: 'integrations', path: '/console/integrations', icon: 'plug', roles: EVERYONE },
      { key: 'debugger', path: '/console/debugger', icon: 'bug', roles: BUILDERS },
      { key: 'callbacks', path: '/console/callbacks', icon: 'bell', roles: EVERYONE },
      { key: 'requests', path: '/console/requests', icon: 'list', roles: EVERYONE },
      { key: 'docs', path: '/docs', icon: 'book-open', roles: EVERYONE },
    ],
  },
  {
    key: 'account',
    items: [
      { key: 'team', path: '/console/team', icon: 'users', roles: EVERYONE },
      { key: 'audit', path: '/console/audit', icon: 'scroll-text', roles: EVERYONE },
      { key: 'settings', path: '/console/settings', icon: 'settings', roles: EVERYONE },
      { key: 'notifications', path: '/console/notifications', icon: 'mail', roles: EVERYONE },
      { key: 'account', path: '/console/account', icon: 'user', roles: EVERYONE },
    ],
  },
  {
    key: 'gateway',
    items: [
      { key: 'admin', path: '/console/admin', icon: 'store', roles: 'admin' },
      { key: 'rails', path: '/console/admin/rails', icon: 'cable', roles: 'admin' },
      { key: 'allCases', path: '/console/admin/cases', icon: 'flag', roles: 'admin' },
      { key: 'reports', path: '/console/admin/reports', icon: 'inbox', roles: 'admin' },
      { key: 'books', path: '/console/admin/books', icon: 'calendar', roles: 'admin' },
      { key: 'debts', path: '/console/admin/debts', icon: 'hand-coins', roles: 'admin' },
      { key: 'ledger', path: '/console/admin/ledger', icon: 'scale', roles: 'admin' },
      { key: 'limits', path: '/console/admin/limits', icon: 'gauge', roles: 'admin' },
      { key: 'system', path: '/console/admin/system', icon: 'server', roles: 'admin' },
      { key: 'auditExport', path: '/console/admin/audit', icon: 'scroll-text', roles: 'admin' },
    ],
  },
];

const TABS: readonly MenuKey[] = ['home', 'transactions', 'links', 'payouts'];

/** The pages of the menu that this person sees, for the search. */
export function menuPages(request: ConsoleRequest): { key: MenuKey; label: string; path: string; icon: string }[] {
  const items = GROUPS.flatMap((group) => group.items).filter((item) => isShown(request, item));
  return items.map(({ key, path, icon: name }) => ({ key, label: request.t.menu[key], path, icon: name }));
}

/** How much waits behind an entry of the menu. */
export type MenuCounts = Partial<Record<MenuKey, number>>;

export async function menuCounts({ ctx, holder }: ConsoleRequest): Promise<MenuCounts> {
  if (!holder) return {};
  const [payouts, refunds, cases] = await Promise.all([
    countWaitingApprovals(ctx.db, holder.id),
    countWaitingRefunds(ctx.db, holder.id),
    countOpenCases(ctx.db, holder.id),
  ]);
  return { payouts: payouts + refunds, cases: [...cases.values()].reduce((sum, count) => sum + count, 0) };
}

export function sideMenu(request: ConsoleRequest, active: MenuKey | undefined, counts: MenuCounts): Html {
  const { t } = request;
  return html`<nav class="menu" aria-label="${t.menuLabel}">${groups(request, active, counts)}</nav>`;
}

function groups(request: ConsoleRequest, active: MenuKey | undefined, counts: MenuCounts): Html[] {
  const { t } = request;
  return GROUPS.flatMap(({ key, items }) => {
    const shown = items.filter((item) => isShown(request, item));
    if (shown.length === 0) return [];
    return [
      html`
        ${key && html`<p class="menu-heading">${t.menuGroups[key]}</p>`}
        <ul>${shown.map((item) => html`<li>${itemLink(request, item, active, counts)}</li>`)}</ul>
      `,
    ];
  });
}

function isShown({ role, session }: ConsoleRequest, { roles }: Item): boolean {
  if (roles === 'admin') return session?.member.is_admin === true;
  return role !== null && roles.includes(role);
}

function itemLink({ t }: ConsoleRequest, item: Item, active: MenuKey | undefined, counts: MenuCounts): Html {
  const count = counts[item.key] ?? 0;
  return html`
    <a href="${item.path}"${item.key === active && html` aria-current="page"`}>
      ${icon(item.icon)}${t.menu[item.key]}
      ${count > 0 && html`<span class="count">${count}</span>`}
    </a>
  `;
}

/** The tabs of a phone. The last one unfolds the whole menu, without a script. */
export function tabBar(request: ConsoleRequest, active: MenuKey | undefined, counts: MenuCounts): Html {
  const { t } = request;
  const items = GROUPS.flatMap((group) => group.items);
  const tabs = TABS.flatMap((key) => items.filter((item) => item.key === key && isShown(request, item)));
  const tab = (item: Item) => html`
    <a href="${item.path}"${item.key === active && html` aria-current="page"`}>
      ${icon(item.icon)}<span>${t.tabs[item.key as keyof typeof t.tabs] ?? t.menu[item.key]}</span>
    </a>
  `;
  return html`
    <nav class="tabs phone-only" aria-label="${t.tabsLabel}">
      ${tabs.map(tab)}
      <details>
        <summary>${icon('ellipsis')}<span>${t.tabs.more}</span></summary>
        <div class="sheet menu">${groups(request, active, counts)}${accountLine(request)}</div>
      </details>
    </nav>
  `;
}

/** Who is signed in, for which account, and the way out. */
export function accountLine(request: ConsoleRequest): Html | false {
  const { t, holder, role, session, memberships } = request;
  if (!session) return false;
  const { email, name } = session.member;
  const shown = name ?? email;
  return html`
    <div class="account-line">
      ${memberships.length > 1 && holderSwitch(request)}
      <div class="who">
        <span class="avatar" aria-hidden="true">${initials(shown)}</span>
        <div>
          <b><a href="/console/account"><bdi>${shown}</bdi></a></b>
          <span class="muted"><bdi>${holder?.name}</bdi>${role && ` · ${t.roles[role]}`}</span>
        </div>
      </div>
      ${postButton(request, '/sign-out', t.signOut, { variant: 'link' })}
    </div>
  `;
}

function initials(name: string): string {
  const parts = name.split(/[\s@.]+/).filter(Boolean);
  return parts
    .slice(0, 2)
    .map((part) => part.slice(0, 1).toUpperCase())
    .join('');
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
