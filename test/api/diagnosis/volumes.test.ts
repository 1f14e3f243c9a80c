/** What keeps the volumes of a Sandbox's Pod from being there. @module */
import { test } from "vitest";
import type { Facts } from "../../../packages/api/diagnosis/facts.ts";
import { ago, anEvent, aPod, type Case, expectCause, podFacts } from "./facts.ts";

const withClaim = (claim: object | undefined, more: Partial<Facts> = {}): Facts =>
  podFacts(
    aPod(
      {
        conditions: [{
          type: "PodScheduled",
          status: "False",
          message: "pod has unbound immediate PersistentVolumeClaims",
          lastTransitionTime: ago(9),
        }],
      },
      { nodeName: "", volumes: [{ name: "v", persistentVolumeClaim: { claimName: "v-demo" } }] },
    ),
    {
      volumeClaims: claim
        ? [{ metadata: { name: "v-demo", uid: "uid-v-demo", creationTimestamp: ago(40) }, ...claim }]
        : [],
      storageClasses: [{ metadata: { name: "standard" } }],
      ...more,
    },
  );
const pvcEvent = (reason: string, message: string) => [anEvent(reason, message, "PersistentVolumeClaim", "v-demo")];

const cases: Case[] = [
  {
    name: "no volume claim",
    facts: withClaim(undefined),
    want: ["VolumeClaimNotFound", "PersistentVolumeClaim/v-demo", true],
    says: "does not exist",
  },
  {
    name: "no StorageClass",
    facts: withClaim({ spec: { storageClassName: "gone" } }),
    want: ["StorageClassNotFound", "StorageClass/gone", true],
    says: '"gone"',
  },
  {
    name: "no default StorageClass",
    facts: withClaim({ spec: {} }),
    want: ["NoDefaultStorageClass", "PersistentVolumeClaim/v-demo", true],
    says: "none is the default",
  },
  {
    name: "a provisioner that fails",
    facts: withClaim({ spec: { storageClassName: "standard" } }, {
      events: pvcEvent("ProvisioningFailed", "disk quota"),
    }),
    want: ["VolumeProvisioningFailed", "PersistentVolumeClaim/v-demo", false],
    says: "disk quota",
  },
  {
    name: "no volume that fits",
    facts: withClaim({ spec: { storageClassName: "" } }),
    want: ["VolumePending", "PersistentVolumeClaim/v-demo", true],
    says: "no PersistentVolume fits",
  },
  {
    name: "a slow provisioner",
    facts: withClaim({ spec: { storageClassName: "standard" } }),
    want: ["VolumePending", "PersistentVolumeClaim/v-demo", false],
    says: '"standard"',
  },
  {
    name: "a volume that is made only for a Pod with a node",
    facts: withClaim({ spec: { storageClassName: "standard" } }, {
      events: pvcEvent("WaitForFirstConsumer", "waiting"),
    }),
    want: ["Starting", "Sandbox/demo", false],
    says: "starting",
  },
];

test.for(cases)("$name: $want.0", expectCause);
