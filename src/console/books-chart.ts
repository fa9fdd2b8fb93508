// A small picture of differences by day, drawn by the server: a bar a day, up where the statement moved more, down where our ledger did.

import { type Html, html } from '../platform/html.ts';
import { amountToNumber } from '../platform/money.ts';

const HEIGHT = 48;
const MIDDLE = HEIGHT / 2;
/** What is not zero is seen, however small it is beside the others. */
const LEAST = 2;

export type DifferenceDay = { title: string; difference: bigint; isShown: boolean };

export function differenceChart(days: readonly DifferenceDay[], label: string): Html {
  const sizes = days.map(({ difference }) => amountToNumber(difference < 0n ? -difference : difference));
  const largest = Math.max(1, ...sizes);
  const width = 100 / Math.max(1, days.length);
  return html`
    <svg class="difference-chart" role="img" aria-label="${label}" height="${HEIGHT}">
      <line x1="0" x2="100%" y1="${MIDDLE}" y2="${MIDDLE}"/>
      ${days.map(({ title, difference, isShown }, index) => {
        const size =
          difference === 0n ? 1 : Math.max(LEAST, Math.round(((sizes[index] ?? 0) / largest) * (MIDDLE - 2)));
        const y = difference > 0n ? MIDDLE - size : MIDDLE;
        const look = difference === 0n ? 'even' : isShown ? 'shown' : 'off';
        return html`
          <rect class="${look}" x="${round(index * width + width * 0.15)}%" y="${y}" width="${round(width * 0.7)}%" height="${size}">
            <title>${title}</title>
          </rect>
        `;
      })}
    </svg>
  `;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
