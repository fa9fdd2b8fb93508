// Swahili: the team.

import type { ConsoleMessages } from '../en.ts';

export const team: Pick<ConsoleMessages, 'team'> = {
  team: {
    lead: 'Watu wa akaunti hii na majukumu yao.',
    role: 'Jukumu',
    remove: 'Ondoa kwenye timu',
    removeMeaning: (name) => `${name} hataweza kutumia akaunti hii tena, kuanzia sasa hivi. Unaweza kumwalika tena.`,
    joined: 'Kwenye timu tangu',
    on: 'Hatua mbili zimewashwa',
    off: 'Hatua mbili zimezimwa',
    resend: 'Tuma tena',
    invite: 'Alika',
    invited: 'Mwaliko uko tayari',
    invitedText: (email) => `Tuma kiungo hiki kwa ${email}. Kinatumika mara moja na kinaonyeshwa hapa tu.`,
    open: 'Mialiko inayosubiri',
    until: 'Unatumika hadi',
    withdraw: 'Ondoa',
    lastOwner: 'Akaunti inahitaji angalau mmiliki mmoja.',
    unproven: 'anwani haijathibitishwa',
    mailedText: (email) => `Tumetuma kiungo kwa ${email}. Kinatumika mara moja.`,
    waiting: 'Majukumu yanayosubiri',
    waitingText:
      'Kutuma pesa kunapohitaji mtu wa pili, jukumu linaloweza kuidhinisha huanza mmiliki mwingine akilithibitisha, au baada ya ' +
      'saa 24. Wamiliki na mhusika wanaweza kulighairi.',
    permissions: {
      owner: 'kila kitu, pamoja na timu',
      developer: 'miunganisho, siri, callback, kukagua saini, viungo vya malipo',
      finance: 'kutuma na kurudisha pesa, ukaguzi, viungo vya malipo',
      viewer: 'kuona tu',
    },
  },
};
