/** A fault that somebody could make, as data, and how it is put into a file. Pure. @module */

/** One change of one file, and the tests that have to notice. */
export interface Mutant {
  /** What is broken, as a reviewer would say it. */
  name: string;
  /** Below the checkout. */
  file: string;
  /** Stands once in the file. */
  from: string;
  to: string;
  /** Files of tests below the checkout: each of them has to fail. */
  tests: string[];
}

/** Returns the changed text. @throws {RangeError} if it does not contain `from` exactly once, or nothing changes */
export function mutated(text: string, { file, from, to }: Pick<Mutant, "file" | "from" | "to">): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new RangeError(`Cannot change ${file}: "${from}" is in it ${parts.length - 1} times`);
  if (from === to) throw new RangeError(`Cannot change ${file}: "${from}" stays`);
  return parts.join(to);
}
