// Keys of a list: j and k move from row to row, Enter opens the row that has the focus. Plain ES5 syntax, for old browsers.

(function () {
  function rows() {
    return Array.prototype.slice.call(document.querySelectorAll('main .row-link'));
  }

  document.addEventListener('keydown', function (event) {
    var step = { j: 1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
    var links = rows();
    var here = links.indexOf(document.activeElement);
    var next = links[here < 0 ? 0 : here + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: 'nearest' });
  });
})();
