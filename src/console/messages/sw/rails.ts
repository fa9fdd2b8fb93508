// Swahili: labels and hints of the settings of rails, by their English text.

import type { ConsoleMessages } from '../en.ts';

export const rails: Pick<ConsoleMessages, 'railLabels' | 'railHints'> = {
  railLabels: {
    'API password (cameroon)': 'Nenosiri la API (cameroon)',
    'API token': 'Token ya API',
    'API user (cameroon)': 'Mtumiaji wa API (cameroon)',
    'Addresses of Safaricom': 'Anwani za Safaricom',
    'Bank of Kenyan payouts': 'Benki ya kutuma pesa Kenya',
    'Bank of Nigerian payouts': 'Benki ya kutuma pesa Nigeria',
    'Callback private key': 'Ufunguo binafsi wa callback',
    'Callback secret (sonatel)': 'Siri ya callback (sonatel)',
    'Callbacks are signed': 'Callback zina saini',
    'Certificate of Safaricom': 'Cheti cha Safaricom',
    'Channel number (cameroon, sonatel payouts)': 'Namba ya chaneli (cameroon, kutuma pesa sonatel)',
    'Client ID': 'Client ID (kitambulisho cha programu)',
    'Client secret': 'Client secret (siri ya programu)',
    'Collections: API key': 'Kupokea pesa: API key',
    'Collections: API user': 'Kupokea pesa: mtumiaji wa API',
    'Collections: subscription key': 'Kupokea pesa: subscription key',
    'Consumer key': 'Consumer key (ufunguo wa programu)',
    'Consumer secret': 'Consumer secret (siri ya programu)',
    Country: 'Nchi',
    'Country in the address (web_payment)': 'Nchi kwenye anwani (web_payment)',
    'Disbursement PIN': 'PIN ya kutuma pesa',
    'Disbursements: API key': 'Kutuma pesa: API key',
    'Disbursements: API user': 'Kutuma pesa: mtumiaji wa API',
    'Disbursements: subscription key': 'Kutuma pesa: subscription key',
    'Domain of payer e-mails': 'Kikoa cha barua pepe za walipaji',
    'Form of Kenyan numbers': 'Muundo wa namba za Kenya',
    'Form of our EC signatures': 'Muundo wa saini zetu za EC',
    'How payers pay (sonatel)': 'Jinsi walipaji wanavyolipa (sonatel)',
    'Id of our key': 'Kitambulisho cha ufunguo wetu',
    'Initiator name': 'Jina la mwanzishaji (initiator)',
    'Initiator password': 'Nenosiri la mwanzishaji (initiator)',
    Interface: 'Kiolesura',
    'Kind of payouts': 'Aina ya kutuma pesa',
    'Merchant code (sonatel)': 'Msimbo wa mfanyabiashara (sonatel)',
    'Merchant key (web_payment)': 'Ufunguo wa mfanyabiashara (web_payment)',
    'Message signing': 'Kusaini ujumbe',
    'Minutes to pay by transfer': 'Dakika za kulipa kwa uhamisho wa benki',
    'Name of the till or pay bill': 'Jina la Till au Pay Bill',
    'Number for the Pull Transactions API': 'Namba ya API ya Pull Transactions',
    'Our private key': 'Ufunguo wetu binafsi',
    'PIN of the channel number': 'PIN ya namba ya chaneli',
    'Padding of the PIN': 'Ujazaji (padding) wa PIN',
    Passkey: 'Passkey (ufunguo wa Lipa na M-PESA)',
    'Pay bill number': 'Namba ya Pay Bill',
    'Payments that were not validated': 'Malipo ambayo hayakuthibitishwa',
    'Prompts collect to': 'Maombi ya PIN yanapokea pesa kwenye',
    'Public key for the PIN': 'Ufunguo wa umma wa PIN',
    Refunds: 'Kurudisha pesa',
    'Requests are signed': 'Maombi yana saini',
    'Secret key': 'Ufunguo wa siri',
    'Secret key before the last change': 'Ufunguo wa siri kabla ya badiliko la mwisho',
    'Short code for payouts': 'Short code ya kutuma pesa',
    'Short code for prompts': 'Short code ya maombi ya PIN',
    'Target environment': 'Mazingira lengwa',
    'Till number': 'Namba ya Till',
    'Units of XOF': 'Vipimo vya XOF',
  },
  railHints: {
    '100 if Paystack shows a test charge of the amount 10000 as 100 francs, 1 if as 10 000. Without it: no XOF.':
      '100 ikiwa Paystack inaonyesha malipo ya majaribio ya kiasi 10000 kama faranga 100, 1 ikiwa kama 10 000. Bila hiyo: hakuna XOF.',
    'A UUID. You create it with the subscription key; in production, on the partner portal.':
      'UUID. Unaitengeneza kwa ufunguo wa usajili; kwenye mfumo halisi, kwenye tovuti ya washirika.',
    'After you rolled the key: the old one, so that webhooks on their way are still accepted. Remove it after a day.':
      'Baada ya kubadilisha ufunguo: wa zamani, ili webhook zilizo njiani bado zikubaliwe. Uondoe baada ya siku moja.',
    'As M-PESA shows it to payers, so that they recognise it. Without it they see the name of the merchant.':
      'Kama M-PESA inavyolionyesha kwa walipaji, ili walitambue. Bila hilo wanaona jina la mfanyabiashara.',
    'Beside the consumer key.': 'Kando ya consumer key.',
    'Callbacks from other addresses are not believed. Empty: any address.':
      'Callback kutoka anwani nyingine haziaminiki. Tupu: anwani yoyote.',
    'Created for the API user, and shown once.': 'Hutengenezwa kwa mtumiaji wa API, na huonyeshwa mara moja tu.',
    'Dashboard, Settings, API keys and webhooks: sk_test_… for the sandbox, sk_live_… for production.':
      'Dashibodi, Settings, API keys and webhooks: sk_test_… kwa sandbox, sk_live_… kwa mfumo halisi.',
    'Dashboard, System configuration, API tokens. The sandbox and production have different ones.':
      'Dashibodi, System configuration, API tokens. Sandbox na mfumo halisi zina token tofauti.',
    'From Callback URL settings, if you switched on callback authentication. Without it, callbacks only make us ask.':
      'Kwenye mipangilio ya Callback URL, ikiwa umewasha uthibitisho wa callback. Bila hiyo, callback hutufanya tuulize tu.',
    'From Key Management of your application on the Airtel developer portal.':
      'Kwenye Key Management ya programu yako, tovuti ya wasanidi ya Airtel.',
    'From the disbursement page of the portal. The PIN is sent encrypted with it.':
      'Kwenye ukurasa wa kutuma pesa wa tovuti. PIN hutumwa ikiwa imefungwa kwa ufunguo huo.',
    'From your application on the developer portal. Cameroon calls it the consumer key.':
      'Ya programu yako kwenye tovuti ya wasanidi. Cameroon huiita consumer key.',
    'Given by Orange Cameroon with the API password.': 'Hutolewa na Orange Cameroon pamoja na nenosiri la API.',
    'Given by Orange Cameroon with the API user.': 'Hutolewa na Orange Cameroon pamoja na mtumiaji wa API.',
    'How charges name a Kenyan phone: +254… (plus) or 254… (digits). Change it if Paystack refuses numbers.':
      'Namba ya Kenya inaandikwaje: +254… (plus) au 254… (digits). Badilisha ikiwa Paystack inakataa namba.',
    'How long a payer may send money to the account or pay bill that was shown.':
      'Mlipaji ana muda gani wa kutuma pesa kwa akaunti au Pay Bill iliyoonyeshwa.',
    'How your country wants the PIN encrypted. Ask Airtel if payouts answer "Incorrect Encrypted Pin".':
      'Nchi yako inataka PIN ifungwe vipi. Uliza Airtel ikiwa kutuma pesa kunajibu “Incorrect Encrypted Pin”.',
    'In the e-mail that confirmed your merchant account.':
      'Kwenye barua pepe iliyothibitisha akaunti yako ya mfanyabiashara.',
    'Of the API user. It ends after 90 days; Safaricom takes # & % $ in it, and neither brackets nor @.':
      'La mtumiaji wa API. Linaisha baada ya siku 90; Safaricom inakubali # & % $, lakini si mabano wala @.',
    'On developer.safaricom.co.ke under My apps, of an app that has the products you use.':
      'Kwenye developer.safaricom.co.ke, My apps, ya programu yenye huduma unazotumia.',
    'Paystack wants an e-mail for each payer; we make <number>@<domain>. Without it: payer.<your public host>.':
      'Paystack inataka barua pepe kwa kila mlipaji; tunatumia <number>@<domain>. Bila hiyo: payer.<host yako ya umma>.',
    'ProductionCertificate.cer or SandboxCertificate.cer of the developer portal; the password is encrypted with it.':
      'ProductionCertificate.cer au SandboxCertificate.cer ya tovuti ya wasanidi; hutumika kufunga nenosiri.',
    'Safaricom mails it when M-PESA Express goes live for the short code. Without it there are no prompts.':
      'Safaricom huituma kwa barua pepe M-PESA Express inapowashwa kwa short code. Bila hiyo hakuna maombi ya PIN.',
    'Shown beside the client ID.': 'Huonyeshwa kando ya Client ID.',
    'Shown beside the client ID. Cameroon calls it the consumer secret.':
      'Huonyeshwa kando ya Client ID. Cameroon huiita consumer secret.',
    'Six digits, as on your QR code.': 'Tarakimu sita, kama kwenye msimbo wako wa QR.',
    'The API user on the M-PESA organisation portal, with roles for B2C, status, balance and reversal.':
      'Mtumiaji wa API kwenye tovuti ya taasisi ya M-PESA, mwenye majukumu ya B2C, hali, salio na kurudisha.',
    'The B2C command that Safaricom enabled for the short code.':
      'Amri ya B2C ambayo Safaricom imewasha kwa short code.',
    'The B2C short code that payouts are paid from. Without it and the initiator there are no payouts.':
      'Short code ya B2C ambayo pesa hutumwa kutoka. Bila hiyo na mwanzilishi hakuna kutuma pesa.',
    'The PIN of that number. Orange wants it with every payment.':
      'PIN ya namba hiyo. Orange inaitaka kwa kila malipo.',
    'The Safaricom number that you nominated for it, as 254…. Without it payments whose message was lost are not looked up.':
      'Namba ya Safaricom uliyoiteua kwa hiyo, kama 254…. Bila hiyo malipo ambayo ujumbe wake ulipotea hayatafutwi.',
    'The code (GET /bank) of the bank that Pesalink payouts go to. Without it there are none.':
      'Msimbo (GET /bank) wa benki ya kutuma pesa kwa Pesalink. Bila huo hakuna.',
    'The code (GET /bank) of the bank that payouts go to, such as a wallet whose accounts are phone numbers. Without it: none.':
      'Msimbo (GET /bank) wa benki ya kutuma pesa, kama pochi ambayo akaunti zake ni namba za simu. Bila huo: hakuna.',
    'The country of your Airtel contract: UG, ZM or TZ. Each country is a connection of its own.':
      'Nchi ya mkataba wako wa Airtel: UG, ZM au TZ. Kila nchi ni muunganisho wake.',
    'The country of your contract as MTN writes it. The sandbox of MTN takes only EUR.':
      'Nchi ya mkataba wako, kama MTN inavyoiandika. Sandbox ya MTN inapokea EUR pekee.',
    'The four digits that pay out of your wallet. Leave it empty if you only collect.':
      'Tarakimu nne zinazotoa pesa kwenye pochi yako. Acha tupu ikiwa unapokea tu.',
    'The key id that the dashboard shows beside the public key that you uploaded.':
      'Kitambulisho ambacho dashibodi inaonyesha kando ya ufunguo wa umma uliopakia.',
    'The pay bill that payers pay to from their own menu. Without it this method is not served.':
      'Pay Bill ambayo walipaji hulipa kupitia menyu yao. Bila hiyo njia hii haitolewi.',
    'The pay bill that prompts collect for; for a till its store number (head office number).':
      'Pay Bill ambayo maombi ya PIN hulipwa; kwa Till, namba yake ya duka (namba ya makao makuu).',
    'The primary key of your Collections subscription, from your profile on the MoMo developer portal.':
      'Ufunguo mkuu wa usajili wako wa Collections, kwenye wasifu wako wa tovuti ya wasanidi ya MoMo.',
    'The primary key of your Disbursements subscription, from your profile on the MoMo developer portal.':
      'Ufunguo mkuu wa usajili wako wa Disbursements, kwenye wasifu wako wa tovuti ya wasanidi ya MoMo.',
    'The private key (EC P-256 or P-384, or RSA) of the public key that you uploaded.':
      'Ufunguo binafsi (EC P-256 au P-384, au RSA) wa ufunguo wa umma uliopakia.',
    'The secret of your callback registration. Without it, callbacks only make us ask.':
      'Siri ya usajili wako wa callback. Bila hiyo, callback hutufanya tuulize tu.',
    'The till (Buy Goods) that payers pay to, by prompt or from their own menu.':
      'Till (Buy Goods) ambayo walipaji hulipa, kwa ombi la PIN au kupitia menyu yao.',
    'What M-PESA does with a payment to the till or pay bill when this gateway does not answer in time.':
      'M-PESA hufanya nini na malipo ya Till au Pay Bill mfumo huu usipojibu kwa wakati.',
    'Whether MTN has enabled the refund call for your contract. Without it, refunds can be sent as payouts.':
      'Ikiwa MTN imewasha huduma ya kurudisha pesa kwa mkataba wako. Bila hiyo pesa zinaweza kurudishwa kwa kutuma.',
    'Whether the short code for prompts is a pay bill or the store of a till.':
      'Ikiwa short code ya maombi ya PIN ni Pay Bill au duka la Till.',
    'Yes if signed callbacks are switched on in the dashboard; a callback without signature is then refused.':
      'Ndiyo ikiwa callback zenye saini zimewashwa kwenye dashibodi; callback isiyo na saini itakataliwa.',
    'Yes if the dashboard accepts signed requests only.': 'Ndiyo ikiwa dashibodi inakubali maombi yenye saini pekee.',
    'Your M-PESA till at Paystack. Without it the method MPESA_TILL_KEN is not offered.':
      'Till yako ya M-PESA kwa Paystack. Bila hiyo njia ya MPESA_TILL_KEN haitolewi.',
    'Your own Orange number that the money goes to or comes from: nine digits.':
      'Namba yako ya Orange ambayo pesa huingia au hutoka: tarakimu tisa.',
    'Zambia wants collections signed, Malawi disbursements. Choose what your application page says.':
      'Zambia inataka kupokea pesa kuwe na saini, Malawi kutuma pesa. Chagua kinachosemwa na ukurasa wa programu yako.',
    'ci, cm or sl. The sandbox of Orange is always dev.': 'ci, cm au sl. Sandbox ya Orange ni dev siku zote.',
    'pawaPay takes DER; the standard says raw. Change it only if pawaPay tells you so.':
      'pawaPay inapokea DER; kiwango kinasema raw. Badilisha tu ikiwa pawaPay itakuambia.',
    'qr: they scan a code or open the app. code: they dial #144#391*PIN# and type the code they get.':
      'qr: wanachanganua msimbo au kufungua programu. code: wanapiga #144#391*PIN# na kuandika msimbo wanaoupata.',
    "web_payment: the group's payment page. cameroon: prompts of Orange Cameroon. sonatel: Senegal.":
      'web_payment: ukurasa wa malipo wa kundi. cameroon: maombi ya PIN ya Orange Cameroon. sonatel: Senegal.',
  },
};
