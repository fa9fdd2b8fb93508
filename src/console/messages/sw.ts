// The console in Swahili.

import type { ConsoleMessages } from './en.ts';
import { account } from './sw/account.ts';
import { admin } from './sw/admin.ts';
import { audit } from './sw/audit.ts';
import { balances } from './sw/balances.ts';
import { books } from './sw/books.ts';
import { callbacks } from './sw/callbacks.ts';
import { cases } from './sw/cases.ts';
import { common } from './sw/common.ts';
import { float } from './sw/float.ts';
import { home } from './sw/home.ts';
import { integrations } from './sw/integrations.ts';
import { links } from './sw/links.ts';
import { mails } from './sw/mails.ts';
import { notifications } from './sw/notifications.ts';
import { payouts } from './sw/payouts.ts';
import { rails } from './sw/rails.ts';
import { search } from './sw/search.ts';
import { settings } from './sw/settings.ts';
import { settlements } from './sw/settlements.ts';
import { signIn } from './sw/sign-in.ts';
import { start } from './sw/start.ts';
import { statements } from './sw/statements.ts';
import { team } from './sw/team.ts';
import { transaction } from './sw/transaction.ts';
import { transactions } from './sw/transactions.ts';

export const swahili: ConsoleMessages = {
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
