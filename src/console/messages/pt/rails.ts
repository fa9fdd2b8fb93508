// Portuguese: labels and hints of the settings of rails, by their English text.

import type { ConsoleMessages } from '../en.ts';

export const rails: Pick<ConsoleMessages, 'railLabels' | 'railHints'> = {
  railLabels: {
    'API password (cameroon)': 'Palavra-passe da API (cameroon)',
    'API token': 'Token da API',
    'API user (cameroon)': 'Utilizador da API (cameroon)',
    'Addresses of Safaricom': 'Endereços da Safaricom',
    'Bank of Kenyan payouts': 'Banco dos envios no Quénia',
    'Bank of Nigerian payouts': 'Banco dos envios na Nigéria',
    'Callback private key': 'Chave privada dos callbacks',
    'Callback secret (sonatel)': 'Segredo dos callbacks (sonatel)',
    'Callbacks are signed': 'Os callbacks são assinados',
    'Certificate of Safaricom': 'Certificado da Safaricom',
    'Channel number (cameroon, sonatel payouts)': 'Número do canal (cameroon, envios sonatel)',
    'Client ID': 'Identificador do cliente',
    'Client secret': 'Segredo do cliente',
    'Collections: API key': 'Recebimentos: chave da API',
    'Collections: API user': 'Recebimentos: utilizador da API',
    'Collections: subscription key': 'Recebimentos: chave de subscrição',
    'Consumer key': 'Consumer key (chave da aplicação)',
    'Consumer secret': 'Consumer secret (segredo da aplicação)',
    Country: 'País',
    'Country in the address (web_payment)': 'País no endereço (web_payment)',
    'Disbursement PIN': 'PIN dos envios',
    'Disbursements: API key': 'Envios: chave da API',
    'Disbursements: API user': 'Envios: utilizador da API',
    'Disbursements: subscription key': 'Envios: chave de subscrição',
    'Domain of payer e-mails': 'Domínio dos e-mails dos pagadores',
    'Form of Kenyan numbers': 'Formato dos números quenianos',
    'Form of our EC signatures': 'Formato das nossas assinaturas EC',
    'How payers pay (sonatel)': 'Como pagam os pagadores (sonatel)',
    'Id of our key': 'Identificador da nossa chave',
    'Initiator name': 'Nome do iniciador',
    'Initiator password': 'Palavra-passe do iniciador',
    Interface: 'Interface',
    'Kind of payouts': 'Tipo de envios',
    'Merchant code (sonatel)': 'Código do comerciante (sonatel)',
    'Merchant key (web_payment)': 'Chave do comerciante (web_payment)',
    'Message signing': 'Assinatura das mensagens',
    'Minutes to pay by transfer': 'Minutos para pagar por transferência',
    'Name of the till or pay bill': 'Nome do till ou pay bill',
    'Number for the Pull Transactions API': 'Número para a API Pull Transactions',
    'Our private key': 'A nossa chave privada',
    'PIN of the channel number': 'PIN do número do canal',
    'Padding of the PIN': 'Preenchimento do PIN',
    Passkey: 'Passkey (chave Lipa na M-PESA)',
    'Pay bill number': 'Número pay bill',
    'Payments that were not validated': 'Pagamentos não validados',
    'Prompts collect to': 'Os pedidos de pagamento recebem em',
    'Public key for the PIN': 'Chave pública para o PIN',
    Refunds: 'Reembolsos',
    'Requests are signed': 'Os pedidos são assinados',
    'Secret key': 'Chave secreta',
    'Secret key before the last change': 'Chave secreta antes da última alteração',
    'Short code for payouts': 'Short code dos envios',
    'Short code for prompts': 'Short code dos pedidos de pagamento',
    'Target environment': 'Ambiente de destino',
    'Till number': 'Número till',
    'Units of XOF': 'Unidades de XOF',
  },
  railHints: {
    '100 if Paystack shows a test charge of the amount 10000 as 100 francs, 1 if as 10 000. Without it: no XOF.':
      '100 se a Paystack mostrar uma cobrança de teste do montante 10000 como 100 francos, 1 se como 10 000. Sem ele: não há XOF.',
    'A UUID. You create it with the subscription key; in production, on the partner portal.':
      'Um UUID. Cria-o com a chave de subscrição; em produção, no portal de parceiros.',
    'After you rolled the key: the old one, so that webhooks on their way are still accepted. Remove it after a day.':
      'Depois de mudar a chave: a antiga, para que os webhooks a caminho ainda sejam aceites. Retire-a ao fim de um dia.',
    'As M-PESA shows it to payers, so that they recognise it. Without it they see the name of the merchant.':
      'Como o M-PESA o mostra aos pagadores, para que o reconheçam. Sem ele veem o nome do comerciante.',
    'Beside the consumer key.': 'Ao lado da consumer key.',
    'Callbacks from other addresses are not believed. Empty: any address.':
      'Não se acredita em callbacks de outros endereços. Vazio: qualquer endereço.',
    'Created for the API user, and shown once.': 'Criada para o utilizador da API, e mostrada uma só vez.',
    'Dashboard, Settings, API keys and webhooks: sk_test_… for the sandbox, sk_live_… for production.':
      'Painel, Settings, API keys and webhooks: sk_test_… para a sandbox, sk_live_… para a produção.',
    'Dashboard, System configuration, API tokens. The sandbox and production have different ones.':
      'Painel, System configuration, API tokens. A sandbox e a produção têm tokens diferentes.',
    'From Callback URL settings, if you switched on callback authentication. Without it, callbacks only make us ask.':
      'Em Callback URL, se ativou a autenticação dos callbacks. Sem ela, um callback só nos leva a perguntar.',
    'From Key Management of your application on the Airtel developer portal.':
      'Em Key Management da sua aplicação, no portal Airtel de programadores.',
    'From the disbursement page of the portal. The PIN is sent encrypted with it.':
      'Na página de desembolsos do portal. O PIN é enviado cifrado com ela.',
    'From your application on the developer portal. Cameroon calls it the consumer key.':
      'Da sua aplicação no portal de programadores. Os Camarões chamam-lhe consumer key.',
    'Given by Orange Cameroon with the API password.': 'Dado pela Orange Camarões com a palavra-passe da API.',
    'Given by Orange Cameroon with the API user.': 'Dada pela Orange Camarões com o utilizador da API.',
    'How charges name a Kenyan phone: +254… (plus) or 254… (digits). Change it if Paystack refuses numbers.':
      'Como as cobranças escrevem um telefone queniano: +254… (plus) ou 254… (digits). Mude se a Paystack recusar números.',
    'How long a payer may send money to the account or pay bill that was shown.':
      'Durante quanto tempo um pagador pode enviar o dinheiro para a conta ou o pay bill mostrado.',
    'How your country wants the PIN encrypted. Ask Airtel if payouts answer "Incorrect Encrypted Pin".':
      'Como o seu país quer o PIN cifrado. Pergunte à Airtel se os envios responderem «Incorrect Encrypted Pin».',
    'In the e-mail that confirmed your merchant account.': 'No e-mail que confirmou a sua conta de comerciante.',
    'Of the API user. It ends after 90 days; Safaricom takes # & % $ in it, and neither brackets nor @.':
      'Do utilizador da API. Expira após 90 dias; a Safaricom aceita # & % $, mas nem parênteses nem @.',
    'On developer.safaricom.co.ke under My apps, of an app that has the products you use.':
      'Em developer.safaricom.co.ke, em My apps, de uma aplicação com os produtos que usa.',
    'Paystack wants an e-mail for each payer; we make <number>@<domain>. Without it: payer.<your public host>.':
      'A Paystack quer um e-mail por pagador; usamos <number>@<domain>. Sem ele: payer.<o seu host público>.',
    'ProductionCertificate.cer or SandboxCertificate.cer of the developer portal; the password is encrypted with it.':
      'ProductionCertificate.cer ou SandboxCertificate.cer do portal de programadores; cifra a palavra-passe.',
    'Safaricom mails it when M-PESA Express goes live for the short code. Without it there are no prompts.':
      'A Safaricom envia-a por e-mail quando o M-PESA Express é ativado para o short code. Sem ela não há pedidos.',
    'Shown beside the client ID.': 'Mostrado ao lado do identificador do cliente.',
    'Shown beside the client ID. Cameroon calls it the consumer secret.':
      'Mostrado ao lado do identificador do cliente. Os Camarões chamam-lhe consumer secret.',
    'Six digits, as on your QR code.': 'Seis algarismos, como no seu código QR.',
    'The API user on the M-PESA organisation portal, with roles for B2C, status, balance and reversal.':
      'O utilizador da API no portal de organização M-PESA, com as funções B2C, estado, saldo e reversão.',
    'The B2C command that Safaricom enabled for the short code.':
      'O comando B2C que a Safaricom ativou para o short code.',
    'The B2C short code that payouts are paid from. Without it and the initiator there are no payouts.':
      'O short code B2C de onde saem os envios. Sem ele e o iniciador não há envios.',
    'The PIN of that number. Orange wants it with every payment.':
      'O PIN desse número. A Orange quer-o em cada pagamento.',
    'The Safaricom number that you nominated for it, as 254…. Without it payments whose message was lost are not looked up.':
      'O número Safaricom que indicou para ela, como 254…. Sem ele, não se procuram os pagamentos cuja mensagem se perdeu.',
    'The code (GET /bank) of the bank that Pesalink payouts go to. Without it there are none.':
      'O código (GET /bank) do banco dos envios Pesalink. Sem ele não há nenhum.',
    'The code (GET /bank) of the bank that payouts go to, such as a wallet whose accounts are phone numbers. Without it: none.':
      'O código (GET /bank) do banco dos envios, como uma carteira cujas contas são números de telefone. Sem ele: nenhum.',
    'The country of your Airtel contract: UG, ZM or TZ. Each country is a connection of its own.':
      'O país do seu contrato Airtel: UG, ZM ou TZ. Cada país é uma ligação própria.',
    'The country of your contract as MTN writes it. The sandbox of MTN takes only EUR.':
      'O país do seu contrato, como a MTN o escreve. A sandbox da MTN só aceita EUR.',
    'The four digits that pay out of your wallet. Leave it empty if you only collect.':
      'Os quatro algarismos que pagam da sua carteira. Deixe vazio se só recebe.',
    'The key id that the dashboard shows beside the public key that you uploaded.':
      'O identificador que o painel mostra ao lado da chave pública que carregou.',
    'The pay bill that payers pay to from their own menu. Without it this method is not served.':
      'O pay bill que os pagadores pagam no seu próprio menu. Sem ele, este método não é oferecido.',
    'The pay bill that prompts collect for; for a till its store number (head office number).':
      'O pay bill em que os pedidos cobram; para um till, o número da loja (número da sede).',
    'The primary key of your Collections subscription, from your profile on the MoMo developer portal.':
      'A chave primária da sua subscrição Collections, no seu perfil do portal MoMo de programadores.',
    'The primary key of your Disbursements subscription, from your profile on the MoMo developer portal.':
      'A chave primária da sua subscrição Disbursements, no seu perfil do portal MoMo de programadores.',
    'The private key (EC P-256 or P-384, or RSA) of the public key that you uploaded.':
      'A chave privada (EC P-256 ou P-384, ou RSA) da chave pública que carregou.',
    'The secret of your callback registration. Without it, callbacks only make us ask.':
      'O segredo do seu registo de callback. Sem ele, um callback só nos leva a perguntar.',
    'The till (Buy Goods) that payers pay to, by prompt or from their own menu.':
      'O till (Buy Goods) que os pagadores pagam, por pedido ou no seu próprio menu.',
    'What M-PESA does with a payment to the till or pay bill when this gateway does not answer in time.':
      'O que o M-PESA faz com um pagamento ao till ou pay bill quando este gateway não responde a tempo.',
    'Whether MTN has enabled the refund call for your contract. Without it, refunds can be sent as payouts.':
      'Se a MTN ativou a chamada de reembolso no seu contrato. Sem ela, os reembolsos podem ser feitos como envios.',
    'Whether the short code for prompts is a pay bill or the store of a till.':
      'Se o short code dos pedidos é um pay bill ou a loja de um till.',
    'Yes if signed callbacks are switched on in the dashboard; a callback without signature is then refused.':
      'Sim, se os callbacks assinados estiverem ativados no painel; um callback sem assinatura é então recusado.',
    'Yes if the dashboard accepts signed requests only.': 'Sim, se o painel só aceitar pedidos assinados.',
    'Your M-PESA till at Paystack. Without it the method MPESA_TILL_KEN is not offered.':
      'O seu till M-PESA na Paystack. Sem ele, o método MPESA_TILL_KEN não é oferecido.',
    'Your own Orange number that the money goes to or comes from: nine digits.':
      'O seu próprio número Orange para onde o dinheiro vai ou de onde vem: nove algarismos.',
    'Zambia wants collections signed, Malawi disbursements. Choose what your application page says.':
      'A Zâmbia quer recebimentos assinados, o Malawi envios. Escolha o que diz a página da sua aplicação.',
    'ci, cm or sl. The sandbox of Orange is always dev.': 'ci, cm ou sl. A sandbox da Orange é sempre dev.',
    'pawaPay takes DER; the standard says raw. Change it only if pawaPay tells you so.':
      'A pawaPay aceita DER; a norma diz raw. Mude apenas se a pawaPay lho disser.',
    'qr: they scan a code or open the app. code: they dial #144#391*PIN# and type the code they get.':
      'qr: leem um código ou abrem a aplicação. code: marcam #144#391*PIN# e escrevem o código que recebem.',
    "web_payment: the group's payment page. cameroon: prompts of Orange Cameroon. sonatel: Senegal.":
      'web_payment: a página de pagamento do grupo. cameroon: pedidos da Orange Camarões. sonatel: Senegal.',
  },
};
