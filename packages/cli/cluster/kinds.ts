/** The kind that a command line names. @module */
import { findKind, type Kind, KINDS } from "../../summary/kinds.ts";
import { UsageError } from "../failure.ts";

/** Returns the kind of a word. @throws {UsageError} if it is none */
export function kindOf(word: string): Kind {
  const kind = findKind(word);
  if (kind) return kind;
  throw new UsageError(`Cannot look for "${word}": there are ${KINDS.map(({ words }) => words[0]).join(", ")}`);
}
