/** The data that the rules about a claim use. @module */
import type { SandboxClaim } from "../../sandboxclaim.ts";
import type { Facts } from "../facts.ts";
import type { Cause, ObjectRef } from "../finding.ts";

/** A claim, and what is known about it. */
export interface ClaimGround {
  facts: Facts;
  claim: SandboxClaim;
  at: ObjectRef;
  /** The pool that the claim names, even if it does not exist. */
  poolRef: ObjectRef;
  isBound: boolean;
  now: Date;
}

/** Adds the pool, if it is known to exist, to the path from the claim to its Sandbox. */
export function through({ facts: { pool }, poolRef }: ClaimGround, found: Cause): Cause {
  return pool ? { ...found, path: [poolRef, ...found.path] } : found;
}
