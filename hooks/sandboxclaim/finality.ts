/** Which reasons of a claim's Ready are final: clients give up on them, so the claim does not come back from them. @module */
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { findCondition } from "../../lib/conditions.ts";

/** Final reasons that a claim gets from a Sandbox that it had. Source: Agent Sandbox API 1.0, checklist item 6. */
const FINAL = new Set(["SandboxExpired", "InvalidConfiguration", "PodFailed", "PodSucceeded"]);

/** Tells whether the claim has shown that its Sandbox has come to an end: it is not given another one. */
export function isFinal({ status }: SandboxClaim): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  return ready?.status === "False" && FINAL.has(ready.reason);
}
