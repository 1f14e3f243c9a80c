/** Parses durations in the format of Go's flags. @module */

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const WHOLE = /^(\d+(\.\d+)?(ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/** Returns the milliseconds of `1m30s`, `200ms`, `0.5h` or `0`; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!WHOLE.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS[unit ?? ""] ?? 0), 0);
}
