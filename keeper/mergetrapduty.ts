/** Keeps Metacontroller from spoiling Pods of Sandboxes that pools have made: each is checked once, when first seen. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { LAST_APPLIED_ANNOTATION } from "../lib/apply.ts";
import type { Api } from "./api.ts";
import type { Duty } from "./duty.ts";
import { extensionOwner } from "./extensionowner.ts";
import { mergeTrapPatch } from "./mergetrap.ts";
import { sendPatch } from "./patch.ts";
import type { Report } from "./report.ts";

const CHECKED = "checked";

/** Makes the duty. A Sandbox that the merge leaves whole costs no request. */
export function mergeTrapDuty(api: Api, report: Report): Duty<Sandbox> {
  /** {@link CHECKED}, or the resourceVersion that came too late. */
  const memory = new Map<string, string | undefined>();
  return {
    name: "merge traps",
    memory,
    dueAt({ metadata }, now) {
      const { uid = "", annotations, resourceVersion } = metadata;
      if (annotations?.[LAST_APPLIED_ANNOTATION] === undefined || !extensionOwner(metadata)) return undefined;
      const before = memory.get(uid);
      return before === CHECKED || (before !== undefined && before === resourceVersion) ? undefined : now;
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
