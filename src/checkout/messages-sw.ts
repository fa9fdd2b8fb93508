// The hosted pages in Swahili.

import type { CheckoutMessages } from './messages.ts';

export const swahili: CheckoutMessages = {
  payTo: (business) => `Lipa ${business}`,
  pay: (amount) => `Lipa ${amount}`,
  amount: 'Kiasi',
  item: 'Kwa ajili ya',
  noFee: 'Hakuna ada ya ziada kwako.',
  optional: 'si lazima',
  continue: 'Endelea',
  errorTitle: 'Kosa',
  errorSummary: 'Tafadhali rekebisha yafuatayo:',
  returnTo: (business) => `Rudi kwa ${business}`,
  reference: 'Kumbukumbu',
  language: 'Lugha',
  poweredBy: (brand) => `Malipo kupitia ${brand}`,
  neverEnterPin: 'Usiandike PIN yako kwenye ukurasa huu kamwe.',
  help: (business) => `Una swali? Wasiliana na ${business} ukitaja kumbukumbu hii.`,
  validUntil: (time) => `Inatumika hadi ${time}`,

  whichCountry: 'Akaunti yako ya pesa ya simu iko nchi gani?',
  changeCountry: 'Badilisha nchi',
  how: 'Ungependa kulipa vipi?',
  hintPrompt: 'Thibitisha kwa PIN yako kwenye simu yako.',
  hintShortcode: 'Utapokea SMS yenye msimbo wa kupiga.',
  hintOtp: 'Utapokea msimbo kwa SMS.',
  hintInstructions: 'Unatuma pesa mwenyewe.',
  phone: 'Namba ya simu ya pesa',
  phoneHint: (example) => `Kwa mfano ${example}`,
  amountHint: (min, max) => `Kuanzia ${min} hadi ${max}`,
  yourDetails: 'Taarifa zako',
  firstName: 'Jina la kwanza',
  lastName: 'Jina la ukoo',
  email: 'Barua pepe',
  methodDown: 'Haipatikani kwa sasa.',
  methodMin: (amount) => `Kuanzia ${amount}.`,
  methodMax: (amount) => `Hadi ${amount}.`,
  methodWhole: 'Kiasi kamili tu, bila senti.',
  noMethod: 'Hakuna njia yoyote inayoweza kupokea malipo haya sasa. Jaribu tena baadaye au wasiliana na muuzaji.',

  phoneMissing: 'Andika namba yako ya simu ya pesa.',
  phoneWrong: (country, example) => `Hii si namba ya simu ya ${country}. Iandike kama ${example}.`,
  methodMissing: 'Chagua jinsi unavyotaka kulipa.',
  amountMissing: 'Andika kiasi.',
  emailWrong: 'Andika anwani kamili ya barua pepe.',
  numberLimit: (time) =>
    `Namba hii imepokea maombi kadhaa ya malipo. Ili kumlinda mwenye namba, unaweza kujaribu tena baada ya ${time}.`,
  rateLimited: 'Majaribio ni mengi mno. Subiri dakika moja ujaribu tena.',
  formExpired: 'Ukurasa huu ulikuwa wazi kwa muda mrefu mno. Kagua taarifa kisha lipa tena.',
  operatorDown: (operator) =>
    `${operator} haijibu. Hujatozwa. Chagua njia nyingine ya kulipa, au jaribu tena baada ya dakika chache.`,

  confirmTitle: 'Je, hii ni sahihi?',
  confirmNumber: (number) => `Ulimaanisha namba ${number}?`,
  confirmOperator: (number, likely, chosen) =>
    `${number} inaonekana ni namba ya ${likely}, lakini umechagua ${chosen}. Kama ulihama mtandao na namba yako, endelea.`,
  confirmPredicted: (number, operator) => `${number} inaonekana ni namba ya ${operator}.`,
  confirmAmount: (amount, business) => `Unalipa ${amount} kwa ${business}.`,
  payWith: 'Lipa kwa',
  change: 'Badilisha',

  checkPhone: 'Angalia simu yako',
  checkPhoneNumber: (number) => `Angalia simu yako ${number}`,
  promptSteps: (operator, business, amount) => [
    `Ujumbe wa ${operator} unatokea kwenye simu yako.`,
    `Hakikisha unasema ${amount} kwa ${business}.`,
    'Weka PIN yako kwenye simu.',
  ],
  shortcodeTitle: 'Piga msimbo ulio kwenye SMS',
  shortcodeSteps: (operator, code, amount) => [
    `${operator} inakutumia SMS yenye msimbo ${code}.`,
    `Piga ${code} kwenye simu yako. Hakikisha inasema ${amount}.`,
    'Weka PIN yako kwenye simu.',
  ],
  checkNow: 'Nimethibitisha, angalia sasa',
  noMessage: 'Sijapokea ujumbe',
  noMessageDial: (code, choices) =>
    choices
      ? `Piga ${code} kisha chagua ${choices}, halafu weka PIN yako.`
      : `Piga ${code} kwenye simu, kisha weka PIN yako.`,
  noMessageWait: (time) =>
    `Hakikisha simu imewashwa na ina mtandao. Muda wa ombi utaisha saa ${time}; ` +
    'baada ya hapo unaweza kujaribu tena au kutumia namba nyingine.',
  updatesItself: 'Ukurasa huu unajisasisha wenyewe.',
  notYet: 'Bado haijathibitishwa.',
  autoOn: 'Angalia yenyewe kila sekunde 10',
  autoOff: 'Acha kuangalia yenyewe',
  workingTitle: 'Malipo yanashughulikiwa',
  workingText: (operator) => `${operator} inashughulikia malipo yako.`,
  otpTitle: 'Andika msimbo ulio kwenye SMS',
  otpText: (number) => `Tumetuma msimbo wa tarakimu sita kwa ${number}.`,
  otpCode: 'Msimbo',
  otpHint: 'Tarakimu sita. Si PIN yako.',
  otpWrong: (left) =>
    left === 1
      ? 'Msimbo huu si sahihi. Umebakiwa na jaribio moja.'
      : `Msimbo huu si sahihi. Umebakiwa na majaribio ${left}.`,
  otpResend: 'Tuma msimbo tena',
  otpResent: 'Tumetuma msimbo mpya. Tumia ule wa mwisho.',
  otpWait: (seconds) => `Msimbo umetumwa sasa hivi. Unaweza kuomba mwingine baada ya sekunde ${seconds}.`,

  sendMoney: 'Tuma pesa sasa',
  sendMoneyBy: (time) => `Tafadhali lipa kabla ya ${time}.`,
  till: 'Namba ya till',
  paybill: 'Namba ya biashara',
  bankAccount: 'Namba ya akaunti',
  bank: 'Benki',
  accountName: 'Jina',
  accountReference: 'Kumbukumbu',
  exactly: 'Tuma kiasi hiki hasa na kumbukumbu hii hasa. La sivyo hatutaweza kutambua malipo yako.',
  tillSteps: [
    'Fungua M-PESA, chagua Lipa na M-PESA, kisha Buy Goods.',
    'Andika namba ya till, kiasi na kumbukumbu.',
    'Weka PIN yako kwenye simu.',
  ],
  paybillSteps: [
    'Fungua M-PESA, chagua Lipa na M-PESA, kisha Pay Bill.',
    'Andika namba ya biashara; kumbukumbu ndiyo namba ya akaunti.',
    'Weka kiasi na PIN yako kwenye simu.',
  ],
  bankSteps: [
    'Fungua programu ya benki yako.',
    'Tuma kiasi hiki kwenye akaunti hii.',
    'Andika kumbukumbu kama maelezo ya muamala.',
  ],
  paidCheckNow: 'Nimelipa, angalia sasa',

  unclearTitle: 'Matokeo bado hayajulikani',
  unclearText:
    'Usilipe tena. Mtandao haujathibitisha kama umetozwa. ' +
    'Tunaendelea kuangalia, na ukurasa huu utaonyesha matokeo.',
  paidTitle: 'Malipo yamepokelewa',
  paidText: (amount, business) => `Umelipa ${amount} kwa ${business}.`,
  receipt: 'Risiti',
  returning: (business) => `Unarudi kwa ${business} hivi punde.`,
  stay: 'Baki kwenye ukurasa huu',
  reversedTitle: 'Malipo yamerudishwa',
  reversedText: (amount) => `Malipo ya ${amount} yamerudishwa kwenye akaunti yako.`,
  failedTitle: 'Malipo hayakufanikiwa',
  expiredTitle: 'Muda wa ombi la malipo umeisha',
  notCharged: 'Hujatozwa.',
  tryAgain: 'Jaribu tena',
  failures: {
    INSUFFICIENT_FUNDS: 'Salio halitoshi. Ongeza salio ujaribu tena.',
    WRONG_PIN: 'PIN haikuwa sahihi. Jaribu tena kwa PIN sahihi.',
    PAYER_CANCELLED: 'Malipo yalighairiwa kwenye simu. Kama bado unataka kulipa, jaribu tena.',
    PAYER_NOT_FOUND: 'Namba hii haina akaunti kwenye mtandao huu. Kagua namba na mtandao, au tumia namba nyingine.',
    PAYER_LIMIT_REACHED:
      'Malipo haya yanazidi kikomo cha akaunti yako. Lipa kiasi kidogo, subiri hadi kesho, au tumia namba nyingine.',
    PAYER_BLOCKED: 'Mtandao umeifunga akaunti hii. Piga simu kwa mtandao wako, au tumia namba nyingine.',
    PROMPT_EXPIRED: 'Ombi halikuthibitishwa kwa wakati. Kaa na simu yako karibu ujaribu tena.',
    VERIFICATION_FAILED: 'Msimbo haukuwa sahihi mara nyingi mno. Jaribu tena na usubiri msimbo mpya.',
    AMOUNT_OUT_OF_RANGE: 'Mtandao haupokei kiasi hiki. Chagua njia nyingine ya kulipa.',
    OPERATOR_UNAVAILABLE: 'Mtandao haupatikani. Jaribu tena baada ya dakika chache, au chagua njia nyingine ya kulipa.',
    DUPLICATE_AT_OPERATOR:
      'Mtandao umekataa malipo haya kwa sababu yanaonekana kurudiwa. Kagua ujumbe wako kabla ya kulipa tena; ' +
      'kama hujatozwa, jaribu tena baada ya dakika chache.',
    RECIPIENT_NOT_FOUND: 'Mtandao haukuweza kumfikia muuzaji. Wasiliana naye, au chagua njia nyingine ya kulipa.',
    FLOAT_INSUFFICIENT:
      'Mtandao haukuweza kukamilisha malipo. Chagua njia nyingine ya kulipa, au wasiliana na muuzaji.',
    REJECTED_BY_OPERATOR: 'Mtandao umekataa malipo. Jaribu tena, au chagua njia nyingine ya kulipa.',
    UNSPECIFIED: 'Mtandao haukutoa sababu. Kagua ujumbe wako, kisha jaribu tena au chagua njia nyingine ya kulipa.',
  },

  linkGoneTitle: 'Kiungo hiki cha malipo hakipatikani',
  linkGone: 'Kagua anwani, au muombe muuzaji kiungo kipya.',
  linkExpired: (time) => `Kiungo hiki kilitumika hadi ${time}. Muombe muuzaji kingine.`,
  linkDisabled: 'Muuzaji amefunga kiungo hiki. Hakiwezi kulipwa tena.',

  receiptTitle: 'Risiti ya malipo',
  receiptGenuine: 'Risiti hii ni halali. Malipo yamepokelewa.',
  receiptReversed: 'Malipo haya yalipokelewa kisha yakarudishwa. Hayahesabiwi tena kuwa yamelipwa.',
  receiptUnknownTitle: 'Risiti haikupatikana',
  receiptUnknown: 'Kagua msimbo. Mtu akikuonyesha msimbo huu kama uthibitisho wa malipo, usiukubali.',
  receiptCheck: 'Mtu yeyote anaweza kuhakiki risiti hii kwenye anwani hii:',
  receiptCode: 'Msimbo wa risiti',
  business: 'Muuzaji',
  paidOn: 'Imelipwa',
  paidWith: 'Njia ya malipo',
  print: 'Chapisha',
  scan: 'Skani ulipe',
  cardOpen: 'au fungua anwani hii kwenye simu yako:',
  cardAnyAmount: 'Utaandika kiasi mwenyewe.',

  sandbox: 'Ukurasa wa majaribio: hakuna pesa halisi.',
  openPhone: 'Fungua simu ya majaribio',

  busyTitle: 'Tafadhali jaribu tena baada ya muda mfupi',
  busy: 'Watu wengi wanalipa sasa. Subiri sekunde chache ujaribu tena. Hutatozwa mara mbili kwa malipo moja.',
  brokenTitle: 'Hitilafu imetokea',
  broken: 'Rudi nyuma ufungue ukurasa tena. Kama umethibitisha malipo kwenye simu, usilipe tena: ukurasa utayaonyesha.',
  back: 'Rudi kwenye malipo',
};
