// Shows new callbacks by itself. Without the script the page is loaded again by hand. ES5 syntax, for old browsers.

(function () {
  var EVERY_MS = 2000;
  var list = document.getElementById('received');

  function update(page) {
    var fresh = new DOMParser().parseFromString(page, 'text/html').getElementById('received');
    // What a person has unfolded stays as it is until something new arrives.
    if (!fresh || fresh.dataset.newest === list.dataset.newest) return;
    list.innerHTML = fresh.innerHTML;
    list.dataset.newest = fresh.dataset.newest;
  }

  setInterval(function () {
    if (document.hidden) return;
    fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' })
      .then(function (response) {
        return response.ok ? response.text() : '';
      })
      .then(update, function () {
        // The next question may be answered.
      });
  }, EVERY_MS);
})();
