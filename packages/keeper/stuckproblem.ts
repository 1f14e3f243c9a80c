/** Finds out and reports that the API server refuses to change or delete a child, and reads an earlier report. @module */
import { isCreationRefused } from "../api/diagnosis/messages.ts";
import { type Problem, readUnresolved } from "../api/keeperreports.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { type Api, pathOf } from "../kube/api.ts";
import type { Target } from "../kube/requests.ts";
import { DRY_RUN, dryRunVerdict } from "./diagnose.ts";

type Verb = "delete" | "update";

/** Creates the report. @param words the API server's error @param more how many other children of the kind it is about */
export function stuckProblem(
  verb: Verb,
  { kind, name }: Pick<Problem, "kind" | "name">,
  words: string,
  more = 0,
): Problem {
  const others = more > 0 ? ` and ${more} more` : "";
  return { kind, name, state: "stuck", message: `cannot ${verb} ${kind} "${name}"${others}: ${words}` };
}

/** An error of the API server about children of one kind; no `verb`: the write may also have been a creation. */
export interface KnownRefusal {
  verb?: Verb;
  words: string;
}

/**
 * Lists the known refusals of writes of children of a kind, newest first. An earlier report holds until the write has
 * succeeded, because Events expire, and a new keeper may not have seen them.
 *
 * @param news the error of a recent Event
 */
export function knownRefusals(parent: ObjectMeta, kind: Problem["kind"], news: string | undefined): KnownRefusal[] {
  const problems = readUnresolved(parent)?.problems ?? [];
  const before = problems.find((problem) => problem.kind === kind && problem.state === "stuck")?.message ?? "";
  const [, verb, words] = /^cannot (delete|update) \w+ "[^"]*"(?: and \d+ more)?: (.*)$/s.exec(before) ?? [];
  return [
    ...(news === undefined ? [] : [{ words: news }]),
    ...(words === undefined ? [] : [{ verb: verb as Verb, words }]),
  ];
}

/** Returns the newest error that can be about such a write; undefined: there is none. */
export function refusalWords(verb: Verb, known: KnownRefusal[]): string | undefined {
  return known.find((refusal) => (refusal.verb ?? verb) === verb && mayBeAbout(verb, refusal.words))?.words;
}

function mayBeAbout(verb: Verb, words: string): boolean {
  // Metacontroller lists several errors in one text. It uses these words only for deletions.
  return !isCreationRefused(words) || (verb === "delete" && words.includes("can't delete "));
}

/**
 * Asks the API server by a dry run whether it refuses an update, and returns its error; undefined: it accepts the update. The
 * dry run is necessary because the hook may have another version than the keeper. Then the child differs from what the
 * keeper would make of it for as long as the versions do, although no write is outstanding.
 *
 * @param change a merge patch
 * @param known what to return if the answer says nothing about the update
 */
export async function updateRefusal(
  api: Api,
  { kind, resource, metadata: { namespace, name } }: Target & Pick<Problem, "kind">,
  change: object,
  known: string | undefined,
): Promise<string | undefined> {
  const path = pathOf({ resource, namespace, name });
  const verdict = dryRunVerdict(
    { kind, name },
    await api.send({ method: "PATCH", path, query: DRY_RUN, body: change }),
  );
  if (verdict === "fine") return undefined;
  return verdict === "unknown" ? known : verdict.message;
}
