// The home page: the figures of a day under the pointer, and the example number of the chosen country.

(function () {
  var tip;

  function dayOf(event) {
    return event.target.closest && event.target.closest('.chart-day');
  }

  function addLine(text, className) {
    var row = document.createElement('span');
    if (className) row.className = className;
    row.textContent = text;
    tip.appendChild(row);
  }

  function show(day) {
    var chart = day.closest('.chart-box');
    var nativeTip = day.querySelector('title');
    var box = day.getBoundingClientRect();
    var frame = chart.getBoundingClientRect();
    var left;
    if (nativeTip) day.removeChild(nativeTip);
    tip = chart.querySelector('.chart-tip');
    if (!tip) {
      tip = document.createElement('div');
      tip.className = 'chart-tip';
      tip.setAttribute('aria-hidden', 'true');
      chart.appendChild(tip);
    }
    tip.textContent = '';
    addLine(day.dataset.title, 'muted');
    addLine(day.dataset.now, 'tip-now');
    if (day.dataset.before) addLine(day.dataset.before, 'muted');
    tip.hidden = false;
    left = box.left - frame.left + box.width / 2 - tip.offsetWidth / 2;
    tip.style.left = Math.max(0, Math.min(left, frame.width - tip.offsetWidth)) + 'px';
  }

  document.addEventListener('pointerover', function (event) {
    var day = dayOf(event);
    if (day) show(day);
    else if (tip) tip.hidden = true;
  });

  document.addEventListener('change', function (event) {
    var field = event.target;
    var number = field.form && field.form.elements.mobile;
    var chosen = field.selectedOptions && field.selectedOptions[0];
    if (field.name !== 'country_id' || !number || !chosen) return;
    var examples = (number.dataset.examples || '').split(' ');
    if (number.value && examples.indexOf(number.value.replace(/\D/g, '')) < 0) return;
    number.value = '+' + (examples[chosen.index] || '');
  });
})();
