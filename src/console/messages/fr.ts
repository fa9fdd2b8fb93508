// The console in French.

import { withFrenchSpaces } from '../../platform/french-spaces.ts';
import type { ConsoleMessages } from './en.ts';
import { account } from './fr/account.ts';
import { admin } from './fr/admin.ts';
import { audit } from './fr/audit.ts';
import { balances } from './fr/balances.ts';
import { books } from './fr/books.ts';
import { callbacks } from './fr/callbacks.ts';
import { cases } from './fr/cases.ts';
import { common } from './fr/common.ts';
import { float } from './fr/float.ts';
import { home } from './fr/home.ts';
import { integrations } from './fr/integrations.ts';
import { links } from './fr/links.ts';
import { mails } from './fr/mails.ts';
import { notifications } from './fr/notifications.ts';
import { payouts } from './fr/payouts.ts';
import { rails } from './fr/rails.ts';
import { search } from './fr/search.ts';
import { settings } from './fr/settings.ts';
import { settlements } from './fr/settlements.ts';
import { signIn } from './fr/sign-in.ts';
import { start } from './fr/start.ts';
import { statements } from './fr/statements.ts';
import { team } from './fr/team.ts';
import { transaction } from './fr/transaction.ts';
import { transactions } from './fr/transactions.ts';

export const french: ConsoleMessages = withFrenchSpaces({
  ...common,
  ...signIn,
  ...start,
  ...account,
  ...mails,
  ...home,
  ...integrations,
  ...transactions,
  ...search,
  ...transaction,
  ...links,
  ...balances,
  ...settlements,
  ...payouts,
  ...notifications,
  ...cases,
  ...callbacks,
  ...settings,
  ...team,
  ...admin,
  ...audit,
  ...rails,
  ...statements,
  ...books,
  ...float,
});
