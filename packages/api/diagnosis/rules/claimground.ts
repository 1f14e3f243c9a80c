/** What the rules about a claim look at. @module */
import type { SandboxClaim } from "../../sandboxclaim.ts";
import type { Facts } from "../facts.ts";
import type { Cause, ObjectRef } from "../finding.ts";

/** A claim, and what is known about it. */
export interface ClaimGround {
  facts: Facts;
  claim: SandboxClaim;
  at: ObjectRef;
  /** The pool that it names, whether it exists or not. */
  poolRef: ObjectRef;
  isBound: boolean;
  now: Date;
}

/** The way to a claim's Sandbox leads through its pool, if that is known to exist. */
export function through({ facts: { pool }, poolRef }: ClaimGround, found: Cause): Cause {
  return pool ? { ...found, path: [poolRef, ...found.path] } : found;
}
