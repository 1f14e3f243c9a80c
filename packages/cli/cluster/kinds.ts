/** Finds the kind that a word on the command line means. @module */
import { findKind, type Kind, KINDS } from "../../summary/kinds.ts";
import { UsageError } from "../failure.ts";

/** Returns the kind. @throws {UsageError} if there is none of that name */
export function kindOf(word: string): Kind {
  const kind = findKind(word);
  if (kind) return kind;
  throw new UsageError(`Cannot look for "${word}": there are ${KINDS.map(({ words }) => words[0]).join(", ")}`);
}
