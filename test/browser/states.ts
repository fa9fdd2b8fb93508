// Every state of the hosted pages, each reached as a payer would reach it, for the tests of all states and for the
// screenshots. A state is an address, to be opened in any language, width or theme.

import type { JsonObject } from '../../src/platform/strict-json.ts';
import type { TestGateway } from '../gateway.ts';
import type { Shop } from './shop.ts';

const KENYA: JsonObject = {
  country_id: 1,
  currency: 'KES',
  amount: '2500',
  business_name: 'Duka la Amani',
  item_name: 'Kikapu cha matunda',
  redirection_url: 'https://shop.example/thanks?order=7',
};
const SENEGAL: JsonObject = { ...KENYA, country_id: 9, currency: 'XOF', business_name: 'Boutique Teranga' };
const GHANA: JsonObject = { ...KENYA, country_id: 16, currency: 'GHS', amount: '25.50', business_name: 'Accra Books' };
const NIGERIA: JsonObject = { ...KENYA, country_id: 17, currency: 'NGN', business_name: 'Lagos Motors' };

/** Long enough that an unanswered prompt expires, a silent operator is unclear, and a reversal arrives. */
const LATER_MS = 200_000;

/** A red square of one pixel: small enough to read here, a picture all the same. */
const LOGO = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

export type State = { name: string; url: string };

export async function makeStates(gateway: TestGateway, shop: Shop): Promise<State[]> {
  const states: State[] = [];
  const add = (name: string, url: string) => states.push({ name, url });

  /** Sends the form of a link without a browser, and answers where it led. */
  async function pay(params: JsonObject, fields: Record<string, string>): Promise<string> {
    const { url } = await shop.link(params);
    const at = await submit(url, url, fields);
    await gateway.settle();
    return at;
  }

  // What needs time to pass comes first: afterwards the clock stands still for all of them.
  add('unclear', await pay(KENYA, { phone: '0712347005', method: 'MPESA_KEN' }));
  add('expired', await pay(KENYA, { phone: '0712347777', method: 'MPESA_KEN' }));
  add('reversed', await pay(KENYA, { phone: '0712347008', method: 'MPESA_KEN' }));
  const soon = new Date(gateway.ctx.clock.millis() + 1_000).toISOString();
  add('link expired', (await shop.link({ ...KENYA, expires_at: soon })).url);
  await gateway.advance(LATER_MS);

  add('find a payment', `${gateway.url}/find`);
  const open = await shop.link({
    ...KENYA,
    first_name: 'Wanjiku',
    last_name: 'Otieno',
    phone: '254712345678',
    logo: LOGO,
    accent_colour: '#f5c400',
  });
  add('open', open.url);
  add('open, amount typed by the payer', (await shop.link({ ...KENYA, amount: null, logo: LOGO })).url);
  add('country', (await shop.link({ ...SENEGAL, country_id: 1, currency: 'XOF' })).url);
  add('open, with errors', await pay(KENYA, { phone: '12', method: '' }));
  add('confirm', await pay({ ...KENYA, amount: null }, { phone: '0712345678', method: 'MPESA_KEN', amount: '1 500' }));
  add('prompt', await pay({ ...KENYA, logo: LOGO }, { phone: '0712345679', method: 'MPESA_KEN' }));
  add('short code', await pay(SENEGAL, { phone: '771234567', method: 'ORANGE_SEN' }));
  const otp = await pay(GHANA, { phone: '0201234567', method: 'VODAFONE_GHA' });
  add('code', otp);
  await post(`${otp}/code`, { code: '000001' });
  add('code, wrong', `${otp}?n=wrong-4`);
  add('till', await pay(KENYA, { phone: '0712345671', method: 'MPESA_TILL_KEN' }));
  add('pay bill', await pay(KENYA, { phone: '0712345672', method: 'MPESA_PAYBILL_KEN' }));
  add('bank', await pay(NIGERIA, { phone: '08031234567', method: 'BANK_NGA' }));
  const paid = await pay({ ...KENYA, logo: LOGO }, { phone: '0712345000', method: 'MPESA_KEN' });
  add('paid', paid);
  add('failed', await pay(KENYA, { phone: '0712346001', method: 'MPESA_KEN' }));
  const receipt = /\/r\/[0-9A-Z-]+/.exec(await (await fetch(paid)).text())?.[0] ?? '';
  add('receipt', gateway.url + receipt);
  add('receipt, unknown', `${gateway.url}/r/AAAAA-AAAAA-AAAA`);
  add('counter card', `${open.url}/card`);
  add('link gone', `${gateway.url}/pay/pl_00000000000000000000000000`);

  return states;
}

/** Opens the form, sends it with the token it carries, and answers the address it led to. */
export async function submit(formUrl: string, target: string, fields: Record<string, string>): Promise<string> {
  const text = await (await fetch(formUrl)).text();
  const form = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
  return post(target, { ...fields, form });
}

export async function post(url: string, fields: Record<string, string>): Promise<string> {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
  const location = answer.headers.get('location');
  if (answer.status !== 303 || location === null) throw new Error(`${url} answered ${answer.status}`);
  return new URL(location, url).href;
}
