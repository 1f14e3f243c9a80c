/** Declares how the pool's hook may create and change its Sandboxes. The guard refuses everything else. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { isObject } from "../../packages/api/objects/json.ts";
import {
  CLAIM_CONTROLLER,
  DECORATOR_ANNOTATION,
  DRAINING_LABEL,
  TEMPLATE_REF_HASH_LABEL,
} from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { Change, ChildRule, ChildRules } from "../../packages/webhook/childrules.ts";
import { listAll } from "../../packages/webhook/metacontroller.ts";
import { appliedTo, oncePer } from "../../packages/webhook/once.ts";
import { isShaped } from "./applied.ts";
import { type DrainReason, surplus } from "./deletionreasons.ts";
import { isUsed, securedSpec, templateOf, wrongWithMember } from "./memberrules.ts";
import type { WarmPoolConfig } from "../flags.ts";

type Of = Change<SandboxWarmPool>;

const memberRule: Omit<ChildRule<SandboxWarmPool>, "wrongWith"> = {
  resource: "sandboxes",
  updateStrategy: "InPlace",
  mayChange: {
    "metadata.labels": (change) => change.path[2] === DRAINING_LABEL ? isDue(change) : isRepaired(change),
    "metadata.annotations": (change) =>
      change.path[2] === DECORATOR_ANNOTATION ? change.will === CLAIM_CONTROLLER : isRepaired(change),
    "metadata.ownerReferences": isPools,
    "spec.podTemplate": isRepaired,
    "spec.volumeClaimTemplates": isRepaired,
    "spec.service": isRepaired,
  },
  // All Sandboxes that the pool still owns count, including those that are being deleted.
  mostNew: oncePer(({ parent, children }) => Math.max(0, parent.spec.replicas - listAll(children).length)),
  isBeyondRepair: (applied) => !isShaped(applied),
};

/** Creates the rules for one installation. */
export function childRules(
  { templateNetworkPolicy }: Pick<WarmPoolConfig, "templateNetworkPolicy">,
): ChildRules<SandboxWarmPool> {
  const wrongWith: ChildRule<SandboxWarmPool>["wrongWith"] = (member, observed, now) =>
    wrongWithMember(member, observed, now, templateNetworkPolicy);
  return { "Sandbox.agents.x-k8s.io/v1beta1": { ...memberRule, wrongWith } };
}

/**
 * A field may be restored to the value that the pool applied when it created the member. For a member of another controller,
 * which was never applied, a field may become Metacontroller's unchanged.
 */
function isRepaired({ is, will, was, wants, child }: Of): boolean {
  if (wants === undefined) return false;
  return was === undefined ? sameJson(is, will) && appliedTo(child) === undefined : sameJson(wants, was);
}

/** The pool must be the only owner. */
function isPools({ wants, observed: { parent } }: Of): boolean {
  if (!Array.isArray(wants) || wants.length !== 1 || !isObject(wants[0])) return false;
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion, ...more } = wants[0];
  return apiVersion === parent.apiVersion && kind === parent.kind && name === parent.metadata.name &&
    uid === parent.metadata.uid && controller === true && blockOwnerDeletion === true && Object.keys(more).length === 0;
}

const DUE: Record<DrainReason, (change: Of) => boolean> = {
  returned: ({ child }) => isUsed(child),
  stale: isUnlikeTemplate,
  stuck: ({ child }) => findCondition((child as Sandbox).status?.conditions, "Ready")?.status !== "True",
  // The deletion budget limits how many.
  surplus: ({ observed }) => surplus(observed) > 0,
};

/** A member may be marked as draining if it shows the reason. The mark is never removed. */
function isDue(change: Of): boolean {
  const { is, will, was, wants, child } = change;
  if (sameJson(wants, was)) return true;
  if (sameJson(is, will)) return appliedTo(child) === undefined;
  return is === undefined && typeof will === "string" && Object.hasOwn(DUE, will) && DUE[will as DrainReason](change);
}

/** A pool replaces its own outdated members only under `Recreate`, and those of another controller always. */
function isUnlikeTemplate({ child, observed }: Of): boolean {
  const template = templateOf(observed);
  const isReplaced = observed.parent.spec.updateStrategy?.type === "Recreate" ||
    appliedTo(child) === undefined;
  if (!template || !isReplaced) return false;
  const { spec, metadata } = child as Sandbox;
  if (metadata.labels?.[TEMPLATE_REF_HASH_LABEL] !== nameHash(template.metadata.name)) return true;
  const { volumeClaimTemplates, service = null } = template.spec;
  const volumes = (list: Sandbox["spec"]["volumeClaimTemplates"] = []) =>
    list.map((volume) => [volume.metadata?.name ?? "", volume.spec]);
  return !sameJson(spec.podTemplate.spec, securedSpec(template)) || (spec.service ?? null) !== service ||
    !sameJson(volumes(spec.volumeClaimTemplates), volumes(volumeClaimTemplates));
}
