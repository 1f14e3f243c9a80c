/** Sizes for people. Pure. @module */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Writes bytes with three digits or so: 512B, 1.5KiB, 23MiB. */
export function sizeOf(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)}${UNITS[unit]}`;
}
