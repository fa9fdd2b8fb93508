// Swahili: mails.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';

export const mails: Pick<ConsoleMessages, 'mails'> = {
  mails: {
    sentTitle: 'Angalia barua pepe yako',
    caught: 'Barua pepe za mfumo huu wa majaribio hazitoki nje.',
    box: 'Fungua sanduku la barua',
    sent: (email) => `Kama ${email} inaweza kutumika, barua inaelekea huko. Kiungo chake hutumika mara moja.`,
    invitation: ({ by, holder, role, url }) => ({
      subject: 'Umealikwa',
      text: paragraphs(
        `${by} anakualika kujiunga na "${holder}". Jukumu lako: ${role}.`,
        url,
        'Kiungo hutumika mara moja, kwa siku saba. Kama hukutarajia mwaliko huu, ipuuze barua hii.',
      ),
    }),
    signUp: (url) => ({
      subject: 'Thibitisha barua pepe yako',
      text: paragraphs(
        'Mtu anataka kufungua akaunti kwa barua pepe yako. Ithibitishe na uchague nenosiri:',
        url,
        'Kiungo hutumika mara moja, kwa siku moja. Kama si wewe, ipuuze barua hii: hakuna akaunti itakayofunguliwa.',
      ),
    }),
    signUpTaken: (url) => ({
      subject: 'Tayari una akaunti',
      text: paragraphs(
        'Mtu alitaka kufungua akaunti kwa barua pepe yako. Tayari unayo:',
        url,
        'Kama si wewe, ipuuze barua hii: hakuna kilichobadilika.',
      ),
    }),
    loginLink: (url) => ({
      subject: 'Kiungo chako cha kuingia',
      text: paragraphs(
        'Mtu ameomba kiungo cha kuingia kwenye akaunti yako:',
        url,
        'Kiungo hutumika mara moja, kwa dakika 30. Kama si wewe, ipuuze barua hii.',
      ),
    }),
    roleWaits: ({ email, role, holder, url }) => ({
      subject: 'Jukumu linasubiri kuthibitishwa',
      text: paragraphs(
        `${email} atapewa jukumu katika "${holder}" linaloweza kuidhinisha pesa: ${role}.`,
        'Litaanza mmiliki wa pili atakapolithibitisha, au baada ya saa 24. Hadi hapo kila mmiliki anaweza kulighairi:',
        url,
      ),
    }),
    destinationWaits: ({ by, holder, currency, destination, url }) => ({
      subject: 'Mahali pa kutuma pesa za akaunti pamebadilishwa',
      text: paragraphs(
        `${by} amebadilisha mahali pa kutuma pesa za ${currency} za "${holder}": ${destination}.`,
        'Patapokea pesa baada ya saa 24. Kama hukutarajia hili, rudisha pa awali na uangalie timu yako:',
        url,
      ),
    }),
  },
};
