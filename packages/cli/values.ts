/** Parses values of options: numbers, durations, pairs. @module */
import { parseDuration } from "../process/durations.ts";
import { refusalOf } from "../process/flags.ts";
import { DURATION, type FlagType, number, wholeNumber as wholeNumberFrom } from "../process/flagtypes.ts";
import { UsageError } from "./failure.ts";

/** Parses an integer of at least `least`. @throws {UsageError} */
export function wholeNumber(option: string, text: string, least?: number, most?: number): number {
  return read(option, wholeNumberFrom(least, most), text);
}

const ABOVE_ZERO: FlagType<number> = {
  ...{ ...number(), allowed: "a number above 0" },
  read: (text, refuse) => number().read(text, refuse) || refuse(),
};

/** Parses a number above 0. @throws {UsageError} */
export function aboveZero(option: string, text: string): number {
  return read(option, ABOVE_ZERO, text);
}

/** Without the upper limit of timers, because not all durations are for timers. */
const LENGTH: FlagType<number> = {
  ...{ ...DURATION, allowed: "a length of time such as 30s, 5m or 1h30m" },
  read: (text, refuse) => parseDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text) || refuse(),
};

/** Parses a duration above 0 into milliseconds: `30s`, `5m`, `1h30m`, or seconds. @throws {UsageError} */
export function durationMs(option: string, text: string): number {
  return read(option, LENGTH, text);
}

function read<T>(option: string, type: FlagType<T>, text: string): T {
  return type.read(text, () => {
    throw new UsageError(refusalOf(option, type, text));
  });
}

/** Parses `key=value` pairs. @throws {UsageError} if a pair has no key or no `=` */
export function pairs(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => {
    const at = text.indexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw new UsageError(`Cannot use ${option} "${text}": it is not KEY=VALUE`);
  }));
}

/** For options that can be repeated. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
