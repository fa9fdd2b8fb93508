// Copy buttons: hidden without a script, which they need. ES5 syntax, for old browsers.

(function () {
  if (!navigator.clipboard) return;
  document.querySelectorAll('button[data-copy]').forEach(function (button) {
    button.hidden = false;
    button.addEventListener('click', function () {
      var text = document.querySelector(button.dataset.copy).textContent;
      void navigator.clipboard.writeText(text).then(function () {
        button.textContent = button.dataset.done;
      });
    });
  });
})();
