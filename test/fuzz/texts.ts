/** Changes of a text that know nothing of its structure: drawn by fast-check, applied to a copy. @module */
import fc from "../properties.ts";

const PIECES = [
  ...["\0", "\r\n", "\n", "\r", " ", "\t", ":", ",", ";", "{", "}", "[", "]", '"', "\\", "/", "//", "%00", "%2e%2e/"],
  ...["\ud83d", "\u0080", "\u00ff", "9".repeat(400), "-", "A".repeat(9000), "[".repeat(20_000), '{"a":'.repeat(5000)],
] as const;

/** One change: `length` characters from `at` on (of 1) are left out, and `piece` is put there; or the rest is cut off. */
export interface Garbling {
  at: number;
  length: number;
  piece: string;
  isCut: boolean;
  /** How often what is left out is there instead. */
  times: number;
}

/** Draws one change. */
export const garbling: fc.Arbitrary<Garbling> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(200)),
  piece: fc.oneof(fc.constant(""), fc.constantFrom(...PIECES), fc.string({ unit: "binary", maxLength: 8 })),
  isCut: fc.constantFrom(false, false, false, true),
  times: fc.constantFrom(0, 0, 0, 2),
});

/** Draws from `arbitrary` once in `times`, and undefined otherwise. */
export function seldom<T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

/** Returns the changed text. */
export function garbled(text: string, { at, length, piece, isCut, times }: Garbling): string {
  const from = Math.floor(at * text.length);
  const part = text.slice(from, from + length);
  return text.slice(0, from) + part.repeat(times) + piece + (isCut ? "" : text.slice(from + length));
}
