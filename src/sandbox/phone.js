// Lets the test phones ring by themselves: each phone waits for its next change and replaces its screen. Without the
// script the page is loaded again by hand. ES5 syntax, for old browsers.

(function () {
  var FIRST_RETRY_MS = 500;
  var MAX_RETRY_MS = 15000;
  var RINGS = '(1) ';
  var RING_PATTERN = [200, 100, 200];

  // The title of the tab says that a phone rings; a real phone also vibrates, once its page was touched.
  function ring(isRinging) {
    var quiet = document.title.replace(RINGS, '');
    var touched = navigator.userActivation && navigator.userActivation.hasBeenActive;
    if (isRinging && document.title === quiet && touched && navigator.vibrate) navigator.vibrate(RING_PATTERN);
    document.title = isRinging ? RINGS + quiet : quiet;
  }

  document.querySelectorAll('.phone').forEach(function (phone) {
    var screen = phone.querySelector('.screen');
    var retryMs = FIRST_RETRY_MS;

    function typedValues() {
      var values = {};
      screen.querySelectorAll('input[id]').forEach(function (input) {
        values[input.id] = input.value;
      });
      return values;
    }

    // What was being typed stays, and so does the focus.
    function show(change) {
      var values = typedValues();
      var active = document.activeElement;
      var focused = active && screen.contains(active) ? active.id : '';
      screen.innerHTML = change.html;
      phone.dataset.version = change.version;
      ring(change.rings);
      phone.classList.toggle('off', !change.on);
      Object.keys(values).forEach(function (id) {
        var input = document.getElementById(id);
        if (input) input.value = values[id];
      });
      var element = focused && document.getElementById(focused);
      if (element) element.focus();
    }

    // The server answers when the phone has changed, or after a while; then the next question follows at once.
    function waitForChange() {
      if (document.hidden) return;
      fetch(phone.dataset.changes + '&version=' + phone.dataset.version, { cache: 'no-store' })
        .then(function (response) {
          if (!response.ok) throw response;
          return response.json();
        })
        .then(
          function (change) {
            retryMs = FIRST_RETRY_MS;
            if (String(change.version) !== phone.dataset.version) show(change);
            waitForChange();
          },
          function () {
            setTimeout(waitForChange, retryMs);
            retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
          },
        );
    }

    document.addEventListener('visibilitychange', waitForChange);
    waitForChange();
  });
})();
