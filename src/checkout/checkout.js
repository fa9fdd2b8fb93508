// What the script adds to the hosted pages, all of which work without it: a double click sends a form once, the number
// selects its operator until the payer does, a waiting page reloads when its state changes, a paid one returns to the
// shop, numbers can be copied. ES5 syntax, for old browsers; at most 2 kB after minifying.

(function () {
  var RETURN_AFTER_MS = 5000;
  // Between two questions for the state: 2.5 s at first, at most 8 s later.
  var ASK_STEP_MS = 500;
  var FIRST_ASK_STEPS = 5;
  var MAX_ASK_STEPS = 16;

  var page = document.body.dataset;
  var live = find('#live');
  var timer = 0;

  function find(selector) {
    return document.querySelector(selector);
  }

  function forEach(selector, work) {
    // Lists of elements have no forEach in browsers before 2016.
    [].forEach.call(document.querySelectorAll(selector), work);
  }

  // The live region is filled by the script only, so that it promises nothing to browsers without one.
  function announce(text) {
    live.textContent = text;
  }

  // A form is sent once. Back may show this page from the browser's cache: then its forms can be sent again.
  document.addEventListener('submit', function (event) {
    var form = event.target;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    if (form.method !== 'post') return;
    form.dataset.sent = 1;
    // A button that is disabled at once would not be sent.
    setTimeout(function () {
      form.querySelector('button').disabled = true;
    });
  });
  window.addEventListener('pageshow', function () {
    forEach('[data-sent]', function (form) {
      delete form.dataset.sent;
      form.querySelector('button').disabled = false;
    });
  });

  // The longest matching prefix of the number selects the operator, as long as the payer has not chosen one.
  var phone = find('#phone');
  var chosen = find('[name=method]:checked');
  var chosenByPrefix = chosen && 'guessed' in chosen.dataset;

  function nationalNumber() {
    var digits = phone.value.replace(/[^0-9+]/g, '').replace(/^(\+|00)/, '');
    if (digits.indexOf(page.dial) === 0) return digits.slice(page.dial.length);
    return digits.indexOf(page.trunk) === 0 ? digits.slice(page.trunk.length) : digits;
  }

  if (phone && page.dial) {
    forEach('[name=method]', function (method) {
      method.addEventListener('change', function () {
        chosen = method;
        chosenByPrefix = false;
      });
    });
    phone.addEventListener('input', function () {
      if (chosen && !chosenByPrefix) return;
      var number = nationalNumber();
      var longest = '';
      var match;
      forEach('[name=method]:not(:disabled)', function (method) {
        method.dataset.prefixes.split(' ').forEach(function (prefix) {
          if (number.indexOf(prefix) === 0 && prefix.length > longest.length) {
            longest = prefix;
            match = method;
          }
        });
      });
      if (match && !match.checked) {
        match.checked = true;
        chosen = match;
        chosenByPrefix = true;
      }
    });
  }

  // A waiting page asks for its state, less often as time passes and not while it is hidden.
  var steps = FIRST_ASK_STEPS;

  function askLater() {
    clearTimeout(timer);
    timer = setTimeout(ask, steps * ASK_STEP_MS);
    if (steps < MAX_ASK_STEPS) steps++;
  }

  function ask() {
    if (document.hidden) return;
    fetch(page.url + '/status', { cache: 'no-store' })
      .then(function (response) {
        return response.json();
      })
      .then(function (status) {
        // An answer without a stage is an error, such as a gateway that is busy.
        if (status.stage && status.stage !== page.stage) location.replace(page.url + page.query);
        else askLater();
      }, askLater);
  }

  if (page.stage && live && window.fetch) {
    announce(live.dataset.text);
    document.addEventListener('visibilitychange', function () {
      clearTimeout(timer);
      ask();
    });
    askLater();
  }

  // A page that was just paid returns to the shop, unless the payer stays.
  var back = find('[data-return]');
  var stay = find('#stay');
  if (back && stay) {
    announce(live.dataset.text);
    stay.hidden = false;
    timer = setTimeout(function () {
      location.replace(back.href);
    }, RETURN_AFTER_MS);
    stay.addEventListener('click', function () {
      clearTimeout(timer);
      stay.hidden = true;
      announce('');
    });
  }

  // Numbers to type on the phone can be copied.
  forEach('[data-copy]', function (button) {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener('click', function () {
      void navigator.clipboard.writeText(button.dataset.copy).then(function () {
        button.textContent = button.dataset.done;
      });
    });
  });

  var print = find('#print');
  if (print) {
    print.hidden = false;
    print.addEventListener('click', function () {
      window.print();
    });
  }
})();
