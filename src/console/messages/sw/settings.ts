// Swahili: the settings of an account.

import type { ConsoleMessages } from '../en.ts';

export const settings: Pick<ConsoleMessages, 'accountSettings' | 'dayLimits'> = {
  dayLimits: {
    title: 'Vikomo vya siku',
    lead: 'Kiwango cha juu kwa siku ya saa za eneo lako. Kilichoshindwa hakihesabiwi.',
    none: 'Hakuna kikomo.',
    of: 'Huhesabiwa pamoja',
    subjects: { holder: 'Vyote', member: 'Kila mwanachama wa timu', number: 'Kila nambari ya simu' },
    setBy: 'Kimewekwa na',
    setters: { gateway: 'Mfumo', holder: 'Wewe' },
    amount: 'Kiasi kwa siku',
    count: 'Idadi kwa siku',
    hint: 'Acha zote mbili tupu ili kuondoa kikomo.',
    invalid: 'Andika kiasi, au nambari kamili.',
    blocked: 'Nambari zilizozuiwa',
    blockedLead: 'Nambari hizi haziombwi chochote, na hazitumiwi chochote.',
    number: 'Nambari ya simu',
    numberHint: 'Pamoja na namba ya nchi: +256 772 123 456.',
    numberInvalid: 'Andika namba ya simu pamoja na namba ya nchi: +256 772 123 456.',
    reason: 'Sababu',
    block: 'Zuia',
    unblock: 'Ondoa zuio',
    reserve: 'Akiba inayozunguka',
    reserveLead: 'Sehemu hii ya kila makusanyo huzuiliwa kwa siku kadhaa. Tupu: hakuna kinachozuiliwa tena.',
    percent: 'Asilimia',
    days: 'Siku',
  },
  accountSettings: {
    lead: 'Kwa kila mtu kwenye akaunti hii.',
    business: 'Biashara',
    name: 'Jina la biashara',
    nameHint: 'Timu yako inaliona. Walipaji wanaona jina lililo kwenye kiungo cha malipo.',
    timeZone: 'Saa za eneo',
    timeZoneHint:
      'Siku zako zinaanza usiku wa manane wa eneo hilo. Hesabu za siku zilizopita hufanywa upya ukibadilisha.',
    timeZoneInvalid: 'Chagua saa za eneo kutoka kwenye orodha.',
    ownerOnly: 'Mmiliki pekee anaweza kubadilisha hili.',
    language: 'Lugha',
    languageText: 'Kwako, kwenye kivinjari hiki.',
    receiptTexts: {
      title: 'Risiti kwa SMS',
      text: 'Baada ya malipo, mlipaji anapata SMS moja yenye kiasi, jina lako na anwani ya risiti.',
      label: 'Tuma risiti kwa SMS',
      on: 'Imewashwa',
      off: 'Imezimwa',
      reachesAll: 'Inawafikia walipaji wa kila njia ya pesa za simu unayotumia.',
      reaches: (methods) => `Inawafikia walipaji wa: ${methods}. Mitandao mingine haiwezi kuituma.`,
      reachesNone: 'Hakuna mtandao wako unaoweza kutuma SMS kwa sasa. MTN MoMo inaweza.',
    },
  },
};
