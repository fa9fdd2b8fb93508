// A small shop with the client: two products, a prompt on the customer's phone, a verified callback, an order that is
// paid exactly once. In a project of your own the import below is '@simbi/client'.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createClient, SimbiError } from '../../sdk/src/index.ts';

const { env } = process;
const demo = env.SIMBI_URL
  ? null
  : (JSON.parse(readFileSync(env.DEMO ?? `${import.meta.dirname}/../../data/demo.json`, 'utf8')) as Record<
      string,
      string
    >);
const port = Number(env.PORT ?? 3000);
const shopUrl = env.SHOP_URL ?? `http://localhost:${port}`;
const callbackSecret = env.SIMBI_CALLBACK_SECRET ?? demo?.callback_secret ?? '';
const simbi = createClient({
  baseUrl: env.SIMBI_URL ?? demo?.base_url ?? '',
  clientId: env.SIMBI_CLIENT_ID ?? demo?.client_id ?? '',
  secretKey: env.SIMBI_SECRET_KEY ?? demo?.secret_key ?? '',
  sender: env.SIMBI_SENDER ?? demo?.sender ?? '',
});

type Product = { name: string; price: number; stock: number };
type Order = { product: Product; status: string; ref: string | null };

const MAX_BODY_BYTES = 64 * 1024;
const CURRENCY = 'UGX';
const UGANDA = 11;
const products: Record<string, Product> = {
  coffee: { name: 'Coffee from Mount Elgon', price: 25_000, stock: 10 },
  basket: { name: 'Woven basket', price: 60_000, stock: 10 },
};
// Tables in your database; the second one with a unique key.
const orders = new Map<string, Order>();
const seenEvents = new Set<string>();

type Answer = { status: number; html?: string; location?: string };

async function buy(form: URLSearchParams): Promise<Answer> {
  const product = products[form.get('product') ?? ''];
  if (!product) return { status: 404, html: 'No such product.' };
  const id = randomUUID();
  const order: Order = { product, status: 'waiting for your phone', ref: null };
  orders.set(id, order);
  try {
    const collection = await simbi.collections.create(
      {
        amount: product.price,
        mobile: form.get('mobile') ?? '',
        country_id: UGANDA,
        currency: CURRENCY,
        third_party_reference_1: id,
        callback_url: `${shopUrl}/callbacks`,
      },
      { idempotencyKey: id },
    );
    order.ref = collection.ref;
  } catch (error) {
    if (!(error instanceof SimbiError)) throw error;
    // Not known is not refused: the callback, or a look at the feed, will tell. A number that has too many prompts gets none.
    const isRefused = !error.retryable || error.code === 'number_limited';
    if (isRefused) order.status = `refused: ${Object.values(error.fields).flat()[0] ?? error.message}`;
  }
  return { status: 303, location: `/orders/${id}` };
}

async function receive(rawBody: Buffer, headers: IncomingMessage['headers']): Promise<Answer> {
  try {
    const event = await simbi.webhooks.verify(rawBody, headers, callbackSecret);
    if (seenEvents.has(event.id)) return { status: 204 };
    seenEvents.add(event.id);
    // This shop gives a payment back whole, and is told so by collection.reversed.
    if (event.type === 'refund.success' || event.type === 'refund.failed') return { status: 204 };
    const order = orders.get(event.data.third_party_reference_1 ?? '');
    if (order) settle(order, event.type, event.data.amount, event.data.currency);
    return { status: 204 };
  } catch (error) {
    console.error(String(error));
    return { status: 400 };
  }
}

function settle(order: Order, type: string, amount: number, currency: string): void {
  // Events may overtake each other; money that was given back stays given back.
  if (order.status === 'given back') return;
  if (type === 'collection.success' && amount === order.product.price && currency === CURRENCY) {
    order.status = 'paid';
    order.product.stock -= 1;
  }
  // A success can follow a failure, and the failure arrive last: then the order stays paid.
  const ended = type === 'collection.failed' || type === 'collection.expired';
  if (ended && order.status !== 'paid') order.status = 'not paid';
  if (type === 'collection.reversed') order.status = 'given back';
}

function showShop(): Answer {
  const items = Object.entries(products).map(
    ([id, { name, price, stock }]) => `<li>${name}, ${CURRENCY} ${price}, ${stock} left
      <form method="post" action="/buy"><input type="hidden" name="product" value="${id}">
      <label>Your number <input name="mobile" value="0772123000"></label> <button>Buy</button></form></li>`,
  );
  return { status: 200, html: `<h1>Shop</h1><ul>${items.join('')}</ul>` };
}

function showOrder(id: string): Answer {
  const order = orders.get(id);
  if (!order) return { status: 404, html: 'No such order.' };
  const safe = order.status.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return {
    status: 200,
    html: `<meta http-equiv="refresh" content="2"><h1>${order.product.name}</h1><p>Order: ${safe}</p><a href="/">Shop</a>`,
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('body too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function answer(request: IncomingMessage): Promise<Answer> {
  const { method, url = '/' } = request;
  if (method === 'GET' && url === '/') return showShop();
  if (method === 'GET' && url.startsWith('/orders/')) return showOrder(url.slice('/orders/'.length));
  if (method === 'POST' && url === '/buy') return buy(new URLSearchParams(String(await readBody(request))));
  if (method === 'POST' && url === '/callbacks') return receive(await readBody(request), request.headers);
  return { status: 404, html: 'Nothing here.' };
}

createServer((request, response) => {
  answer(request)
    .catch((error: unknown): Answer => {
      console.error(error);
      return { status: 500, html: 'Something went wrong.' };
    })
    .then(({ status, html = '', location }) => {
      const headers = { 'content-type': 'text/html; charset=utf-8', ...(location ? { location } : {}) };
      response.writeHead(status, headers).end(status === 204 ? undefined : html);
    })
    .catch(console.error);
}).listen(port, () => console.log(`The shop is open: ${shopUrl}`));
