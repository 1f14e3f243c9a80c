/** A claim's Sandbox as the binder hands it over, and a claim as it shows that, for the keeper's tests. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { aSandbox } from "../sandboxes.ts";
import { aClaim, aCondition } from "./extensions.ts";

const PREFIX = "agents.x-k8s.io";

/** What tests vary in a claim's Sandbox; times are RFC 3339. */
export interface ClaimsSandbox {
  name?: string;
  uid?: string;
  claim?: string;
  launchType?: string;
  assignedAt?: string | undefined;
  readyAt?: string | undefined;
  template?: string | undefined;
}

/** Makes the Sandbox `pool-1`, Ready since 11:59:30, created a minute before noon, handed to `job` half a second ago. */
export function aClaimsSandbox(over: ClaimsSandbox = {}): Sandbox {
  const { name, uid, claim, launchType, assignedAt, readyAt, template } = {
    name: "pool-1",
    uid: `uid-${over.name ?? "pool-1"}`,
    claim: "uid-job",
    launchType: "warm",
    assignedAt: "2026-11-21T11:59:59.500Z",
    readyAt: "2026-11-21T11:59:30Z",
    template: "python",
    ...over,
  };
  const ready = readyAt === undefined
    ? aCondition("Ready", "False", "DependenciesNotReady")
    : aCondition("Ready", "True", "DependenciesReady", { lastTransitionTime: readyAt });
  const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "job" };
  return aSandbox({
    metadata: {
      name,
      uid,
      creationTimestamp: "2026-11-21T11:59:00Z",
      labels: { [`${PREFIX}/launch-type`]: launchType },
      annotations: {
        ...(assignedAt === undefined ? {} : { [`${PREFIX}/assigned-at`]: assignedAt }),
        ...(template === undefined ? {} : { [`${PREFIX}/sandbox-template-ref`]: template }),
      },
      ownerReferences: [{ ...owner, uid: claim, controller: true }],
    },
    status: { conditions: [ready] },
  });
}

/** Makes the claim `job` as it is while it waits; created at 11:59:59. */
export function aWaitingClaim(over: { metadata?: object; spec?: object } = {}): SandboxClaim {
  return aClaim({ ...over, metadata: { creationTimestamp: "2026-11-21T11:59:59Z", ...over.metadata } });
}

/** Makes the claim `job` as it is once it has the Sandbox; `readyAt` is its first Ready, absent: not yet. */
export function aBoundClaim({ sandbox = "pool-1", readyAt, annotations = {}, metadata = {} }: {
  sandbox?: string;
  readyAt?: string;
  annotations?: object;
  metadata?: object;
} = {}): SandboxClaim {
  return aClaim({
    metadata: {
      creationTimestamp: "2026-11-21T11:59:59Z",
      annotations: {
        [`${PREFIX}/sandbox-name`]: sandbox,
        ...(readyAt === undefined ? {} : { [`${PREFIX}/claim-first-ready-at`]: readyAt }),
        ...annotations,
      },
      ...metadata,
    },
    status: {
      sandbox: { name: sandbox },
      conditions: [aCondition("Ready", readyAt === undefined ? "False" : "True", "DependenciesReady")],
    },
  });
}
