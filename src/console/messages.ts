// The languages of the console. A catalogue is complete or it does not compile: English is the pattern of the others.

import { english } from './messages-en.ts';
import { french } from './messages-fr.ts';

export type { ConsoleMessages } from './messages-en.ts';
export const LANGUAGE_CODES = ['en', 'fr'] as const;
export type ConsoleLanguage = (typeof LANGUAGE_CODES)[number];

export const LANGUAGES = {
  en: { name: 'English', messages: english },
  fr: { name: 'Français', messages: french },
} as const;
