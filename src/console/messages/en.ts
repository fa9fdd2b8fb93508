// The console in English. The other languages have the same shape: see messages.ts.

import { account } from './en/account.ts';
import { admin } from './en/admin.ts';
import { audit } from './en/audit.ts';
import { balances } from './en/balances.ts';
import { books } from './en/books.ts';
import { callbacks } from './en/callbacks.ts';
import { cases } from './en/cases.ts';
import { common } from './en/common.ts';
import { float } from './en/float.ts';
import { home } from './en/home.ts';
import { integrations } from './en/integrations.ts';
import { links } from './en/links.ts';
import { mails } from './en/mails.ts';
import { notifications } from './en/notifications.ts';
import { payouts } from './en/payouts.ts';
import { rails } from './en/rails.ts';
import { search } from './en/search.ts';
import { settings } from './en/settings.ts';
import { settlements } from './en/settlements.ts';
import { signIn } from './en/sign-in.ts';
import { start } from './en/start.ts';
import { statements } from './en/statements.ts';
import { team } from './en/team.ts';
import { transaction } from './en/transaction.ts';
import { transactions } from './en/transactions.ts';

export type ConsoleMessages = typeof english;

export const english = {
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
};
