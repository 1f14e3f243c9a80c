/** Races of pools that were mended, put back: in what the pool's hook is asked, or answers. @module */
import { LAST_APPLIED_ANNOTATION } from "../../../packages/api/objects/apply.ts";
import { DRAINING_LABEL } from "../../../packages/api/objects/keys.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Mutant } from "./mutant.ts";
import { type Answered, answering, type Asked, asking, blind } from "./parts.ts";

const isMarked = ({ metadata }: KubeObject) => metadata.labels?.[DRAINING_LABEL] !== undefined;

export const POOL_MUTANTS: Mutant[] = [
  {
    name: "a member is deleted that was not marked before",
    reason: "a DELETE names the UID only: a claim may have got it a moment ago",
    foundBy: 26,
    variant: { hooks: { sandboxwarmpool: answering((answer) => without(answer, isMarked)) } },
  },
  {
    name: "a mark is taken back",
    reason: "somebody who has seen it deletes what a claim has got since",
    foundBy: 0,
    variant: { hooks: { sandboxwarmpool: asking(unmark) } },
  },
  {
    name: "numbers count on from what is seen, not from the status",
    reason: "a name is given a second time",
    foundBy: 0,
    variant: { hooks: { sandboxwarmpool: asking(({ parent }) => void delete parent.status?.["sequence"]) } },
  },
  {
    name: "what was asked for and does not show yet is not counted",
    reason: "an old view makes as many again",
    foundBy: 104,
    variant: { hooks: { sandboxwarmpool: asking(({ parent }) => void delete parent.status?.["batches"]) } },
  },
  {
    name: "a pool remembers its members, and so counts those that were bound",
    reason: "nobody replaces them",
    foundBy: 0,
    variant: { hooks: { sandboxwarmpool: (calls) => answering(remembering())(calls) } },
  },
  {
    name: "a mark lands whatever has changed",
    reason: "it overwrites who the Sandbox was given to",
    foundBy: 26,
    variant: { store: blind("Sandbox", "update") },
  },
];

function without(answer: Answered, isLeftOut: (child: KubeObject) => boolean): object {
  return { ...answer, children: answer.children?.filter((child) => !isLeftOut(child)) };
}

/** A pool that wants more takes those first that it has marked. */
function unmark({ parent, children }: Asked): void {
  const { replicas } = parent["spec"] as { replicas: number };
  let missing = replicas - children.filter((child) => !isMarked(child)).length;
  for (const { metadata } of children.filter(isMarked)) {
    if (missing-- <= 0) return;
    delete metadata.labels?.[DRAINING_LABEL];
    const applied = JSON.parse(metadata.annotations?.[LAST_APPLIED_ANNOTATION] ?? "{}") as Partial<KubeObject>;
    delete applied.metadata?.labels?.[DRAINING_LABEL];
    metadata.annotations = { ...metadata.annotations, [LAST_APPLIED_ANNOTATION]: JSON.stringify(applied) };
  }
}

/** Answers with members that were seen once, too. */
function remembering(): (answer: Answered) => object {
  const seen = new Map<string, KubeObject>();
  return (answer) => {
    for (const child of answer.children ?? []) seen.set(child.metadata.name, child);
    return { ...answer, children: [...seen.values()] };
  };
}
