// Pages and actions that the search box finds by their name, or by another word for them.

import type { ConsoleRequest } from './console-request.ts';
import { menuPages } from './menu.ts';
import type { ConsoleMessages } from './messages.ts';
import { type Access, BUILDERS, EVERYONE, MAKERS, OWNER, TREASURERS } from './route.ts';

export type PageHit = { label: string; path: string; icon: string };

type ActionKey = keyof ConsoleMessages['find']['actions'];
type Action = { key: ActionKey; path: string; icon: string; roles: Access };

const ACTIONS: readonly Action[] = [
  { key: 'newLink', path: '/console/links/new', icon: 'link', roles: MAKERS },
  { key: 'newPayout', path: '/console/payouts/new', icon: 'send', roles: TREASURERS },
  { key: 'importPayouts', path: '/console/payouts/import', icon: 'upload', roles: TREASURERS },
  { key: 'newIntegration', path: '/console/integrations/new', icon: 'plug', roles: BUILDERS },
  { key: 'invite', path: '/console/team', icon: 'users', roles: OWNER },
  { key: 'security', path: '/console/account', icon: 'shield', roles: EVERYONE },
  { key: 'exportTransactions', path: '/console/transactions.csv', icon: 'download', roles: EVERYONE },
];

/** Those of which a part begins with every word that was typed; where the name itself does, first. */
export function findPages(request: ConsoleRequest, typed: string, limit: number): PageHit[] {
  const { t, role } = request;
  const wanted = partsOf(typed);
  if (wanted.length === 0) return [];
  const actions = ACTIONS.filter(({ roles }) => role !== null && roles.includes(role)).map((action) => ({
    ...action,
    label: t.find.actions[action.key],
  }));
  const found = [...menuPages(request), ...actions].flatMap(({ key, label, path, icon }) => {
    const name = partsOf(label);
    const all = [...name, ...partsOf(t.find.otherNames[key] ?? '')];
    if (!wanted.every((word) => all.some((each) => each.startsWith(word)))) return [];
    const byName = wanted.every((word) => name.some((each) => each.startsWith(word)));
    return [{ label, path, icon, byName }];
  });
  return found
    .sort((left, right) => Number(right.byName) - Number(left.byName))
    .slice(0, limit)
    .map(({ label, path, icon }) => ({ label, path, icon }));
}

/** Lower case, without accents. */
function partsOf(text: string): string[] {
  const plain = text.normalize('NFD').replace(/\p{Diacritic}/gu, '');
  return plain.toLowerCase().match(/[\p{Letter}\p{Number}]+/gu) ?? [];
}
