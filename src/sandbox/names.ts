// The names that the simulated operator has registered: always the same one for a number, none for numbers ending in 003.

const FIRST_NAMES = [
  'Amina',
  'Kwame',
  'Fatou',
  'Joseph',
  'Wanjiru',
  'Chidi',
  'Grace',
  'Ousmane',
  'Zainab',
  'Peter',
  'Aya',
  'Tendai',
  'Esther',
];
const SURNAMES = [
  'Okello',
  'Mensah',
  'Diop',
  'Kamau',
  'Adeyemi',
  'Nakato',
  'Traoré',
  'Mwangi',
  'Ndlovu',
  'Banda',
  'Kouassi',
];
const UNREGISTERED_DIGITS = '003';

export function registeredName(msisdn: string): string | null {
  if (msisdn.endsWith(UNREGISTERED_DIGITS)) return null;
  // The two lengths share no divisor, so the pairs differ too.
  const number = Number(msisdn.slice(-9));
  return `${FIRST_NAMES[number % FIRST_NAMES.length]} ${SURNAMES[number % SURNAMES.length]}`;
}
