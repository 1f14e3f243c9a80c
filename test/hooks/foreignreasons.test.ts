/** A reason that our CRDs refuse, in a condition that a status copies or carries along, does not cost the whole status. @module */
import { expect, test } from "vitest";
import { syncSandbox } from "../../hooks/sandbox/sync.ts";
import { computeStatus } from "../../hooks/sandboxclaim/status.ts";
import { conditionsSchema } from "../../packages/api/fields.ts";
import { type Condition, findCondition } from "../../packages/api/objects/conditions.ts";
import { aClaim } from "../pools.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../sandboxes.ts";

const odd = (type: string): Condition => ({
  ...{ type, status: "True", reason: "queue-full", message: "gang waits" },
  lastTransitionTime: "2026-11-21T11:00:00Z",
});
const FITTED = { reason: "QueueFull", message: "queue-full: gang waits" };

test("in a condition that somebody else has written on a Sandbox", () => {
  const sandbox = { ...aSandbox(), status: { conditions: [odd("Theirs")] } };
  const { status } = syncSandbox(aRequest(sandbox, [aReadyPod()]), NOW, { clusterDomain: "cluster.local" });
  expect(findCondition(status?.conditions, "Theirs")).toMatchObject(FITTED);
});

test.for(["Theirs", "Ready", "Finished"])(
  "in %s of a claim, whose Sandbox may have been written by another",
  (type) => {
    const claim = { ...aClaim("c"), status: { conditions: [odd("Theirs")] } };
    const sandbox = { ...aSandbox(), status: { conditions: [odd("Ready"), odd("Finished")], podIPs: ["10.0.0.1"] } };
    const { conditions } = computeStatus({ claim, sandbox, isExpired: false, problem: undefined }, NOW);
    expect(findCondition(conditions, type)).toMatchObject(FITTED);
    expect(() => conditionsSchema("any").parse(conditions)).not.toThrow();
  },
);
