// The journeys by the names of those who make them.

import { booksJourney } from './books.ts';
import { developerJourney } from './developer.ts';
import { financeJourney } from './finance.ts';
import { lostPaymentJourney } from './lost-payment.ts';
import { merchantJourney } from './merchant.ts';
import { operationsJourney } from './operations.ts';
import { payerJourney } from './payer.ts';
import type { JourneySetup } from './traveller.ts';

/** Each answers the pages it crossed. */
export const JOURNEYS: Readonly<Record<string, (setup: JourneySetup) => Promise<string[]>>> = {
  merchant: merchantJourney,
  developer: developerJourney,
  payer: payerJourney,
  'finance officer': financeJourney,
  operations: operationsJourney,
  'lost payment': lostPaymentJourney,
  // The last one: it begins a day of its own.
  books: booksJourney,
};
