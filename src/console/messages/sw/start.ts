// Swahili: the first sign-in, the first minute and the sample shop.

import type { ConsoleMessages } from '../en.ts';

type Start = Pick<
  ConsoleMessages,
  'welcome' | 'forgot' | 'signInAgain' | 'signInIntro' | 'sandboxSignIn' | 'docsLink' | 'sampleShop' | 'firstMinute'
>;

export const start: Start = {
  welcome: {
    title: 'Chagua jinsi ya kuingia wakati mwingine',
    lead: 'Kiungo chako cha mara moja kimetumika. Weka nenosiri au ongeza passkey sasa, ili usihitaji kiungo tena.',
    password: 'Weka nenosiri',
    or: 'Au ongeza passkey',
    skip: 'Ruka kwa sasa',
    skipText: 'Kwenye majaribio unaweza kufanya hivi baadaye, kwenye wasifu wako.',
  },
  forgot: 'Umesahau nenosiri?',
  signInAgain: 'Toka kisha ingia tena',
  signInIntro: 'Ona malipo, tuma pesa na unda viungo vya malipo.',
  sandboxSignIn: 'Terminal ambako mfumo ulianzishwa inaonyesha kiungo cha kuingia. Kupata kipya, andika humo:',
  docsLink: 'Mwongozo',
  sampleShop: {
    title: 'Duka la mfano',
    lead: 'Duka la Nairobi lenye siku sitini za malipo, pesa zilizorudishwa na kutumwa, na ukaguzi mmoja. Yote ni ya majaribio.',
    open: 'Fungua duka la mfano',
    making: 'Tunaandaa siku sitini za malipo…',
    makingText: 'Inachukua sekunde chache, mara moja tu. Ukurasa unajisasisha wenyewe.',
    back: 'Ili kurudi, badilisha akaunti chini ya jina lako kwenye menyu.',
  },
  firstMinute: {
    title: 'Dakika yako ya kwanza',
    done: (count, of) => `${count} kati ya ${of} zimekamilika`,
    payment: 'Unda malipo ya majaribio',
    paymentText: 'Tumia fomu ya ukurasa huu. Inaomba pesa kwenye simu ya majaribio.',
    phone: 'Yaidhinishe kwenye simu ya majaribio',
    phoneText: 'Andika tarakimu zozote nne kama PIN.',
    phoneButton: 'Fungua simu',
    callback: 'Ona callback ikifika',
    callbackText: 'Seva yako ingepokea ujumbe huu. Kipokezi cha mfumo kinauonyesha.',
    callbackButton: 'Fungua kipokezi',
    request: 'Tuma ombi lako mwenyewe',
    requestText: 'Kwa API key yako, kutoka kwenye programu yako.',
    requestButton: 'Anza haraka',
    stepDone: 'Imekamilika',
  },
};
