// The address of a payment link as a QR code, for counters, bills and screens.

import encodeQR from 'qr';

const QUIET_MODULES = 4;

/** Black on a white background, so that it can be read on a dark page too. One path, drawn run by run. */
export function linkQrSvg(url: string): string {
  // Medium error correction: a scratched print can still be read, and the squares stay large.
  const rows = encodeQR(url, 'raw', { ecc: 'medium', border: QUIET_MODULES });
  const runs = rows.map((row, y) => {
    const line = row.map((dark) => (dark ? '1' : '0')).join('');
    return [...line.matchAll(/1+/g)].map((run) => `M${run.index} ${y}h${run[0].length}v1h-${run[0].length}z`).join('');
  });
  const size = rows.length;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">` +
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${runs.join('')}"/></svg>`
  );
}
