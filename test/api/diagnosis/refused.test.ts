/** What the API server refuses a Sandbox, and names that are taken: by the keeper's word, by Ready, by Events. @module */
import { expect, test } from "vitest";
import { why } from "../../../packages/api/diagnosis/why.ts";
import {
  ago,
  aPod,
  type Case,
  expectCause,
  notReady,
  NOW,
  QUOTA,
  sandboxFacts,
  syncError,
  unresolved,
} from "./facts.ts";

/** A moment ago somebody wrote to the spec. */
const WRITTEN = { time: ago(1), fieldsV1: { "f:spec": {} } };

const cases: Case[] = [
  {
    name: "a quota, by the keeper's word",
    facts: sandboxFacts(unresolved("refused", QUOTA)),
    want: ["QuotaExceeded", "ResourceQuota/small", true],
    says: "used: pods=4",
  },
  {
    name: "a quota, by Ready",
    facts: sandboxFacts({ status: notReady("ReconcilerError", `Error seen: ${QUOTA}`) }),
    want: ["QuotaExceeded", "ResourceQuota/small", true],
    says: "pods=4",
  },
  {
    name: "a quota, by an Event",
    facts: sandboxFacts({}, { events: [syncError(QUOTA)] }),
    want: ["QuotaExceeded", "ResourceQuota/small", true],
    says: "pods=4",
  },
  {
    name: "a Pod that cannot be deleted, though its Sandbox is suspended",
    facts: sandboxFacts({
      ...unresolved(
        "stuck",
        "cannot delete Pod \"demo\": pods \"demo\" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'b' denied " +
          "request: change freeze",
      ),
      spec: { operatingMode: "Suspended" },
    }),
    want: ["AdmissionPolicyDenied", "ValidatingAdmissionPolicy/freeze", true],
    says: "change freeze",
  },
  {
    name: "a refusal of an older spec",
    facts: sandboxFacts(unresolved("invalid", 'Pod "demo" is invalid: spec.x', 0)),
    want: ["Starting", "Sandbox/demo", false],
    says: "starting",
  },
  {
    name: "an Event of before the spec changed",
    facts: sandboxFacts({ metadata: { managedFields: [WRITTEN] } }, { events: [syncError(QUOTA)] }),
    want: ["Starting", "Sandbox/demo", false],
    says: "starting",
  },
  {
    name: "an Event of before somebody annotated it",
    facts: sandboxFacts({ metadata: { managedFields: [{ ...WRITTEN, fieldsV1: { "f:metadata": {} } }] } }, {
      events: [syncError(QUOTA)],
    }),
    want: ["QuotaExceeded", "ResourceQuota/small", true],
    says: "pods=4",
  },
  {
    name: "a bad spec in words of our own",
    facts: sandboxFacts({ status: notReady("InvalidConfiguration", "Error seen: odd") }),
    want: ["InvalidConfiguration", "Sandbox/demo", true],
    says: "odd",
  },
  {
    name: "an error in words of our own",
    facts: sandboxFacts({ status: notReady("ReconcilerError", "Error seen: odd") }),
    want: ["ChildRefused", "Sandbox/demo", true],
    says: "odd",
  },
  {
    name: "a name that is taken",
    facts: sandboxFacts(unresolved("taken", 'cannot adopt unowned pod "demo": missing', 0)),
    want: ["NameTaken", "Pod/demo", true],
    says: "not this Sandbox's",
  },
  {
    name: "a name that is taken by what an earlier Sandbox has left",
    facts: sandboxFacts(unresolved("taken", 'pod "demo" is owned by Sandbox/demo (UID: 1), not by sandbox "demo"')),
    want: ["NameTaken", "Pod/demo", false],
    says: "not this Sandbox's",
  },
  {
    name: "a name that is taken by what is being deleted",
    facts: sandboxFacts(unresolved("taken", 'cannot adopt unowned pod "demo": missing'), {
      pod: { metadata: { name: "demo", namespace: "team-a", deletionTimestamp: ago(2) } },
    }),
    want: ["NameTaken", "Pod/demo", false],
    says: "not this Sandbox's",
  },
  {
    name: "a volume's name that is taken",
    facts: sandboxFacts({
      status: notReady("ReconcilerError", 'Error seen: PVC "v-demo" is not controlled by this Sandbox'),
    }),
    want: ["NameTaken", "PersistentVolumeClaim/v-demo", true],
    says: '"v-demo"',
  },
  {
    name: "a foreign Pod, before the keeper has told",
    facts: sandboxFacts({}, { pod: { ...aPod(), metadata: { name: "demo", namespace: "team-a" } } }),
    want: ["NameTaken", "Pod/demo", true],
    says: "nobody controls it",
  },
];

test.for(cases)("$name: $want.0", expectCause);

test("a quota's own figures are evidence", () => {
  const quotas = [{ metadata: { name: "small" }, status: { hard: { pods: "4" }, used: { pods: "4" } } }];
  expect(why(sandboxFacts(unresolved("refused", QUOTA), { quotas }), NOW).evidence.at(-1)).toEqual({
    object: { kind: "ResourceQuota", namespace: "team-a", name: "small" },
    where: "status.used",
    text: "pods: 4 of 4",
  });
});

test.for<[message: string, remedy: string]>([
  [
    'Pod "demo" is invalid: spec.containers[0].image: Required value',
    'Correct spec.podTemplate.spec.containers[0].image of Sandbox "demo".',
  ],
  ['Service "demo" is invalid: metadata.name: x', 'Correct what the evidence names in Sandbox "demo".'],
])("%s: %s", ([message, remedy]) => {
  expect(why(sandboxFacts(unresolved("invalid", message)), NOW).remedy).toBe(remedy);
});

test("no remedy is to delete somebody's volume", () => {
  const taken = (what: string) =>
    why(sandboxFacts(unresolved("taken", `cannot adopt unowned ${what} "x": missing`)), NOW).remedy;
  expect(taken("PVC")).toBe(
    "Let the Sandbox have it (kubectl label persistentvolumeclaim x -n team-a agents.x-k8s.io/adoptable=true), " +
      "or use another name.",
  );
  expect(taken("pod")).toContain("Delete it (kubectl delete pod x -n team-a)");
});
