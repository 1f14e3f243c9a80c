/** Values of options: numbers, lengths of time, pairs. Pure. @module */
import { parseDuration } from "../process/durations.ts";
import { UsageError } from "./failure.ts";

/** Reads a whole number of at least `least`. @throws {UsageError} */
export function wholeNumber(option: string, text: string, least = 0, most = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new UsageError(`Cannot use ${option} "${text}": it is not a whole number ${range}`);
}

/** Reads a number above 0. @throws {UsageError} */
export function aboveZero(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new UsageError(`Cannot use ${option} "${text}": it is not a number above 0`);
}

/** Reads a length of time into milliseconds: `30s`, `5m`, `1h30m`, or seconds. @throws {UsageError} */
export function durationMs(option: string, text: string): number {
  const ms = parseDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
  if (ms !== undefined && ms > 0) return ms;
  throw new UsageError(`Cannot use ${option} "${text}": it is not a length of time such as 30s, 5m or 1h30m`);
}

/** Reads `key=value` pairs. @throws {UsageError} if one has no key or no `=` */
export function pairs(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => {
    const at = text.indexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw new UsageError(`Cannot use ${option} "${text}": it is not KEY=VALUE`);
  }));
}

/** For options that may be given several times. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
