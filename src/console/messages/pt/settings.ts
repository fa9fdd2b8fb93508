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
    receiptTexts: {
      title: 'Recibos por SMS',
      text: 'Depois de um pagamento, o pagador recebe um SMS com o montante, o seu nome e o endereço do recibo.',
      label: 'Enviar um recibo por SMS',
      on: 'Ativado',
      off: 'Desativado',
      reachesAll: 'Chega aos pagadores de todas as formas de pagamento móvel que usa.',
      reaches: (methods) => `Chega aos pagadores de: ${methods}. As outras operadoras não o podem enviar.`,
      reachesNone: 'Nenhuma das suas operadoras pode ainda enviar SMS. A MTN MoMo pode.',
    },
  },
};
