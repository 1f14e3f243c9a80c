/** Formats durations like kubectl. Pure. @module */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/**
 * Formats a duration in milliseconds; longer durations are less precise: 5s, 3m12s, 4h, 2d3h, 1y20d.
 *
 * Source: HumanDuration of k8s.io/apimachinery, pkg/util/duration, 1.36.
 */
export function humanDuration(ms: number): string {
  if (ms < -SECOND) return "<invalid>";
  if (ms < 0) return "0s";
  if (ms < 2 * MINUTE) return one(ms, SECOND, "s");
  if (ms < 10 * MINUTE) return two(ms, MINUTE, "m", SECOND, "s");
  if (ms < 3 * HOUR) return one(ms, MINUTE, "m");
  if (ms < 8 * HOUR) return two(ms, HOUR, "h", MINUTE, "m");
  if (ms < 2 * DAY) return one(ms, HOUR, "h");
  if (ms < 8 * DAY) return two(ms, DAY, "d", HOUR, "h");
  if (ms < 2 * YEAR) return one(ms, DAY, "d");
  if (ms < 8 * YEAR) return two(ms, YEAR, "y", DAY, "d");
  return one(ms, YEAR, "y");
}

function one(ms: number, unit: number, name: string): string {
  return `${Math.floor(ms / unit)}${name}`;
}

function two(ms: number, unit: number, name: string, lesser: number, lesserName: string): string {
  const rest = Math.floor((ms % unit) / lesser);
  return rest === 0 ? one(ms, unit, name) : `${one(ms, unit, name)}${rest}${lesserName}`;
}

/** Formats how long ago an RFC 3339 time was; `<unknown>` without a time. */
export function ageOf(time: string | undefined, now: Date): string {
  const then = Date.parse(time ?? "");
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now.getTime() - then);
}

/** Formats the time until an RFC 3339 time; `<none>` without a time, `expired` if it is in the past. */
export function untilOf(time: string | undefined, now: Date): string {
  const then = Date.parse(time ?? "");
  if (Number.isNaN(then)) return "<none>";
  return then <= now.getTime() ? "expired" : humanDuration(then - now.getTime());
}
