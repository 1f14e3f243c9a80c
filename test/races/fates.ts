/** What becomes of the Pods of a run, one after another. @module */
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { PodFate } from "../../packages/testing/kubelet.ts";

/** What becomes of a Pod; milliseconds from its creation to its address, from there to Ready, from there to its end. */
export interface Fate {
  startMs: number;
  probeMs: number;
  /** `ready` stays so, `fails` fails instead of becoming Ready, `dies` fails after it was, `hangs` never starts. */
  fate: "ready" | "fails" | "dies" | "hangs";
  lifeMs: number;
}

export interface Fates {
  fateOf(pod: KubeObject): PodFate | undefined;
  /** UIDs of Pods that failed or hang. */
  sick: ReadonlySet<string>;
}

/** Pods meet their fates in order of creation; when these are used up all is well. */
export function createFates(fates: readonly Fate[]): Fates {
  const left = [...fates];
  const sick = new Set<string>();
  return {
    sick,
    fateOf({ metadata }) {
      const { startMs, probeMs, fate, lifeMs } = left.shift() ?? GOOD;
      const usual = { startMs, readyMs: probeMs };
      if (fate === "ready") return usual;
      sick.add(metadata.uid ?? "");
      if (fate === "hangs") return { fault: "hangs" };
      return { ...usual, fault: "fails", ...(fate === "dies" && { afterMs: lifeMs }) };
    },
  };
}

const GOOD: Fate = { startMs: 20, probeMs: 10, fate: "ready", lifeMs: 0 };
