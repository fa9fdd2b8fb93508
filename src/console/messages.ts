// The languages of the console. English defines the type: a translation that lacks a message does not compile.

import type { ConsoleMessages } from './messages/en.ts';

export type { ConsoleMessages } from './messages/en.ts';
export const LANGUAGE_CODES = ['en', 'fr', 'pt', 'sw'] as const;
export type ConsoleLanguage = (typeof LANGUAGE_CODES)[number];

type Language = { name: string; load(): Promise<ConsoleMessages> };

/** The texts of a language are loaded with the first page in it: a megabyte each, and few gateways need all. */
export const LANGUAGES: Readonly<Record<ConsoleLanguage, Language>> = {
  en: { name: 'English', load: async () => (await import('./messages/en.ts')).english },
  fr: { name: 'Français', load: async () => (await import('./messages/fr.ts')).french },
  pt: { name: 'Português', load: async () => (await import('./messages/pt.ts')).portuguese },
  sw: { name: 'Kiswahili', load: async () => (await import('./messages/sw.ts')).swahili },
};
