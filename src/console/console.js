// What the script adds to pages that work without it: copy buttons, Ctrl+K, menus that close, pages that
// refresh themselves, and files read into fields. Plain ES5 syntax, for old browsers.

(function () {
  var LOGO_PIXELS = 192;
  var COPIED_MS = 2000;
  var EXPORT_FIRST_MS = 400;
  var EXPORT_NEXT_MS = 700;

  function findAll(selector, root) {
    return Array.prototype.slice.call((root || document).querySelectorAll(selector));
  }

  function find(selector) {
    return document.querySelector(selector);
  }

  // What is of use only with a script. Also done to a page that was loaded again. Browsers copy only over https, or on this machine.
  function enhance(root) {
    findAll(navigator.clipboard ? 'button[data-copy],[data-js]' : '[data-js]', root).forEach(function (element) {
      element.hidden = false;
    });
  }

  function copyOnClick() {
    document.addEventListener('click', function (event) {
      var button = event.target.closest && event.target.closest('button[data-copy]');
      if (!button) return;
      // Beside an icon the text has an element of its own.
      var place = button.querySelector('.button-label') || button;
      // A second press finds the text of the first.
      var label = button.dataset.label || place.textContent;
      var done = button.dataset.done;
      button.dataset.label = label;
      void navigator.clipboard.writeText(find(button.dataset.copy).textContent).then(function () {
        place.textContent = done;
        button.classList.add('done');
        find('#say').textContent = done;
        setTimeout(function () {
          place.textContent = label;
          button.classList.remove('done');
        }, COPIED_MS);
      });
    });
  }

  function printOnClick() {
    document.addEventListener('click', function (event) {
      if (event.target.closest && event.target.closest('[data-print]')) window.print();
    });
  }

  // Ctrl+K, or a slash outside of a field.
  function focusSearchByKey() {
    document.addEventListener('keydown', function (event) {
      var search = find('#q');
      var inField = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
      var wanted = event.key === 'k' ? event.ctrlKey || event.metaKey : event.key === '/' && !inField;
      if (!search || !wanted) return;
      event.preventDefault();
      search.focus();
      search.select();
    });
  }

  // A form is sent once, however often its button is pressed.
  function sendFormsOnce() {
    function setDisabled(form, disabled) {
      findAll('button', form).forEach(function (button) {
        button.disabled = disabled;
      });
    }
    document.addEventListener('submit', function (event) {
      var form = event.target;
      if (form.method !== 'post' || form.target) return;
      if (form.dataset.sent) {
        event.preventDefault();
        return;
      }
      form.dataset.sent = 1;
      // Not at once: a disabled button would not be sent along.
      setTimeout(function () {
        setDisabled(form, true);
      });
    });
    // Back in the history shows the page as it was left.
    addEventListener('pageshow', function () {
      findAll('form[data-sent]').forEach(function (form) {
        delete form.dataset.sent;
        setDisabled(form, false);
      });
    });
  }

  function followFields() {
    document.addEventListener('change', function (event) {
      var field = event.target;
      if (field.dataset.submit) field.form.submit();
      var file = field.type === 'file' && field.files[0];
      if (file && field.dataset.text)
        file.text().then(function (text) {
          find(field.dataset.text).value = text;
        });
      if (file && field.dataset.image) readLogo(file, find(field.dataset.image));
      if (field.dataset.file) readAsAddress(file, find(field.dataset.file));
    });
  }

  // A file as it is, as a data address in a hidden field.
  function readAsAddress(file, target) {
    target.value = '';
    if (!file) return;
    var reader = new FileReader();
    reader.onload = function () {
      target.value = reader.result;
    };
    reader.readAsDataURL(file);
  }

  // A picture, made small, as a data address in a hidden field, and in the preview.
  function readLogo(file, target) {
    var reader = new FileReader();
    reader.onload = function () {
      var image = new Image();
      image.onload = function () {
        var scale = Math.min(1, LOGO_PIXELS / Math.max(image.width, image.height));
        var canvas = document.createElement('canvas');
        canvas.width = Math.max(1, image.width * scale);
        canvas.height = Math.max(1, image.height * scale);
        canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
        target.value = canvas.toDataURL('image/png');
        var preview = find('#preview-logo');
        preview.src = target.value;
        preview.hidden = false;
      };
      image.src = reader.result;
    };
    reader.readAsDataURL(file);
  }

  // Loads the page again every few seconds, except while the viewer is busy in it.
  function refreshPage() {
    var everyMs = (document.body.dataset.live || 0) * 1000;
    if (!everyMs) return;
    function later(factor) {
      setTimeout(load, everyMs * factor);
    }
    function load() {
      var main = find('main');
      if (document.hidden || find('main details[open]') || main.contains(document.activeElement)) return later(1);
      fetch(location.href, { cache: 'no-store', headers: { 'X-Live': '1' } })
        .then(function (answer) {
          return answer.ok && !answer.redirected ? answer.text() : '';
        })
        .then(
          function (text) {
            if (!text) return;
            var page = new DOMParser().parseFromString(text, 'text/html');
            enhance(page);
            var fresh = page.querySelector('main');
            if (fresh && fresh.innerHTML !== main.innerHTML) main.innerHTML = fresh.innerHTML;
            if (page.body.dataset.live) later(1);
          },
          function () {
            later(2);
          },
        );
    }
    later(1);
  }

  // A menu that lies over the page closes when it is left, and with Escape: what has the focus must not be under it.
  function closeMenus() {
    function closeAllBut(inside) {
      findAll('details[open] > .popover, details[open] > .sheet').forEach(function (menu) {
        if (!menu.parentNode.contains(inside)) menu.parentNode.open = false;
      });
    }
    document.addEventListener('focusin', function (event) {
      closeAllBut(event.target);
    });
    document.addEventListener('click', function (event) {
      closeAllBut(event.target);
    });
    document.addEventListener('keydown', function (event) {
      if (event.key !== 'Escape') return;
      var menu = find('details[open] > .popover, details[open] > .sheet');
      if (!menu) return;
      menu.parentNode.open = false;
      menu.parentNode.querySelector('summary').focus();
    });
  }

  function showExportProgress() {
    var link = find('a[data-export]');
    if (!link) return;
    function ask() {
      void fetch('/console/exports/' + link.dataset.export, { cache: 'no-store' })
        .then(function (answer) {
          return answer.json();
        })
        .then(function (progress) {
          find('#exported').textContent = progress.text;
          if (!progress.done) setTimeout(ask, EXPORT_NEXT_MS);
        });
    }
    link.addEventListener('click', function () {
      setTimeout(ask, EXPORT_FIRST_MS);
    });
  }

  enhance();
  copyOnClick();
  printOnClick();
  focusSearchByKey();
  sendFormsOnce();
  followFields();
  refreshPage();
  closeMenus();
  showExportProgress();
})();
