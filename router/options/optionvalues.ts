/** Values of options, read from text. Pure. @module */
import { parseDuration } from "../../lib/durations.ts";

/** An address to listen on; port 0: a free one. */
export interface Bind {
  host: string;
  port: number;
}

/** @throws {RangeError} if the text is no length of time; returns milliseconds */
export function durationOf(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new RangeError(`Cannot use --${flag} "${text}": it is not a length of time such as 1m30s`);
  return ms;
}

/** @throws {RangeError} if the text is no such number */
export function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`Cannot use --${flag} "${text}": it is not a whole number from ${least} to ${most}`);
}

/** @throws {RangeError} if the text is none of the choices */
export function choiceOf<T extends string>(flag: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((known) => known === text);
  if (choice === undefined) throw new RangeError(`Cannot use --${flag} "${text}": use ${choices.join(", ")}`);
  return choice;
}

/** Reads `host:port`, `[v6]:port` or `:port`; undefined for an empty text or `0`. @throws {RangeError} if it is none of these */
export function bindOf(flag: string, text: string, anyHost: string): Bind | undefined {
  if (text === "" || text === "0") return undefined;
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(text) ?? [];
  if (port === "") throw new RangeError(`Cannot use --${flag} "${text}": it is not host:port or :port`);
  return { host: host.replace(/^\[|\]$/g, "") || anyHost, port: wholeNumber(flag, port, 0, 65535) };
}

/** Reads a list of words, comma-separated. */
export function listOf(text: string): string[] {
  return text.split(",").map((word) => word.trim()).filter(Boolean);
}
