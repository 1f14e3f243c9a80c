/** Lets a test control existing and future Pods. @module */
import { type MemoryStore, objectsOf } from "./store/memory.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import {
  containersOf,
  defaultMessage,
  type Kubelet,
  type PodFate,
  type PodFault,
  stageOf,
  startKubelet,
} from "./kubelet.ts";

/** Selects Pods: by name (a Pod has the name of its Sandbox, `*` selects all), by image, or with a function. */
export type PodMatch = string | { image: string } | ((pod: KubeObject) => boolean);

/** Controls Pods, in place of nodes, registries and the programs in containers. */
export interface PodControls {
  /**
   * Plans what happens to Pods that are created from now on. If several plans match a Pod, the last one counts.
   *
   * @returns a function that removes the plan
   */
  plan(match: PodMatch, fate: PodFate): () => void;
  /**
   * Makes existing Pods fail now. The faults `unschedulable` and `hangs` happen before a Pod starts, so they can only
   * be planned.
   *
   * @throws {RangeError} if no Pod matches, or the fault can only be planned
   */
  fail(match: PodMatch, fault: PodFault, message?: string): Promise<void>;
  /** Makes existing Pods Ready, whatever their fault was. @throws {RangeError} if no Pod matches */
  recover(match: PodMatch): Promise<void>;
}

/** Starts a kubelet with controls. @param usual what happens to Pods without a plan */
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
        const stage = stageOf(pod, fault, message ?? defaultMessage(pod, fault));
        if (!stage) {
          throw new RangeError(`Cannot make ${pod.metadata.name} fail with "${fault}": this fault can only be planned`);
        }
        await kubelet.show(pod, stage);
      }
    },
    async recover(match) {
      for (const pod of found(match)) await kubelet.show(pod, { stage: "ready" });
    },
  };
}

function podMatcher(match: PodMatch): (pod: KubeObject) => boolean {
  if (typeof match === "function") return match;
  if (typeof match === "string") return ({ metadata }) => match === "*" || metadata.name === match;
  return (pod) => containersOf(pod).some(({ image }) => image === match.image);
}

function describe(match: PodMatch): string {
  if (typeof match === "function") return "that the function takes";
  return typeof match === "string" ? `"${match}"` : `with image "${match.image}"`;
}
