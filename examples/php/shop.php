<?php
// A small shop without a client library: two products, our hosted page (a payment link), a verified callback, an order
// that is paid exactly once. PHP 8.1 or newer: php -S localhost:3000 examples/php/shop.php

$file = getenv('DEMO') ?: __DIR__ . '/../../data/demo.json';
$demo = getenv('SIMBI_URL') ? [] : json_decode(file_get_contents($file), true);
define('URL', setting('SIMBI_URL', $demo['base_url'] ?? ''));
define('CLIENT_ID', setting('SIMBI_CLIENT_ID', $demo['client_id'] ?? ''));
define('SECRET_KEY', setting('SIMBI_SECRET_KEY', $demo['secret_key'] ?? ''));
define('SENDER', setting('SIMBI_SENDER', $demo['sender'] ?? ''));
define('CALLBACK_SECRET', setting('SIMBI_CALLBACK_SECRET', $demo['callback_secret'] ?? ''));
define('SHOP_URL', getenv('SHOP_URL') ?: 'http://localhost:' . (getenv('PORT') ?: '3000'));
// A database in real life. PHP forgets everything after each request, so orders lie in a file.
define('STORE', getenv('SHOP_DATA') ?: sys_get_temp_dir() . '/simbi-shop.json');

const UGANDA = 11;
const CURRENCY = 'UGX';
const PRODUCTS = ['coffee' => ['Coffee from Mount Elgon', 25000], 'basket' => ['Woven basket', 60000]];
const NEW_STORE = '{"orders":{},"events":{},"stock":{"coffee":10,"basket":10}}';
const TOLERANCE_SECONDS = 300;
const TRIES = 3;
const FLAGS = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_LINE_TERMINATORS | JSON_THROW_ON_ERROR;

// --- the store: one change at a time -----------------------------------------------------------------------------------

/** Stops without it: anybody can sign a callback with an empty secret. */
function setting(string $name, string $else): string {
    $value = getenv($name) ?: $else;
    if ($value !== '') return $value;
    http_response_code(500);
    exit("$name is not set.\n");
}

/** Gives the store to `$change` under a lock and writes what it made of it. */
function change_store(callable $change): mixed {
    $file = fopen(STORE, 'c+');
    flock($file, LOCK_EX);
    $store = json_decode(stream_get_contents($file) ?: NEW_STORE, true);
    $result = $change($store);
    $text = json_encode($store, FLAGS);
    rewind($file);
    ftruncate($file, 0);
    fwrite($file, $text);
    fflush($file);
    flock($file, LOCK_UN);
    return $result;
}

function read_store(): array {
    return change_store(fn (array &$store) => $store);
}

// --- asking the gateway ------------------------------------------------------------------------------------------------

function sorted(mixed $value): mixed {
    if (!is_array($value)) return $value;
    $members = array_map('sorted', $value);
    if (array_is_list($value)) return $members;
    ksort($members, SORT_STRING);
    return $members;
}

function envelope(array $params): string {
    $body = [
        'client_id' => CLIENT_ID,
        'sender' => SENDER,
        'timestamp' => time(),
        'salt' => bin2hex(random_bytes(16)),
        'params' => $params,
    ];
    $body['signature'] = hash_hmac('sha256', json_encode(sorted($body), FLAGS), SECRET_KEY);
    return json_encode($body, FLAGS);
}

/** Tries again when there was no answer or the gateway was busy: same key, new signature. */
function call(string $path, array $params, string $key): ?array {
    for ($attempt = 0; $attempt < TRIES; $attempt++) {
        if ($attempt > 0) usleep(250_000 * 2 ** $attempt);
        $options = [
            'method' => 'POST',
            'header' => "Content-Type: application/json\r\nIdempotency-Key: $key\r\n",
            'content' => envelope($params),
            'ignore_errors' => true,
            'follow_location' => 0,
            'timeout' => 30,
        ];
        $text = @file_get_contents(URL . $path, false, stream_context_create(['http' => $options]));
        $status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0);
        if ($text !== false && $status !== 429 && $status < 500) return json_decode($text, true);
    }
    return null;
}

/** Makes an order and the page to pay it on. Answers where to send the customer. */
function buy(string $product): string {
    [$name, $price] = PRODUCTS[$product];
    $order = bin2hex(random_bytes(16));
    // The order's number is the idempotency key: a retry makes no second link.
    $answer = call('/api/v3/payment-link-api/create', [
        'amount' => (string) $price,
        'currency' => CURRENCY,
        'country_id' => UGANDA,
        'item_name' => $name,
        'callback_url' => SHOP_URL . '/callbacks',
        'redirection_url' => SHOP_URL . "/orders/$order",
    ], $order);
    $link = ($answer['success'] ?? false) ? $answer['data'] : null;
    // Nobody can pay before we show the link, so the callback always finds its order.
    change_store(function (array &$store) use ($order, $product, $link) {
        $status = $link ? 'waiting for your payment' : 'the payment page is not available, please try again later';
        $store['orders'][$order] = ['product' => $product, 'status' => $status, 'link' => $link['id'] ?? null];
    });
    return $link['payment_link'] ?? "/orders/$order";
}

// --- being told --------------------------------------------------------------------------------------------------------

/** Standard Webhooks: base64 of HMAC-SHA256 over id, timestamp and the raw body. */
function is_genuine(string $body): bool {
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) return false;
    $key = base64_decode(substr(CALLBACK_SECRET, strlen('whsec_')));
    $right = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($right, $given)) return true;
    }
    return false;
}

/** The same event never counts twice: its id is kept together with what it changes. */
function receive(array $event): void {
    change_store(function (array &$store) use ($event) {
        if (isset($store['events'][$event['id']])) return;
        $store['events'][$event['id']] = true;
        $data = $event['data'];
        foreach ($store['orders'] as &$order) {
            if ($order['link'] === null || $order['link'] !== ($data['payment_link_id'] ?? null)) continue;
            // Events may overtake each other; money that was given back stays given back.
            if ($order['status'] === 'given back') continue;
            $price = PRODUCTS[$order['product']][1];
            $right = $data['amount'] == $price && $data['currency'] === CURRENCY;
            if ($event['type'] === 'payment_link.paid' && $right) {
                $order['status'] = 'paid';
                $store['stock'][$order['product']] -= 1;
            }
            if ($event['type'] === 'collection.reversed') $order['status'] = 'given back';
        }
    });
}

// --- the pages ---------------------------------------------------------------------------------------------------------

function shop_page(): string {
    $stock = read_store()['stock'];
    $items = '';
    foreach (PRODUCTS as $product => [$name, $price]) {
        $left = $stock[$product];
        $items .= "<li>$name, " . CURRENCY . " $price, $left left"
            . "<form method=\"post\" action=\"/buy\"><input type=\"hidden\" name=\"product\" value=\"$product\">"
            . '<button>Buy</button></form></li>';
    }
    return "<h1>Shop</h1><ul>$items</ul>";
}

function order_page(string $id): ?string {
    $order = read_store()['orders'][$id] ?? null;
    if (!$order) return null;
    [$name] = PRODUCTS[$order['product']];
    $status = htmlspecialchars($order['status']);
    return "<meta http-equiv=\"refresh\" content=\"2\"><h1>$name</h1><p>Order: $status</p><a href=\"/\">Shop</a>";
}

function answer(int $status, string $page = '', string $location = ''): void {
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    if ($location) header("Location: $location", true, $status);
    echo $page;
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$route = $_SERVER['REQUEST_METHOD'] . ' ' . preg_replace('#^/orders/.+#', '/orders', $path);
if ($route === 'GET /') {
    answer(200, shop_page());
} elseif ($route === 'GET /orders' && ($page = order_page(basename($path)))) {
    answer(200, $page);
} elseif ($route === 'POST /buy' && isset(PRODUCTS[$_POST['product'] ?? ''])) {
    answer(303, '', buy($_POST['product']));
} elseif ($route === 'POST /callbacks') {
    // The raw bytes: what was signed, before any parser.
    $body = file_get_contents('php://input');
    $genuine = is_genuine($body);
    if ($genuine) receive(json_decode($body, true));
    answer($genuine ? 204 : 400);
} else {
    answer(404, 'Nothing here.');
}
