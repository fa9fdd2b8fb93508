"""A small shop without a client library: two products, a prompt on the customer's phone, a verified callback, an order
that is paid exactly once. Python 3.8 or newer, standard library only."""

import base64, hashlib, hmac, html, json, os, pathlib, secrets, sqlite3, time
import urllib.error, urllib.parse, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

if "SIMBI_URL" in os.environ:
    demo = {}
else:
    root = pathlib.Path(__file__).resolve().parents[2]
    demo = json.loads(pathlib.Path(os.environ.get("DEMO", root / "data/demo.json")).read_text())


def setting(name, key):
    return os.environ.get(name) or demo[key]


URL = setting("SIMBI_URL", "base_url")
CLIENT_ID = setting("SIMBI_CLIENT_ID", "client_id")
SECRET_KEY = setting("SIMBI_SECRET_KEY", "secret_key")
SENDER = setting("SIMBI_SENDER", "sender")
CALLBACK_SECRET = setting("SIMBI_CALLBACK_SECRET", "callback_secret")
PORT = int(os.environ.get("PORT", "3000"))
SHOP_URL = os.environ.get("SHOP_URL", f"http://localhost:{PORT}")

UGANDA, CURRENCY = 11, "UGX"
PRODUCTS = {"coffee": ("Coffee from Mount Elgon", 25000), "basket": ("Woven basket", 60000)}
MAX_BODY_BYTES = 64 * 1024
TOLERANCE_SECONDS = 300
TRIES = 3

# A file, or your database, in real life.
db = sqlite3.connect(":memory:", isolation_level=None)
db.execute("create table orders (id text primary key, product text, status text, ref text)")
db.execute("create table received_events (id text primary key)")
db.execute("create table stock (product text primary key, pieces integer)")
db.executemany("insert into stock values (?, 10)", [(product,) for product in PRODUCTS])


# --- asking the gateway ---------------------------------------------------------------------------------------------


def envelope(params):
    body = {
        "client_id": CLIENT_ID,
        "sender": SENDER,
        "timestamp": int(time.time()),
        "salt": secrets.token_hex(16),
        "params": params,
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    body["signature"] = hmac.new(SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()
    return json.dumps(body).encode()


def call(path, params, idempotency_key):
    """Tries again when there was no answer or the gateway was busy: same key, new signature."""
    for attempt in range(TRIES):
        headers = {"Content-Type": "application/json", "Idempotency-Key": idempotency_key}
        request = urllib.request.Request(URL + path, envelope(params), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            text = refusal.read()
            # A number that has too many prompts needs time; a busy gateway is asked again.
            if refusal.code < 500 and (refusal.code != 429 or b'"number_limited"' in text):
                return json.loads(text)
        except OSError:
            pass
        if attempt < TRIES - 1:
            time.sleep(2**attempt / 2)
    return None


def buy(product, mobile):
    order = secrets.token_hex(16)
    # Written before the payment is asked for, so that the callback always finds it.
    db.execute("insert into orders values (?, ?, 'waiting for your phone', null)", (order, product))
    params = {
        # Text, because numbers are written differently by every language.
        "amount": str(PRODUCTS[product][1]),
        "mobile": mobile,
        "country_id": UGANDA,
        "currency": CURRENCY,
        "third_party_reference_1": order,
        "callback_url": SHOP_URL + "/callbacks",
    }
    answer = call("/api/v3/service-unified-collections", params, order)
    if answer is None:
        # Not known is not refused: the callback will tell.
        return order
    if answer["success"]:
        db.execute("update orders set ref = ? where id = ?", (answer["data"]["ref"], order))
    else:
        sentences = [sentence for field in answer.get("errors", {}).values() for sentence in field]
        reason = sentences[0] if sentences else answer["message"]
        db.execute("update orders set status = ? where id = ?", ("refused: " + reason, order))
    return order


# --- being told -----------------------------------------------------------------------------------------------------


def is_genuine(headers, body):
    """Standard Webhooks: base64 of HMAC-SHA256 over id, timestamp and the raw body."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(CALLBACK_SECRET[len("whsec_") :])
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    right = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(right.encode(), entry.encode()) for entry in given)


def receive(event):
    """The same event never counts twice: its id is a unique key, written together with what it changes."""
    db.execute("begin immediate")
    try:
        fresh = db.execute("insert into received_events values (?) on conflict do nothing", (event["id"],)).rowcount
        data = event["data"]
        order = db.execute(
            # Events may overtake each other; money that was given back stays given back.
            "select id, product, status from orders where id = ? and status <> 'given back'",
            (data.get("third_party_reference_1"),),
        ).fetchone()
        if fresh and order:
            status = status_after(event["type"], data, PRODUCTS[order[1]][1])
            # A success can follow a failure, and the failure arrive last: then the order stays paid.
            if status and not (status == "not paid" and order[2] == "paid"):
                db.execute("update orders set status = ? where id = ?", (status, order[0]))
            if status == "paid":
                db.execute("update stock set pieces = pieces - 1 where product = ?", (order[1],))
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise


def status_after(event_type, data, price):
    if event_type == "collection.success":
        return "paid" if (data["amount"], data["currency"]) == (price, CURRENCY) else None
    if event_type in ("collection.failed", "collection.expired"):
        return "not paid"
    return "given back" if event_type == "collection.reversed" else None


# --- the pages ------------------------------------------------------------------------------------------------------


def shop_page():
    items = ""
    for product, (name, price) in PRODUCTS.items():
        pieces = db.execute("select pieces from stock where product = ?", (product,)).fetchone()[0]
        items += (
            f"<li>{name}, {CURRENCY} {price}, {pieces} left"
            f'<form method="post" action="/buy"><input type="hidden" name="product" value="{product}">'
            '<label>Your number <input name="mobile" value="0772123000"></label> <button>Buy</button></form></li>'
        )
    return f"<h1>Shop</h1><ul>{items}</ul>"


def order_page(order):
    row = db.execute("select product, status from orders where id = ?", (order,)).fetchone()
    if not row:
        return None
    return (
        f'<meta http-equiv="refresh" content="2"><h1>{PRODUCTS[row[0]][0]}</h1>'
        f'<p>Order: {html.escape(row[1])}</p><a href="/">Shop</a>'
    )


class Shop(BaseHTTPRequestHandler):
    def answer(self, status, page="", **headers):
        body = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        page = shop_page() if self.path == "/" else None
        if self.path.startswith("/orders/"):
            page = order_page(self.path[len("/orders/") :])
        self.answer(200, page) if page else self.answer(404, "Nothing here.")

    def do_POST(self):
        length = int(self.headers.get("Content-Length", "0"))
        if length > MAX_BODY_BYTES:
            return self.answer(413)
        body = self.rfile.read(length)
        if self.path == "/callbacks":
            if not is_genuine(self.headers, body):
                return self.answer(400)
            receive(json.loads(body))
            return self.answer(204)
        form = dict(urllib.parse.parse_qsl(body.decode()))
        if self.path == "/buy" and form.get("product") in PRODUCTS:
            return self.answer(303, Location="/orders/" + buy(form["product"], form.get("mobile", "")))
        self.answer(404, "Nothing here.")

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", PORT), Shop)
print(f"The shop is open: {SHOP_URL}", flush=True)
server.serve_forever()
