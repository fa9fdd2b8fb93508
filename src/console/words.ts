// The languages of the console. A catalogue is complete or it does not compile: English is the pattern of the others.

import { english } from './words-en.ts';
import { french } from './words-fr.ts';

export type { Words } from './words-en.ts';
export type ConsoleLanguage = 'en' | 'fr';

export const LANGUAGES = {
  en: { name: 'English', words: english },
  fr: { name: 'Français', words: french },
} as const;
