/** Formats sizes for people. @module */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Formats bytes with about three digits: 512B, 1.5KiB, 23MiB. */
export function sizeOf(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)}${UNITS[unit]}`;
}
