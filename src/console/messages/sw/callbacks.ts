// Swahili: callbacks and the request log.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

export const callbacks: Pick<ConsoleMessages, 'callbacks' | 'requests'> = {
  callbacks: {
    lead: 'Matukio yaliyotumwa kwa seva yako, na majibu yake. Zisizofika hutumwa tena kwa siku 30.',
    none: 'Bado hakuna callback',
    noneText: 'Malipo yanapoisha, ujumbe wenye saini hutumwa kwa callback URL yako. Weka URL kwenye muunganisho.',
    noneYet: 'Bado hakuna callback.',
    deletedByAge: 'Callback hutunzwa kwa siku 90. Za malipo haya zimefutwa.',
    event: 'Tukio',
    url: 'URL',
    attemptCount: 'Majaribio',
    attempts: (count) => plural(count, 'jaribio', 'majaribio'),
    response: 'Jibu',
    body: 'Ujumbe',
    feedOnly: 'hakuna URL; iko kwenye orodha ya matukio',
    next: 'Jaribio linalofuata',
    resend: 'Tuma tena',
    replay: 'Tuma tena callback zilizoshindikana',
    replayText: 'Kila callback tangu siku hii ambayo haikufika itatumwa tena.',
    replaySince: 'Tangu',
    replayDayMissing: 'Chagua siku ya kwanza.',
    resume: 'Endelea kutuma callback',
    endpoints: 'Callback URL',
    newest: (count) => `Kati ya callback ${count} za mwisho`,
    deliveredOf: (delivered, all) => `${delivered} kati ya ${all} zimefika`,
    givenUpCount: (count) => `${count} zimeachwa`,
    working: 'Inafanya kazi',
    failing: 'Haifanyi kazi',
    failingSince: 'Haifanyi kazi tangu',
    pausedSince: 'Ilijibu 410 Gone. Callback kwenda huko zimesimamishwa tangu',
    receiver: 'Kipokezi cha majaribio',
    viewTransaction: 'Ona muamala',
    states: {
      waiting: 'Inasubiri',
      retrying: 'Inajaribiwa tena',
      paused: 'Imesimamishwa',
      delivered: 'Imefika',
      given_up: 'Imeachwa',
      feed_only: 'Orodha ya matukio tu',
    },
  },
  requests: {
    unverified: 'Hayajathibitishwa',
    unverifiedText:
      'Yalikataliwa kabla ya saini kuthibitishwa, kwa hiyo yeyote anayejua client_id anaweza kuwa aliyatuma. ' +
      'Machache huhifadhiwa kwa wiki moja.',
    lead: 'Maombi ya API ya miunganisho yako ya siku 30 zilizopita. Yaliyomo kwenye maombi hayahifadhiwi.',
    off: 'Rekodi ya maombi imezimwa (REQUEST_LOG=off).',
    none: 'Bado hakuna maombi',
    noneText: 'Maombi ya miunganisho yako huonekana hapa kama sekunde moja baada ya jibu.',
    request: 'Ombi',
    result: 'Matokeo',
    accepted: 'Limekubaliwa',
    rejected: 'Limekataliwa',
    serverError: 'Hitilafu ya seva',
    code: 'Msimbo wa kosa',
    duration: 'Muda',
  },
};
