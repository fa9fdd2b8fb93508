// Copy buttons, search while typing, and the language that was chosen last. Pages work without it. ES5 syntax, for old browsers.

(function () {
  var say = document.querySelector('#say');

  // The menu shows where one is.
  var side = document.querySelector('.side');
  var here = side.querySelector('[aria-current]');
  if (here) side.scrollTop = here.offsetTop - side.clientHeight / 2;

  // Copy buttons
  if (navigator.clipboard)
    document.querySelectorAll('button.copy').forEach(function (button) {
      button.hidden = false;
      button.addEventListener('click', function () {
        var text = button.parentNode.querySelector('pre').textContent;
        void navigator.clipboard.writeText(text).then(function () {
          button.classList.add('done');
          say.textContent = 'Copied';
          setTimeout(function () {
            button.classList.remove('done');
          }, 1500);
        });
      });
    });

  // The language of the tabs, on every page
  var KEY = 'docs-language';
  function choose(language) {
    document.querySelectorAll('.tabs > input').forEach(function (input) {
      if (input.getAttribute('data-language') === language) input.checked = true;
    });
  }
  // A browser that stores nothing for us throws when it is asked.
  function stored(use) {
    try {
      return use(localStorage);
    } catch (refusal) {
      void refusal;
      return null;
    }
  }
  var known = stored(function (storage) {
    return storage.getItem(KEY);
  });
  if (known) choose(known);
  document.addEventListener('change', function (event) {
    var input = event.target;
    var language = input.getAttribute('data-language');
    if (!language) return;
    var before = input.parentNode.getBoundingClientRect().top;
    choose(language);
    // Tabs above this one may have become longer.
    window.scrollBy(0, input.parentNode.getBoundingClientRect().top - before);
    stored(function (storage) {
      storage.setItem(KEY, language);
    });
  });
  // A link to a heading inside of a tab opens that tab.
  function openTarget() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var panel = target && target.closest && target.closest('.panel');
    if (!panel) return;
    var place = Array.prototype.indexOf.call(panel.parentNode.children, panel);
    panel.parentNode.parentNode.querySelectorAll('input[type=radio]')[place].checked = true;
    panel.parentNode.parentNode.scrollIntoView();
  }
  window.addEventListener('hashchange', openTarget);
  openTarget();

  // Search while typing
  var PAUSE_MS = 120;
  var MAX_SHOWN = 8;
  var form = document.querySelector('.docs-search');
  var input = form.querySelector('input');
  var box = document.createElement('div');
  var timer = 0;
  var asked = '';
  var chosen = -1;
  box.id = 'found';
  box.className = 'found-box';
  box.setAttribute('role', 'listbox');
  box.setAttribute('aria-label', 'Results');
  form.appendChild(box);
  input.setAttribute('role', 'combobox');
  input.setAttribute('autocomplete', 'off');
  input.setAttribute('aria-autocomplete', 'list');
  input.setAttribute('aria-controls', box.id);
  show(false);

  function show(isShown) {
    box.hidden = !isShown;
    input.setAttribute('aria-expanded', String(isShown));
    if (!isShown) mark(-1);
  }

  function mark(index) {
    var all = box.querySelectorAll('a');
    chosen = Math.min(index, all.length - 1);
    all.forEach(function (link, place) {
      link.setAttribute('aria-selected', String(place === chosen));
    });
    if (chosen < 0) input.removeAttribute('aria-activedescendant');
    else {
      input.setAttribute('aria-activedescendant', all[chosen].id);
      all[chosen].scrollIntoView({ block: 'nearest' });
    }
  }

  function line(name, text) {
    var element = document.createElement(name);
    element.textContent = text;
    return element;
  }

  function fill(results) {
    box.textContent = '';
    results.slice(0, MAX_SHOWN).forEach(function (result, place) {
      var link = document.createElement('a');
      link.href = result.url;
      link.id = 'found-' + place;
      link.setAttribute('role', 'option');
      link.setAttribute('tabindex', '-1');
      link.appendChild(line('b', result.title));
      if (result.page !== result.title) link.appendChild(line('small', result.page));
      link.appendChild(line('span', result.excerpt));
      box.appendChild(link);
    });
    if (results.length === 0) box.appendChild(line('p', 'Nothing found. Try another word.'));
    say.textContent = results.length === 0 ? 'Nothing found' : Math.min(results.length, MAX_SHOWN) + ' results';
    show(document.activeElement === input);
    mark(-1);
  }

  function ask() {
    var q = input.value.trim();
    if (q === asked) return;
    asked = q;
    if (q.length < 2) {
      show(false);
      return;
    }
    fetch('/docs/search?q=' + encodeURIComponent(q), { headers: { accept: 'application/json' } })
      .then(function (answer) {
        return answer.json();
      })
      .then(
        function (answer) {
          // An answer that comes after the next question is late.
          if (q === asked && answer.success) fill(answer.data);
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
    if (box.firstChild && asked.length > 1 && input.value.trim() === asked) show(true);
  });
  input.addEventListener('blur', function () {
    show(false);
  });
  input.addEventListener('keydown', function (event) {
    if (box.hidden) return;
    if (event.key === 'Escape') {
      event.preventDefault();
      show(false);
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      mark(Math.max(-1, chosen + (event.key === 'ArrowDown' ? 1 : -1)));
    } else if (event.key === 'Enter' && chosen >= 0) {
      event.preventDefault();
      box.querySelectorAll('a')[chosen].click();
    }
  });
  // A press on a result takes the focus from the box before the click arrives.
  box.addEventListener('mousedown', function (event) {
    event.preventDefault();
  });
  document.addEventListener('keydown', function (event) {
    var isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if ((event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      input.focus();
    }
  });
})();
