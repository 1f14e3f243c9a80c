/** What a test decides about Pods: of those to come, and of those that are there. @module */
import type { MemoryStore } from "./engine/store-memory.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { type Kubelet, stageOf, startKubelet } from "./kubelet.ts";
import { objectsOf } from "./objects.ts";
import { faultWords, type PodFate, type PodFault, type PodMatch, podMatcher } from "./podfaults.ts";

/** What a test decides about Pods, in place of nodes, registries and the programs in containers. */
export interface PodControls {
  /**
   * Says what becomes of Pods that are created from now on; of several plans for a Pod the last one counts.
   *
   * @returns takes the plan back
   */
  plan(match: PodMatch, fate: PodFate): () => void;
  /**
   * Lets something go wrong, now, with Pods that are there. Of the faults, those of a Pod's first steps
   * (`unschedulable`, `hangs`) can only be planned.
   *
   * @throws {RangeError} if no Pod matches, or the fault can only be planned
   */
  fail(match: PodMatch, fault: PodFault, message?: string): Promise<void>;
  /** Makes Pods that are there Ready, whatever was wrong with them. @throws {RangeError} if no Pod matches */
  recover(match: PodMatch): Promise<void>;
}

/** Starts a kubelet with controls. @param usual what becomes of Pods without a plan */
export async function startPods(store: MemoryStore, usual: PodFate): Promise<PodControls> {
  const plans = new Set<{ matches(pod: KubeObject): boolean; fate: PodFate }>();
  const fateOf = (pod: KubeObject) => ({ ...usual, ...[...plans].findLast(({ matches }) => matches(pod))?.fate });
  const kubelet: Kubelet = await startKubelet(store, fateOf);
  const found = (match: PodMatch) => {
    const pods = objectsOf(store, "Pod").filter(podMatcher(match));
    if (pods.length === 0) throw new RangeError(`Cannot find a Pod ${describe(match)}: there is none`);
    return pods;
  };
  return {
    plan(match, fate) {
      const plan = { matches: podMatcher(match), fate };
      plans.add(plan);
      return () => void plans.delete(plan);
    },
    async fail(match, fault, message) {
      for (const pod of found(match)) {
        const stage = stageOf(pod, fault, message ?? faultWords(pod, fault));
        if (!stage) throw new RangeError(`Cannot let "${fault}" befall ${pod.metadata.name}: it can only be planned`);
        await kubelet.show(pod, stage);
      }
    },
    async recover(match) {
      for (const pod of found(match)) await kubelet.show(pod, { stage: "ready" });
    },
  };
}

function describe(match: PodMatch): string {
  if (typeof match === "function") return "that the function takes";
  return typeof match === "string" ? `"${match}"` : `with image "${match.image}"`;
}
