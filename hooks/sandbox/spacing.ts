/** Members of a pool start one after the other, where they are few: who asks for a Sandbox meanwhile is served faster. @module */
import type { SentRequest } from "../../lib/hook.ts";
import { controllerOf } from "../../lib/objects.ts";
import type { Spacing } from "../../lib/pace.ts";

/** Roughly what a Pod's start costs a small cluster's control plane, in milliseconds. */
const START_MS = 100;

/** Returns how far apart members of a pool that have no Pod yet are answered; undefined: this Sandbox is answered at once. */
export function startSpacing({ parent, children = {} }: SentRequest): Spacing | undefined {
  const owner = controllerOf({ name: "", ...parent?.metadata });
  const isStarting = Object.values(children).every((objects) => Object.keys(objects).length === 0);
  return owner?.kind === "SandboxWarmPool" && isStarting ? { key: owner.uid, intervalMs: START_MS } : undefined;
}
