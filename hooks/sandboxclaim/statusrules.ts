/** What a claim's status and annotations may say, for the guard: clients connect to the Sandbox that they name. @module */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { isObject } from "../../packages/api/objects/json.ts";
import {
  FIRST_OBSERVED_ANNOTATION,
  FIRST_READY_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { conditionsOf, type ParentRules, type StatusRules } from "../../packages/webhook/evidence.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";

type Of = Observed<SandboxClaim>;

export const statusRules: StatusRules<SandboxClaim> = {
  conditionTypes: ["Finished", "Ready"],
  keepsOthers: true,
  fields: {
    // The Sandbox is one that is seen to be the claim's; its addresses are that one's, and there as soon as it is Ready.
    sandbox(value, { children }, _, status) {
      const sandboxes = listAll(children);
      if (value === undefined) return sandboxes.length === 0;
      if (!isObject(value)) return false;
      const { name, podIPs, ...more } = value;
      const sandbox = sandboxes.find(({ metadata }) => metadata.name === name);
      if (sandbox === undefined || Object.keys(more).length > 0) return false;
      const isReady = findCondition(conditionsOf({ status }), "Ready")?.status === "True";
      return sameJson(podIPs ?? [], addressesOf(sandbox)) || (podIPs === undefined && !isReady);
    },
  },
};

export const parentRules: ParentRules<SandboxClaim> = {
  annotations: {
    [SANDBOX_NAME_ANNOTATION]: (value, { children }) =>
      listAll(children).some(({ metadata }) => metadata.name === value),
    [FIRST_OBSERVED_ANNOTATION]: (value, observed, now) => isFirstTime(FIRST_OBSERVED_ANNOTATION, value, observed, now),
    [FIRST_READY_ANNOTATION]: (value, observed, now) =>
      value === "unknown" || isFirstTime(FIRST_READY_ANNOTATION, value, observed, now),
  },
};

/** A first time is noted once. */
function isFirstTime(key: string, value: unknown, { parent }: Of, now: Date): boolean {
  return parent.metadata.annotations?.[key] === undefined && Date.parse(String(value)) <= now.getTime();
}

function addressesOf(sandbox: KubeObject): unknown {
  const { status } = sandbox;
  return isObject(status) ? status["podIPs"] ?? [] : [];
}
