// Portuguese: the settings of an account.

import type { ConsoleMessages } from '../en.ts';

export const settings: Pick<ConsoleMessages, 'accountSettings'> = {
  accountSettings: {
    lead: 'Para todas as pessoas desta conta.',
    business: 'Empresa',
    name: 'Nome da empresa',
    nameHint: 'A sua equipa vê-o. Os pagadores veem o nome da ligação de pagamento.',
    timeZone: 'Fuso horário',
    timeZoneHint: 'Os seus dias começam aí à meia-noite. Após uma alteração, os dias passados são contados de novo.',
    timeZoneInvalid: 'Escolha um fuso horário da lista.',
    ownerOnly: 'Só um proprietário pode alterar isto.',
    language: 'Idioma',
    languageText: 'Para si, neste navegador.',
  },
};
