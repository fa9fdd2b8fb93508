// Lets the test phones ring by themselves: each phone waits for its next change and replaces its screen, and prompts of
// simulators are looked up again and again. Without the script the page is loaded again by hand. ES5 syntax, for old browsers.

(function () {
  var FIRST_RETRY_MS = 500;
  var MAX_RETRY_MS = 15000;
  var RINGS = '(1) ';
  var RING_PATTERN = [200, 100, 200];

  var MUTED = 'simbi.phone.muted';
  var NOTES = [659.25, 880];
  var NOTE_SECONDS = 0.18;
  var VOLUME = 0.06;
  var PROMPTS_EVERY_MS = 3000;
  var speaker = null;

  // Browsers without a place to keep it, or whose owner forbids it, are never muted.
  function isMuted() {
    try {
      return localStorage.getItem(MUTED) === '1';
    } catch (forbidden) {
      return !forbidden;
    }
  }

  // Two soft notes. Browsers let a page sound only after its first touch.
  function sound() {
    var Speaker = window.AudioContext || window.webkitAudioContext;
    if (!Speaker || isMuted()) return;
    speaker = speaker || new Speaker();
    NOTES.forEach(function (pitch, index) {
      var from = speaker.currentTime + index * NOTE_SECONDS;
      var note = speaker.createOscillator();
      var volume = speaker.createGain();
      note.frequency.value = pitch;
      volume.gain.setValueAtTime(0, from);
      volume.gain.linearRampToValueAtTime(VOLUME, from + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, from + 2 * NOTE_SECONDS);
      note.connect(volume);
      volume.connect(speaker.destination);
      note.start(from);
      note.stop(from + 2 * NOTE_SECONDS);
    });
  }

  // The title of the tab says that a phone rings; once the page was touched, it sounds, and a real phone vibrates.
  function ring(isRinging) {
    var quiet = document.title.replace(RINGS, '');
    var touched = navigator.userActivation && navigator.userActivation.hasBeenActive;
    if (isRinging && document.title === quiet && touched) {
      if (navigator.vibrate && !isMuted()) navigator.vibrate(RING_PATTERN);
      sound();
    }
    document.title = isRinging ? RINGS + quiet : quiet;
  }

  var mute = document.getElementById('mute');
  function showMute() {
    mute.setAttribute('aria-pressed', String(isMuted()));
  }
  if (mute) {
    mute.hidden = false;
    showMute();
    mute.addEventListener('click', function () {
      try {
        localStorage.setItem(MUTED, isMuted() ? '0' : '1');
      } catch (forbidden) {
        mute.hidden = Boolean(forbidden);
        return;
      }
      showMute();
      sound();
    });
  }

  // Prompts of operators' simulators are not ours: nobody tells us when there is one.
  var prompts = document.getElementById('simulators');
  function lookForPrompts() {
    if (document.hidden) return;
    fetch('/sandbox/phone/simulators', { cache: 'no-store' })
      .then(function (response) {
        if (!response.ok) throw response;
        return response.json();
      })
      .then(
        function (found) {
          if (found.version === prompts.dataset.version) return;
          if (found.count > Number(prompts.dataset.count)) sound();
          prompts.dataset.version = found.version;
          prompts.dataset.count = found.count;
          prompts.innerHTML = found.html;
        },
        function () {},
      );
  }
  if (prompts) setInterval(lookForPrompts, PROMPTS_EVERY_MS);

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
