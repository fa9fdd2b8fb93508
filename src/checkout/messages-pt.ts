// The hosted pages in Portuguese, as it is written in Africa and Portugal.

import type { CheckoutMessages } from './messages.ts';

export const portuguese: CheckoutMessages = {
  payTo: (business) => `Pagar a ${business}`,
  pay: (amount) => `Pagar ${amount}`,
  amount: 'Montante',
  item: 'Para',
  noFee: 'Sem custos adicionais',
  optional: 'opcional',
  continue: 'Continuar',
  errorTitle: 'Erro',
  errorSummary: 'Por favor, corrija o seguinte:',
  returnTo: (business) => `Voltar a ${business}`,
  reference: 'Referência',
  language: 'Idioma',
  poweredBy: (brand) => `Pagamentos por ${brand}`,
  neverEnterPin: 'Nunca escreva o PIN nesta página.',
  help: (business) => `Dúvidas? Contacte ${business} e indique esta referência.`,
  validUntil: (date) => `Válido até ${date}`,
  validUntilTime: (time) => `Válido até às ${time}`,
  onPhone: 'Leia o código para pagar no telemóvel',

  whichCountry: 'Em que país está a sua conta de mobile money?',
  changeCountry: 'Mudar de país',
  how: 'Como quer pagar?',
  otherWays: 'Outras formas de pagar',
  hintPrompt: 'Confirme com o PIN no telemóvel.',
  hintShortcode: 'Recebe um SMS com um código para marcar.',
  hintOtp: 'Recebe um código por SMS.',
  hintInstructions: 'O dinheiro é enviado por si, no seu telemóvel.',
  phone: 'Número de mobile money',
  phoneOfBankCustomer: 'Número de telefone',
  phoneHint: (example) => `Por exemplo ${example}`,
  amountHint: (min, max) => `De ${min} a ${max}`,
  yourDetails: 'Os seus dados',
  firstName: 'Nome próprio',
  lastName: 'Apelido',
  email: 'E-mail',
  methodDown: 'Indisponível de momento.',
  methodMin: (amount) => `A partir de ${amount}.`,
  methodMax: (amount) => `Até ${amount}.`,
  methodWhole: 'Só montantes inteiros.',
  noMethod: 'Nenhuma destas formas de pagamento está disponível agora. Tente mais tarde ou contacte o comerciante.',

  phoneMissing: 'Escreva o seu número de mobile money.',
  phoneWrong: (country, example) => `Este não é um número móvel (${country}). Escreva-o como ${example}.`,
  methodMissing: 'Escolha como quer pagar.',
  amountMissing: 'Escreva o montante.',
  emailWrong: 'Escreva um endereço de e-mail completo.',
  numberLimit: (date) =>
    `Este número recebeu vários pedidos de pagamento. Para proteger o titular, tente de novo depois de ${date}.`,
  numberBlocked:
    'Este número não pode ser usado neste pagamento. Nada lhe foi cobrado. Use outro número ou contacte o comerciante.',
  dayLimit:
    'Este pagamento excede o que o comerciante pode receber hoje. Nada lhe foi cobrado. Tente amanhã ou contacte o comerciante.',
  rateLimited: 'Demasiadas tentativas. Espere um minuto e tente de novo.',
  formExpired: 'Esta página esteve aberta demasiado tempo. Verifique os dados e pague de novo.',
  operatorDown: (operator) =>
    `${operator} não responde. Nada lhe foi cobrado. ` +
    'Escolha outra forma de pagamento ou tente dentro de alguns minutos.',

  confirmTitle: 'Verifique os seus dados',
  confirmNumber: (number) => `Queria dizer o número ${number}?`,
  confirmOperator: (number, likely, chosen) =>
    `${number} parece um número ${likely}, mas escolheu ${chosen}. Se manteve o número ao mudar de operadora, continue.`,
  confirmPredicted: (number, operator) => `Número ${operator}: ${number}`,
  confirmAmount: (amount, business) => `Paga ${amount} a ${business}.`,
  payWith: 'Pagar com',
  change: 'Alterar',

  checkPhone: 'Consulte o seu telemóvel',
  checkPhoneNumber: (number) => `Consulte o seu telemóvel ${number}`,
  promptSteps: (operator, business, amount) => [
    `Aparece uma mensagem de ${operator} no telemóvel.`,
    `Verifique que diz ${amount} para ${business}.`,
    'Introduza o PIN no telemóvel.',
  ],
  shortcodeTitle: 'Marque o código do SMS',
  shortcodeSteps: (operator, code, amount) => [
    `${operator} envia-lhe um SMS com o código ${code}.`,
    `Marque ${code} no telemóvel. Verifique que diz ${amount}.`,
    'Introduza o PIN no telemóvel.',
  ],
  checkNow: 'Já confirmei, verificar agora',
  noMessage: 'Não recebi nenhuma mensagem',
  noMessageDial: (code, choices) =>
    choices
      ? `Marque ${code} e escolha ${choices}, depois introduza o PIN.`
      : `Marque ${code} no telemóvel e introduza o PIN.`,
  noMessageWait: (time) =>
    `Verifique se o telemóvel está ligado e com rede. O pedido expira às ${time}; ` +
    'depois pode tentar de novo ou usar outro número.',
  updatesItself: 'Esta página atualiza-se automaticamente.',
  notYet: 'Ainda não confirmado.',
  autoOn: 'Verificar automaticamente a cada 10 segundos',
  autoOff: 'Parar a verificação automática',
  workingTitle: 'Pagamento em processamento',
  workingText: (operator) => `${operator} está a processar o seu pagamento.`,
  dialTitle: (code) => `Marque ${code}`,
  outsideTitle: (operator) => `Continue com ${operator}`,
  outsideText: (operator) => `Confirme o pagamento na página ou na aplicação de ${operator}. Depois volte aqui.`,
  outsideOpen: (operator) => `Abrir ${operator}`,
  qrTitle: 'Leia o código QR',
  qrText: (operator) =>
    `Leia este código com a aplicação de ${operator}. Se está no seu telemóvel, abra a aplicação com o botão.`,
  qrOpen: (app) => `Abrir ${app}`,
  codeTitle: 'Escreva o código da operadora',
  codeText: (operator) => `${operator} dá-lhe um código para este pagamento. Escreva-o aqui.`,
  codeDial: (dialled) => `Para o obter, marque ${dialled} no telemóvel. Escreva o seu próprio PIN no lugar de PIN.`,
  codeHint: 'Só algarismos. Não é o seu PIN.',
  operatorSays: 'Mensagem da operadora:',
  otpTitle: 'Escreva o código do SMS',
  otpText: (number) => `Enviámos um código de seis algarismos para ${number}.`,
  otpCode: 'Código',
  otpHint: 'Seis algarismos. Não é o seu PIN.',
  otpWrong: (left) =>
    left === 1
      ? 'Este código está errado. Tem mais uma tentativa.'
      : `Este código está errado. Tem mais ${left} tentativas.`,
  codesLimited: (date) =>
    `Demasiados códigos errados para este número. Para proteger o titular, tente de novo depois de ${date}.`,
  otpResend: 'Enviar o código de novo',
  otpResent: 'Enviámos um código novo. Use o mais recente.',
  otpWait: (seconds) => `Um código acabou de ser enviado. Pode pedir outro dentro de ${seconds} segundos.`,

  sendMoney: 'Envie o dinheiro agora',
  sendMoneyBy: (time) => `Pague até às ${time}.`,
  till: 'Número da caixa (till)',
  paybill: 'Número da empresa (business number)',
  bankAccount: 'Número da conta',
  bank: 'Banco',
  accountName: 'Nome',
  accountReference: 'Referência',
  paybillAccount: 'Número da conta (account number)',
  payFrom: 'Pague a partir de',
  exactly:
    'Envie exatamente este montante com exatamente esta referência. Caso contrário, não conseguimos identificar o pagamento.',
  exactlyTill:
    'Envie exatamente este montante, a partir deste número. Caso contrário, não conseguimos identificar o pagamento.',
  exactlyPaybill:
    'Envie exatamente este montante, com exatamente este número da conta. Caso contrário, não conseguimos identificar o pagamento.',
  copy: 'Copiar',
  copied: 'Copiado',
  tillSteps: [
    'Abra o M-PESA e escolha Lipa na M-PESA, Buy Goods.',
    'Escreva o número da caixa e o montante.',
    'Introduza o PIN no telemóvel.',
  ],
  paybillSteps: [
    'Abra o M-PESA e escolha Lipa na M-PESA, Pay Bill.',
    'Escreva o número da empresa e o número da conta.',
    'Introduza o montante e o PIN no telemóvel.',
  ],
  bankSteps: [
    'Abra a aplicação do seu banco.',
    'Envie o montante para esta conta.',
    'Escreva a referência na descrição da transferência.',
  ],
  paidCheckNow: 'Já paguei, verificar agora',

  unclearTitle: 'O resultado ainda não é conhecido',
  unclearText:
    'Não pague de novo. A operadora ainda não confirmou se lhe foi cobrado. ' +
    'Continuamos a verificar, e esta página mostrará o resultado.',
  paidTitle: 'Pagamento recebido',
  paidText: (amount, business) => `Pagou ${amount} a ${business}.`,
  receipt: 'Recibo',
  returning: (business) => `A voltar a ${business} dentro de momentos.`,
  stay: 'Ficar nesta página',
  reversedTitle: 'Pagamento reembolsado',
  reversedText: (amount) => `O pagamento de ${amount} foi reembolsado na sua conta.`,
  failedTitle: 'O pagamento falhou',
  expiredTitle: 'O pedido expirou',
  notCharged: 'Nada lhe foi cobrado.',
  tryAgain: 'Tentar de novo',
  failures: {
    INSUFFICIENT_FUNDS: 'Saldo insuficiente. Carregue a conta e tente de novo.',
    WRONG_PIN: 'O PIN estava errado. Tente de novo com o PIN certo.',
    PAYER_CANCELLED: 'O pagamento foi cancelado no telemóvel. Se ainda quer pagar, tente de novo.',
    PAYER_NOT_FOUND:
      'Este número não tem conta nesta operadora. Verifique o número e a operadora, ou use outro número.',
    PAYER_LIMIT_REACHED:
      'Este pagamento excede um limite da sua conta. Pague um montante menor, espere até amanhã ou use outro número.',
    PAYER_BLOCKED: 'A operadora bloqueou esta conta. Ligue à sua operadora ou use outro número.',
    PROMPT_EXPIRED: 'O pedido não foi confirmado a tempo. Tenha o telemóvel à mão e tente de novo.',
    VERIFICATION_FAILED: 'O código estava errado demasiadas vezes. Tente de novo e espere pelo código novo.',
    AMOUNT_OUT_OF_RANGE: 'A operadora não aceita este montante. Escolha outra forma de pagar.',
    OPERATOR_UNAVAILABLE:
      'A operadora não está disponível. Tente dentro de alguns minutos ou escolha outra forma de pagar.',
    DUPLICATE_AT_OPERATOR:
      'A operadora rejeitou este pagamento como duplicado. Veja as suas mensagens antes de pagar de novo; ' +
      'se nada lhe foi cobrado, tente dentro de alguns minutos.',
    RECIPIENT_NOT_FOUND:
      'A operadora não conseguiu contactar o comerciante. Contacte-o ou escolha outra forma de pagar.',
    FLOAT_INSUFFICIENT:
      'A operadora não conseguiu concluir o pagamento. Escolha outra forma de pagar ou contacte o comerciante.',
    REJECTED_BY_OPERATOR: 'A operadora rejeitou o pagamento. Tente de novo ou escolha outra forma de pagar.',
    UNSPECIFIED:
      'A operadora não indicou o motivo. Veja as suas mensagens e tente de novo ou escolha outra forma de pagar.',
  },

  linkGoneTitle: 'Esta ligação de pagamento não é válida',
  linkGone: 'Verifique o endereço ou peça uma nova ligação ao comerciante.',
  linkClosedTitle: 'Esta ligação de pagamento já não pode ser paga',
  linkExpired: (time) => `Esta ligação era válida até ${time}. Peça uma nova ao comerciante.`,
  linkDisabled: 'O comerciante fechou esta ligação. Já não pode ser paga.',

  receiptTitle: 'Recibo de pagamento',
  receiptGenuine: 'Este recibo é verdadeiro. O pagamento foi recebido.',
  receiptReversed: 'Este pagamento foi recebido e depois reembolsado. Já não conta como pago.',
  receiptUnknownTitle: 'Recibo não encontrado',
  receiptUnknown: 'Verifique o código. Se alguém lhe mostrar este código como prova de pagamento, não o aceite.',
  receiptCheck: 'Qualquer pessoa pode verificar este recibo neste endereço:',
  receiptCode: 'Código do recibo',
  receiptTest: 'Recibo de TESTE: não foi pago dinheiro real. Não prova nada.',
  receiptOperatorCode: (operator) => `Código ${operator}`,
  receiptRefunded: 'Reembolsado',
  receiptPayer: 'Pago de',
  receiptShareText: (amount, business, url) => `Recibo de ${amount} pagos a ${business}: ${url}`,
  receiptSms: (amount, business, code, url) => `${amount} pagos a ${business}. Recibo ${code}: ${url}`,
  receiptMail: 'Enviar-me o recibo por e-mail',
  receiptMailSend: 'Enviar',
  receiptMailSent: 'O recibo vai a caminho. Pode demorar alguns minutos.',
  receiptMailLimited: 'Este recibo já foi enviado várias vezes. Tente de novo dentro de uma hora.',
  receiptMailSubject: (amount, business) => `Recibo: ${amount} pagos a ${business}`,
  receiptMailWhy: 'Recebe este e-mail porque alguém escreveu este endereço no recibo.',
  share: 'Partilhar',
  save: 'Guardar',
  business: 'Comerciante',
  paidOn: 'Pago em',
  paidWith: 'Pago com',
  print: 'Imprimir',
  scan: 'Leia o código para pagar',
  cardOpen: 'ou abra este endereço no telemóvel:',
  cardAnyAmount: 'O montante é introduzido por si.',

  sandbox: 'Página de teste: sem dinheiro real.',
  openPhone: 'Abrir o telemóvel de teste',

  busyTitle: 'Tente de novo dentro de momentos',
  busy: 'Muitas pessoas estão a pagar agora. Espere alguns segundos e tente de novo. Um pagamento nunca é cobrado duas vezes.',
  brokenTitle: 'Ocorreu um erro',
  broken:
    'Volte atrás e abra a página de novo. ' +
    'Se confirmou um pagamento no telemóvel, não pague de novo: a página irá mostrá-lo.',
  back: 'Voltar ao pagamento',
};
