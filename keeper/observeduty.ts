/** The duty of taking note of claims that the binder has not taken note of: their hook is not asked before. @module */
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { LATE_MS } from "../claims/unserved.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { FIRST_OBSERVED_ANNOTATION } from "../lib/keys.ts";
import type { Duty } from "./duty.ts";

/** Makes the duty: annotates a claim that is older than ten seconds with when this process first saw it. */
export function observeDuty(api: Api): Duty<SandboxClaim> {
  /** When it was first seen, in milliseconds since the epoch, and the version that was annotated. */
  const memory = new Map<string, { seenAt: number; done?: string | undefined }>();
  return {
    name: "claims that the binder takes no note of",
    memory,
    dueAt({ metadata }, now) {
      const { uid = "", creationTimestamp = "", deletionTimestamp, annotations, resourceVersion } = metadata;
      if (deletionTimestamp !== undefined || annotations?.[FIRST_OBSERVED_ANNOTATION] !== undefined) {
        memory.delete(uid);
        return undefined;
      }
      const known = memory.get(uid) ?? { seenAt: now };
      memory.set(uid, known);
      if (known.done !== undefined && known.done === resourceVersion) return undefined;
      return (Date.parse(creationTimestamp) || known.seenAt) + LATE_MS;
    },
    async act({ metadata }, now) {
      const { uid = "", resourceVersion: done } = metadata;
      const { seenAt } = memory.get(uid) ?? { seenAt: now };
      const body = patchOf(metadata, { annotations: { [FIRST_OBSERVED_ANNOTATION]: new Date(seenAt).toISOString() } });
      await sendPatch(api, { kind: "SandboxClaim", resource: "sandboxclaims", metadata }, body);
      memory.set(uid, { seenAt, done });
    },
  };
}
