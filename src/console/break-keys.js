// Keys of the list of breaks, beside those of every list: x selects the row that has the focus, d decides about the selected rows,
// ? shows the keys. Plain ES5 syntax, for old browsers.

(function () {
  var keys = document.querySelector('#keys');

  function toggleRow() {
    var row = document.activeElement.closest && document.activeElement.closest('tr');
    var box = row && row.querySelector('input[type=checkbox]');
    if (box) box.checked = !box.checked;
    return Boolean(box);
  }

  function decide() {
    var button = document.querySelector('#decide');
    if (button) button.click();
    return Boolean(button);
  }

  function showKeys() {
    if (keys) keys.open = !keys.open;
    return Boolean(keys);
  }

  document.addEventListener('keydown', function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    var element = document.activeElement;
    var isField = /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) && element.type !== 'checkbox';
    var act = { x: toggleRow, d: decide, '?': showKeys }[event.key];
    if (act && !isField && act()) event.preventDefault();
  });
})();
