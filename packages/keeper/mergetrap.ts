/** Keeps Metacontroller's merge from spoiling the Pods of Sandboxes that pools have made: each is checked once, when first seen. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { canonicalJson, LAST_APPLIED_ANNOTATION, lastApplied } from "../api/objects/apply.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";
import { isObject } from "../api/objects/json.ts";
import { extensionOwner } from "./readopt.ts";
import type { Reconciler, Report } from "./reconciler.ts";

/**
 * Returns the merge patch that takes `spec.podTemplate.spec` out of the last-applied annotation of a Sandbox that a pool
 * has made, where Metacontroller's merge, told to change nothing, would change it; undefined: it would not, or says
 * nothing of it.
 *
 * The merge tells items of a list by one key, and loses all but the last of those that share it: ports 53/TCP and
 * 53/UDP, two `httpHeaders` of one name. What is not in last-applied it leaves alone.
 *
 * @throws {SyntaxError} if the annotation is not the JSON text of an object
 */
export function mergeTrapPatch(sandbox: Sandbox): object | undefined {
  const applied = lastApplied(sandbox);
  const spec = isObject(applied?.["spec"]) ? applied["spec"] : {};
  const podTemplate = isObject(spec["podTemplate"]) ? spec["podTemplate"] : {};
  const { spec: podSpec, ...silent } = podTemplate;
  const observed = { spec: sandbox.spec.podTemplate.spec };
  if (podSpec === undefined || isUnchangedByMerge(observed, { spec: podSpec }, { spec: podSpec })) return undefined;
  const text = canonicalJson({ ...applied, spec: { ...spec, podTemplate: silent } });
  return patchOf(sandbox.metadata, { annotations: { [LAST_APPLIED_ANNOTATION]: text } });
}

const CHECKED = "checked";

/** Makes the reconciler. A Sandbox that the merge leaves whole costs no request. */
export function mergeTrapReconciler(api: Api, report: Report): Reconciler<Sandbox> {
  /** {@link CHECKED}, or the resourceVersion that came too late. */
  const memory = new Map<string, string | undefined>();
  return {
    name: "merge traps",
    memory,
    listing: () => memory.clear(),
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
    async reconcile(sandbox) {
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
