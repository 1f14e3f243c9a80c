/** Which of the Sandboxes that a claim was given it keeps. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { ASSIGNED_AT_ANNOTATION, SANDBOX_NAME_ANNOTATION } from "../../lib/keys.ts";

/** The Sandbox of a claim, and those that it was given beside it. */
export interface Choice {
  kept: Sandbox | undefined;
  extra: Sandbox[];
}

/**
 * Chooses. Two binders that both lead for a moment may give a claim two; it shows one and gives back the other unseen.
 *
 * | Sandboxes | kept |
 * |---|---|
 * | the one that the claim's status or annotation names is among them | that one |
 * | none of them is named | the earliest assigned; of two at once, the first by name |
 */
export function chooseSandbox({ metadata, status }: SandboxClaim, sandboxes: readonly Sandbox[]): Choice {
  const named = [status?.sandbox?.name, metadata.annotations?.[SANDBOX_NAME_ANNOTATION]];
  const rank = ({ metadata: { name, annotations } }: Sandbox) => {
    const place = named.indexOf(name);
    return `${place < 0 ? named.length : place} ${annotations?.[ASSIGNED_AT_ANNOTATION] ?? ""} ${name}`;
  };
  const living = sandboxes.filter((sandbox) => sandbox.metadata.deletionTimestamp === undefined);
  const [kept, ...extra] = (living.length > 0 ? living : sandboxes).toSorted((a, b) => rank(a) < rank(b) ? -1 : 1);
  return { kept, extra };
}
