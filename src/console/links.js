// The preview of a payment link, as the payer will see it. Plain ES5 syntax, for old browsers.

(function () {
  var form = document.querySelector('form[data-preview]');
  var amount = document.querySelector('#preview-amount');
  if (!form || !amount) return;

  function find(id) {
    return document.querySelector(id);
  }

  function typed(name) {
    var field = form.elements[name];
    return field ? field.value.trim() : '';
  }

  function currency() {
    var country = form.elements.country_id;
    var option = country && country.options[country.selectedIndex];
    var match = option && /\(([A-Z]{3})\)/.exec(option.text);
    return match ? match[1] : '';
  }

  // As the page prints it: groups of three, and the currency where the language puts it.
  function printed(text) {
    var parts = /^(.*?)([.,]\d{1,2})?$/.exec(text.replace(/\s/g, ''));
    var whole = parts[1].replace(/[.,]/g, '').replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
    return amount.dataset.one.replace('KES', currency()).replace('1', whole + (parts[2] || ''));
  }

  function paint() {
    [].forEach.call(document.querySelectorAll('[data-shows]'), function (element) {
      element.textContent = typed(element.dataset.shows) || element.dataset.empty;
    });
    var isAny = typed('amount_kind') === 'any';
    var sum = isAny || !typed('amount') ? '' : printed(typed('amount'));
    amount.textContent = isAny ? amount.dataset.any : sum || printed('0');
    find('#preview-pay').textContent = sum;
    find('#preview-button').style.background = typed('accent_colour');
    var initial = find('#preview-initial');
    initial.hidden = !find('#preview-logo').hidden;
    initial.style.background = typed('accent_colour');
    initial.textContent = find('[data-shows=business_name]').textContent.slice(0, 1).toUpperCase();
  }

  form.addEventListener('input', paint);
  form.addEventListener('change', function () {
    // A chosen logo is read first.
    setTimeout(paint, 300);
  });
  paint();
})();
