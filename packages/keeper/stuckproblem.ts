/** How the keeper words that the API server refuses to change or delete a child, and reads its own words again. @module */
import { type Problem, readUnresolved } from "../api/unresolved.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";

/** Makes the report. @param words the API server's error @param more how many other children of the kind it is about */
export function stuckProblem(
  verb: "delete" | "update",
  { kind, name }: Pick<Problem, "kind" | "name">,
  words: string,
  more = 0,
): Problem {
  const others = more > 0 ? ` and ${more} more` : "";
  return { kind, name, state: "stuck", message: `cannot ${verb} ${kind} "${name}"${others}: ${words}` };
}

/**
 * Returns the API server's error about children of a kind; undefined: none is known. An earlier report holds until the write
 * has succeeded: Events expire, and a new keeper may not have seen them.
 *
 * @param news the error as of a recent Event
 */
export function refusalWords(parent: ObjectMeta, kind: Problem["kind"], news: string | undefined): string | undefined {
  if (news !== undefined) return news;
  const problems = readUnresolved(parent)?.problems ?? [];
  const before = problems.find((problem) => problem.kind === kind && problem.state === "stuck");
  return before?.message.replace(/^cannot (?:delete|update) \w+ "[^"]*"(?: and \d+ more)?: /, "");
}
