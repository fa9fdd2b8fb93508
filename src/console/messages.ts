// The languages of the console. English defines the type: a translation that lacks a message does not compile.

import { english } from './messages/en.ts';
import { french } from './messages/fr.ts';
import { portuguese } from './messages/pt.ts';
import { swahili } from './messages/sw.ts';

export type { ConsoleMessages } from './messages/en.ts';
export const LANGUAGE_CODES = ['en', 'fr', 'pt', 'sw'] as const;
export type ConsoleLanguage = (typeof LANGUAGE_CODES)[number];

export const LANGUAGES = {
  en: { name: 'English', messages: english },
  fr: { name: 'Français', messages: french },
  pt: { name: 'Português', messages: portuguese },
  sw: { name: 'Kiswahili', messages: swahili },
} as const;
