/** Keeps Metacontroller from spoiling Pods of Sandboxes that pools have made: each is checked once, when first seen. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { LAST_APPLIED_ANNOTATION } from "../lib/apply.ts";
import type { Api } from "../kube/api.ts";
import type { Duty } from "./duty.ts";
import { extensionOwner } from "./extensionowner.ts";
import { mergeTrapPatch } from "./mergetrap.ts";
import { sendPatch } from "../kube/patch.ts";
import type { Report } from "./report.ts";

const CHECKED = "checked";

/** Makes the duty. A Sandbox that the merge leaves whole costs no request. */
export function mergeTrapDuty(api: Api, report: Report): Duty<Sandbox> {
  /** {@link CHECKED}, or the resourceVersion that came too late. */
  const memory = new Map<string, string | undefined>();
  return {
    name: "merge traps",
    memory,
    dueAt(sandbox, now) {
      const { uid = "", annotations, resourceVersion } = sandbox.metadata;
      if (annotations?.[LAST_APPLIED_ANNOTATION] === undefined || !extensionOwner(sandbox.metadata)) return undefined;
      const before = memory.get(uid);
      if (before === CHECKED || (before !== undefined && before === resourceVersion)) return undefined;
      // Decided here: a fleet that stood in line to be checked would all be in memory at once.
      if (isTrapped(sandbox)) return now;
      memory.set(uid, CHECKED);
      return undefined;
    },
    async act(sandbox) {
      const { metadata } = sandbox;
      const body = mergeTrapPatch(sandbox);
      const isDone = !body || await sendPatch(api, { kind: "Sandbox", resource: "sandboxes", metadata }, body);
      memory.set(metadata.uid ?? "", isDone ? CHECKED : metadata.resourceVersion);
      if (isDone && body) report("spec left out of last-applied", metadata, { kind: "Sandbox" });
    },
  };
}

/** What cannot be read counts as trapped: the act fails on it, says so, and is tried again. */
function isTrapped(sandbox: Sandbox): boolean {
  try {
    return mergeTrapPatch(sandbox) !== undefined;
  } catch {
    return true;
  }
}
