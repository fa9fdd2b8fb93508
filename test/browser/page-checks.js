// What axe does not look at, checked in the page itself: each function answers what it found, one line each.

(() => {
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const named = (element) => element.outerHTML.replace(/\s+/g, ' ').slice(0, 110);
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const FIELDS = 'input:not([type=hidden]), select, textarea';

  /** Red, green, blue and how much of what is behind shows through. */
  function readColour(text) {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  }

  function over([red, green, blue, alpha], behind) {
    return [red, green, blue].map((value, at) => value * alpha + behind[at] * (1 - alpha));
  }

  /** The colour behind an element: its own background on those of the elements around it. */
  function ground(element) {
    if (element === null) return readColour('Canvas').slice(0, 3);
    const own = readColour(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, ground(element.parentElement));
  }

  function luminance(colour) {
    const [red, green, blue] = colour.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function contrast(first, second) {
    const [lighter, darker] = [luminance(first), luminance(second)].sort((left, right) => right - left);
    return (lighter + 0.05) / (darker + 0.05);
  }

  const contrastWith = (text, behind) => contrast(over(readColour(text), behind), behind);

  /** What the keyboard reaches, in its order. A group of radio buttons is one stop. */
  function stops() {
    return all(`a[href], button:not(:disabled), ${FIELDS}, summary, [tabindex]`).filter(
      (element) => element.tabIndex >= 0 && !element.disabled,
    );
  }

  // What is folded is looked at too; menus lie over the page and stay closed.
  for (const folded of document.querySelectorAll('main details')) {
    if (!folded.querySelector('.popover')) folded.open = true;
  }

  globalThis.pageChecks = {
    /** One first heading, a name for each table, a scope for each head of a table, no order of the keyboard's own. */
    structure() {
      const heads = all('h1');
      return [
        ...(heads.length === 1 ? [] : [`${heads.length} first headings`]),
        ...all('table')
          .filter(
            (table) => !table.caption && !table.hasAttribute('aria-label') && !table.hasAttribute('aria-labelledby'),
          )
          .map((table) => `a table without a name: ${named(table)}`),
        ...all('th')
          .filter((cell) => !cell.hasAttribute('scope'))
          .map((cell) => `a head without a scope: ${named(cell)}`),
        ...all('[id]')
          .filter((element) => document.getElementById(element.id) !== element)
          .map((element) => `an id that another element has: ${named(element)}`),
        ...all('[tabindex]')
          .filter((element) => element.tabIndex > 0)
          .map((element) => `an order of its own: ${named(element)}`),
      ];
    },

    /** Every stop of the keyboard is marked by an outline that stands out, and is not under something else. */
    focus() {
      const found = [];
      for (const element of stops()) {
        element.focus();
        if (document.activeElement !== element) continue;
        // A control that is drawn by its label has the outline there.
        const drawn = [element, element.closest('label'), element.nextElementSibling, element.parentElement].find(
          (each) =>
            each && getComputedStyle(each).outlineStyle !== 'none' && getComputedStyle(each).outlineWidth !== '0px',
        );
        if (!drawn) {
          found.push(`no outline: ${named(element)}`);
          continue;
        }
        const { outlineColor, outlineWidth, outlineStyle, outlineOffset } = getComputedStyle(drawn);
        if (outlineStyle === 'auto') found.push(`the browser's own outline: ${named(element)}`);
        else if (parseFloat(outlineWidth) < 2) found.push(`an outline of ${outlineWidth}: ${named(element)}`);
        else {
          const behind = ground(parseFloat(outlineOffset) < 0 ? drawn : drawn.parentElement);
          const ratio = contrastWith(outlineColor, behind);
          if (ratio < 3) found.push(`an outline with a contrast of ${ratio.toFixed(2)}: ${named(element)}`);
        }
        const box = element.getBoundingClientRect();
        const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height, innerHeight) / 2];
        const top = document.elementFromPoint(x, y);
        const isInView = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
        if (!isInView) found.push(`focused outside of the screen: ${named(element)}`);
        else if (top && !element.contains(top) && !top.contains(element) && !element.labels?.[0]?.contains(top))
          found.push(`focused under ${named(top)}: ${named(element)}`);
      }
      return found;
    },

    /** What a menu opens is on the screen. */
    menus() {
      return [...document.querySelectorAll('details > .popover')].flatMap((menu) => {
        menu.parentElement.open = true;
        const { left, right } = menu.getBoundingClientRect();
        menu.parentElement.open = false;
        return left < 0 || right > innerWidth ? [`a menu from ${left} to ${right}: ${named(menu.parentElement)}`] : [];
      });
    },

    /** Borders of fields stand out from both sides of them, and what they show before somebody types can be read. */
    fields() {
      return all(FIELDS).flatMap((field) => {
        const { borderTopColor, borderTopWidth, appearance } = getComputedStyle(field);
        if (['checkbox', 'radio', 'range', 'color', 'file'].includes(field.type) && appearance !== 'none') return [];
        const around = ground(field.parentElement);
        const edge = borderTopWidth === '0px' ? ground(field) : over(readColour(borderTopColor), around);
        const ratio = contrast(edge, around);
        const hint = field.placeholder
          ? contrastWith(getComputedStyle(field, '::placeholder').color, ground(field))
          : 21;
        return [
          ...(ratio < 3 ? [`a field with a border of ${ratio.toFixed(2)}: ${named(field)}`] : []),
          ...(hint < 4.5 ? [`a placeholder of ${hint.toFixed(2)}: ${named(field)}`] : []),
        ];
      });
    },

    /** The keyboard of a phone and the memory of a browser suit what is typed. */
    purposes() {
      return all(FIELDS).flatMap((field) => {
        const name = field.name;
        const mode = field.inputMode || field.type;
        const wants = (condition, what) => (condition ? [] : [`${what}: ${named(field)}`]);
        if (field.type === 'password' || field.type === 'email')
          return wants(field.autocomplete !== '', 'no autocomplete');
        if (field.type !== 'text' && field.type !== 'tel' && field.type !== 'search') return [];
        if (/^(?:amount|limit|maximum|minimum|.*_amount)$/.test(name))
          return wants(mode === 'decimal', 'not for an amount');
        if (/^(?:mobile|phone|number|msisdn|payer)$/.test(name)) return wants(mode === 'tel', 'not for a number');
        return [];
      });
    },

    /** What is wrong with a field is said by the field too. */
    errors() {
      const described = (id) => document.querySelector(`[aria-describedby~="${id}"]`);
      return [
        ...all('.field-error')
          .filter((line) => line.id === '' || !described(line.id))
          .map((line) => `an error that no field names: ${named(line)}`),
        ...all('.field-error')
          .filter((line) => line.id !== '' && described(line.id)?.matches(FIELDS))
          .filter((line) => described(line.id).getAttribute('aria-invalid') !== 'true')
          .map((line) => `a field that is not marked: ${named(described(line.id))}`),
        ...all('[role=alert] a[href^="#"]')
          .filter((link) => !document.getElementById(link.hash.slice(1)))
          .map((link) => `a link to no field: ${named(link)}`),
      ];
    },

    /** What a finger presses is large enough, unless it stands inside of a sentence. */
    targets(size) {
      const inSentence = (element) => {
        const { display } = getComputedStyle(element);
        return display === 'inline' && element.parentElement.textContent.trim() !== element.textContent.trim();
      };
      return all('a[href], button, input:not([type=hidden]), select, textarea, summary')
        .filter((element) => !inSentence(element))
        .map((element) => [element, (element.closest('label') ?? element).getBoundingClientRect()])
        .filter(([, box]) => box.height < size - 0.5 || box.width < size - 0.5)
        .map(([element, box]) => `${Math.round(box.width)} × ${Math.round(box.height)}: ${named(element)}`);
    },

    /** Nothing moves for somebody who asked for that. */
    motion() {
      return document
        .getAnimations()
        .filter((animation) => animation.effect.getComputedTiming().duration > 20)
        .map((animation) => `moves: ${named(animation.effect.target)}`);
    },
  };
})();
