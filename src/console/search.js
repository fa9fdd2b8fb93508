// Results under the search box while a person types. Without it, Enter shows them on a page. Plain ES5 syntax, for old browsers.

(function () {
  var PAUSE_MS = 120;
  var form = document.querySelector('form.search');
  if (!form || !window.fetch) return;
  var input = form.querySelector('input');
  var box = document.createElement('div');
  var timer = 0;
  var asked = '';
  var chosen = -1;

  box.id = 'suggestions';
  box.className = 'suggestions';
  box.hidden = true;
  box.setAttribute('role', 'listbox');
  box.setAttribute('aria-label', input.getAttribute('aria-label'));
  form.appendChild(box);
  input.setAttribute('role', 'combobox');
  input.setAttribute('autocomplete', 'off');
  input.setAttribute('aria-autocomplete', 'list');
  input.setAttribute('aria-controls', box.id);
  show(false);

  function show(isShown) {
    box.hidden = !isShown;
    input.setAttribute('aria-expanded', String(isShown));
    if (!isShown) choose(-1);
  }

  function options() {
    return Array.prototype.slice.call(box.querySelectorAll('[role=option]'));
  }

  function choose(index) {
    var all = options();
    chosen = all.length === 0 ? -1 : Math.min(index, all.length - 1);
    all.forEach(function (each, place) {
      each.id = 'suggestion-' + place;
      each.setAttribute('aria-selected', String(place === chosen));
    });
    if (chosen < 0) input.removeAttribute('aria-activedescendant');
    else {
      input.setAttribute('aria-activedescendant', 'suggestion-' + chosen);
      all[chosen].scrollIntoView({ block: 'nearest' });
    }
  }

  function ask() {
    var q = input.value.trim();
    if (q === asked) return;
    asked = q;
    if (q.length < 2) {
      show(false);
      return;
    }
    fetch('/console/search/suggestions?q=' + encodeURIComponent(q), { cache: 'no-store' })
      .then(function (answer) {
        return answer.ok && !answer.redirected ? answer.text() : '';
      })
      .then(
        function (text) {
          // An answer that comes after the next question is late.
          if (!text || q !== asked) return;
          box.innerHTML = text;
          show(document.activeElement === input);
          choose(-1);
          document.querySelector('#say').textContent = box.firstChild.getAttribute('data-said');
        },
        function () {
          show(false);
        },
      );
  }

  input.addEventListener('input', function () {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE_MS);
  });
  input.addEventListener('focus', function () {
    if (box.firstChild && input.value.trim().length > 1 && input.value.trim() === asked) show(true);
  });
  input.addEventListener('keydown', function (event) {
    if (event.key === 'Escape' && !box.hidden) {
      event.preventDefault();
      show(false);
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (box.hidden) return;
      event.preventDefault();
      choose(Math.max(-1, chosen + (event.key === 'ArrowDown' ? 1 : -1)));
    } else if (event.key === 'Enter' && !box.hidden && chosen >= 0) {
      event.preventDefault();
      options()[chosen].click();
    }
  });
  // A press on a result takes the focus from the box before the click arrives.
  box.addEventListener('mousedown', function (event) {
    event.preventDefault();
  });
  input.addEventListener('blur', function () {
    show(false);
  });
})();
