/** Formats the result of a replay for a review. @module */
import type { Change } from "./compare.ts";
import type { DifferenceKind, ReplaySummary } from "./tally.ts";

/** Largest number of characters of a value that are shown. */
const VALUE_LENGTH = 72;

/**
 * Formats the summary as lines; the last one has a line end, too.
 *
 * @param mostKinds largest number of kinds of difference that are shown
 */
export function renderReplay(summary: ReplaySummary, mostKinds: number): string {
  const { kinds, skipped } = summary;
  const lines = [headline(summary)];
  const others = Object.keys(skipped).sort();
  if (others.length > 0) lines.push(`${requests(sum(Object.values(skipped)))} of ${others.join(", ")} not replayed`);
  kinds.slice(0, mostKinds).forEach((kind, index) => lines.push("", ...linesOf(kind, index + 1)));
  if (kinds.length > mostKinds) lines.push("", `${kinds.length - mostKinds} more kinds of difference are not shown`);
  return `${lines.join("\n")}\n`;
}

function headline({ requests: byHook, from = "", to = "", differing }: ReplaySummary): string {
  const all = sum(Object.values(byHook));
  const verdict = differing === 0 ? "no decision differs" : decisions(differing);
  const span = from === "" ? "" : ` (${secondsOf(from)} to ${secondsOf(to)})`;
  return `${requests(all)}, ${verdict}${span}`;
}

function secondsOf(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

function linesOf({ hook, endpoint, decisions, objects, example }: DifferenceKind, number: number): string[] {
  const { object: { kind, namespace, name }, at, place, changes } = example;
  const times = decisions === 1
    ? "once"
    : `${grouped(decisions)} times${objects === 1 ? "" : ` on ${grouped(objects)} objects`}`;
  return [
    `${number}. ${hook} ${endpoint}, ${times}; ${
      decisions === 1 ? "" : "first "
    }${kind} ${namespace}/${name}, ${at}, ${place}`,
    ...changes.map((change) =>
      `   ${lineOf(change)}${change.alike > 1 ? ` (and ${change.alike - 1} more alike)` : ""}`
    ),
  ];
}

function lineOf({ effect, child, path, before, after }: Change): string {
  const subject = child ? `${child.kind}/${child.name}` : "";
  const values = `${shown(before)} -> ${shown(after)}`;
  switch (effect) {
    case "answers":
      return `status ${before} -> ${after}`;
    case "deletes":
      return `- ${subject}: is deleted, was wanted`;
    case "keeps":
      return `+ ${subject}: is kept, was deleted`;
    case "creates":
      return `+ ${subject}: is created, was not wanted`;
    case "omits":
      return `- ${subject}: is not created, was wanted`;
    case "changes":
      return `~ ${subject === "" ? "" : `${subject} `}${path}: ${values}`;
  }
}

function shown(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = JSON.stringify(value);
  return text.length <= VALUE_LENGTH ? text : `${text.slice(0, VALUE_LENGTH)}…`;
}

function decisions(count: number): string {
  return count === 1 ? "1 decision differs" : `${grouped(count)} decisions differ`;
}

function requests(count: number): string {
  return `${grouped(count)} ${count === 1 ? "request" : "requests"}`;
}

function sum(counts: number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
