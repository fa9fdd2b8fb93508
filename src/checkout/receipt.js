// What the script adds to a receipt: Share where the browser can, and Print. ES5 syntax, for old browsers.

(function () {
  var share = document.getElementById('share');
  var print = document.getElementById('print');
  if (navigator.share) {
    share.hidden = false;
    share.addEventListener('click', function () {
      // A person who closes the sheet has changed their mind.
      navigator.share({ text: share.dataset.text }).catch(function () {});
    });
  }
  print.hidden = false;
  print.addEventListener('click', function () {
    window.print();
  });
})();
