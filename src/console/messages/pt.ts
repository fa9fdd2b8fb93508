// The console in Portuguese.

import type { ConsoleMessages } from './en.ts';
import { account } from './pt/account.ts';
import { admin } from './pt/admin.ts';
import { audit } from './pt/audit.ts';
import { balances } from './pt/balances.ts';
import { books } from './pt/books.ts';
import { callbacks } from './pt/callbacks.ts';
import { cases } from './pt/cases.ts';
import { common } from './pt/common.ts';
import { float } from './pt/float.ts';
import { home } from './pt/home.ts';
import { integrations } from './pt/integrations.ts';
import { links } from './pt/links.ts';
import { mails } from './pt/mails.ts';
import { notifications } from './pt/notifications.ts';
import { payouts } from './pt/payouts.ts';
import { rails } from './pt/rails.ts';
import { search } from './pt/search.ts';
import { settings } from './pt/settings.ts';
import { settlements } from './pt/settlements.ts';
import { signIn } from './pt/sign-in.ts';
import { start } from './pt/start.ts';
import { statements } from './pt/statements.ts';
import { team } from './pt/team.ts';
import { transaction } from './pt/transaction.ts';
import { transactions } from './pt/transactions.ts';

export const portuguese: ConsoleMessages = {
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
