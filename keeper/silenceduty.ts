/** The duty of having the hook of a silent Sandbox asked: nothing else does, where no event comes. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { WOKEN_AT_ANNOTATION } from "../lib/keys.ts";
import type { Duty } from "./duty.ts";

/**
 * When a Sandbox that says nothing is woken, in milliseconds from its creation, and when once more: most have come up by the
 * first, and of many that were asked for at once none should cost a write more while all are busy.
 */
const WAKE_MS = [6000, 12_000] as const;

/** Makes the duty. A Sandbox that speaks in time costs no request. */
export function silenceDuty(api: Api): Duty<Sandbox> {
  /** The version that was woken. */
  const memory = new Map<string, string | undefined>();
  return {
    name: "silent Sandboxes",
    memory,
    dueAt({ metadata, status }) {
      const { uid = "", creationTimestamp = "", deletionTimestamp, annotations, resourceVersion } = metadata;
      const isSilent = deletionTimestamp === undefined && (status?.conditions ?? []).length === 0;
      if (!isSilent || (memory.has(uid) && memory.get(uid) === resourceVersion)) return undefined;
      const born = Date.parse(creationTimestamp);
      const woken = Date.parse(annotations?.[WOKEN_AT_ANNOTATION] ?? "");
      const next = WAKE_MS.find((ms) => !(woken >= born + ms));
      return next === undefined || Number.isNaN(born) ? undefined : born + next;
    },
    async act({ metadata }, now) {
      const body = patchOf(metadata, { annotations: { [WOKEN_AT_ANNOTATION]: new Date(now).toISOString() } });
      await sendPatch(api, { kind: "Sandbox", resource: "sandboxes", metadata }, body);
      memory.set(metadata.uid ?? "", metadata.resourceVersion);
    },
  };
}
