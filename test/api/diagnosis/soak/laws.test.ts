/** Laws of a diagnosis, whatever facts there are: it never throws, names its way and its evidence, and changes nothing. @module */
import { expect, test } from "vitest";
import { CATALOGUE } from "../../../../packages/api/diagnosis/catalogue.ts";
import type { Facts, PodSpecFact } from "../../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../../packages/api/diagnosis/why.ts";
import { aClaim, aPool } from "../../../pools.ts";
import { aTemplate } from "../../../templates.ts";
import { aCondition, ago, anEvent, aPod, aWaitingSandbox, KEY, NOW, waiting } from "../facts.ts";
import fc, { runs } from "../../../properties.ts";

const words = fc.constantFrom(
  "",
  "exceeded quota: q, requested: pods=1",
  'violates PodSecurity "restricted:latest"',
  'secret "s" not found',
  "couldn't find key k in Secret n/s",
  "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).",
  'SandboxTemplate "x" not found',
  "http error: connection refused",
  "Readiness probe failed: no",
);
const reason = fc.constantFrom(
  "Odd",
  "DependenciesReady",
  "DependenciesNotReady",
  "ReconcilerError",
  "InvalidMetadata",
  "InvalidConfiguration",
  "TemplateNotFound",
  "ImagePullFailed",
  "Unschedulable",
  "ClaimExpired",
  "SyncError",
  "FailedMount",
  "Unhealthy",
  "CrashLoopBackOff",
  "ErrImagePull",
  "CreateContainerConfigError",
);
const type = fc.constantFrom("Ready", "PodScheduled", "ContainersFailing", "Finished", "Progressing", "Suspended");
const status = fc.constantFrom("True" as const, "False" as const, "Unknown" as const);
const condition = fc.tuple(type, status, reason, words).map((args) => aCondition(...args));
const statusOf = fc.record({ conditions: fc.array(condition), observedGeneration: fc.nat(2) }, { requiredKeys: [] });
/** Of a claim, which may name the Sandbox `demo`. */
const claimStatus = fc.tuple(statusOf, fc.constantFrom({}, { sandbox: { name: "demo" } })).map(([one, other]) => ({
  ...one,
  ...other,
}));
const metadata = fc.record({
  deletionTimestamp: fc.constant(ago(3)),
  generation: fc.nat(3),
  creationTimestamp: fc.constantFrom(ago(1), ago(20), ago(500), "nonsense"),
  annotations: fc.constantFrom({ [KEY("for-claim")]: "uid-job" }, { [KEY("unresolved")]: "{" }, {
    [KEY("refused-write")]: '{"verb":"update","words":"exceeded quota: q"}',
  }, {}),
  ownerReferences: fc.constant([{
    apiVersion: "x/v1",
    kind: "SandboxClaim",
    name: "job",
    uid: "uid-job",
    controller: true,
  }]),
}, { requiredKeys: [] });
const sandbox = fc.record({
  metadata,
  status: statusOf,
  spec: fc.constantFrom({}, { operatingMode: "Suspended" }, { shutdownTime: ago(9) }, { shutdownTime: "soon" }),
}).map(aWaitingSandbox);
const end = fc.record({ exitCode: fc.constantFrom(0, 1, 137), reason, message: words }, { requiredKeys: [] });
const container = fc.tuple(
  reason,
  words,
  fc.record({ restartCount: fc.nat(5), lastState: fc.record({ terminated: end }) }, { requiredKeys: [] }),
)
  .map((args) => waiting(...args));
const pod = fc.tuple(
  fc.record({
    phase: fc.constantFrom("Pending", "Running", "Failed"),
    conditions: fc.array(fc.record({ type, status, reason, message: words }, { requiredKeys: ["type", "status"] })),
    containerStatuses: fc.array(container),
  }, { requiredKeys: [] }),
  fc.constantFrom<PodSpecFact[]>({}, { nodeName: "" }, {
    nodeName: "",
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }],
  }),
).map((args) => aPod(...args));
const event = fc.tuple(
  reason,
  words,
  fc.constantFrom("Pod", "Sandbox", "SandboxWarmPool"),
  fc.constantFrom("demo", "warm"),
)
  .map((args) => anEvent(...args));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });

/** Any facts, any of them missing. */
const facts: fc.Arbitrary<Facts> = fc.record({
  subject: fc.constantFrom(
    { kind: "Sandbox", namespace: "team-a", name: "demo" } as const,
    { kind: "SandboxClaim", namespace: "team-a", name: "job" } as const,
    { kind: "SandboxWarmPool", namespace: "team-a", name: "warm" } as const,
  ),
  claim: maybe(fc.record({ metadata, status: claimStatus }).map((over) => aClaim("job", over))),
  pool: maybe(fc.record({ metadata, status: statusOf }).map(aPool)),
  template: maybe(fc.constant(aTemplate())),
  sandbox: maybe(sandbox),
  members: fc.array(sandbox, { maxLength: 3 }),
  pod: maybe(pod),
  events: fc.array(event, { maxLength: 4 }),
  volumeClaims: fc.array(fc.constant({ metadata: { name: "c" } })),
  binder: maybe(
    fc.record({
      holderIdentity: fc.constantFrom("", "b1"),
      renewTime: fc.constantFrom(ago(1), ago(60), "nonsense"),
      leaseDurationSeconds: fc.constantFrom(1, 15),
    }, { requiredKeys: [] }).map((spec) => ({ metadata: { namespace: "a", name: "hookbox-binder" }, spec })),
  ),
  nodes: fc.array(fc.constant({ metadata: { name: "node-1" } })),
  unreadable: fc.array(fc.constant({ what: "pods", message: "forbidden" })),
}, { requiredKeys: ["subject"] }) as fc.Arbitrary<Facts>;

test("every finding has its way, its evidence, a remedy, and a code of the catalogue", () => {
  fc.assert(
    fc.property(facts, (given) => {
      const before = structuredClone(given);
      const { code, isOk, chain, object, evidence, remedy, summary } = why(given, NOW);
      expect(chain[0]).toEqual(given.subject);
      expect(chain.at(-1)).toEqual(object);
      expect(new Set(chain.map((ref) => JSON.stringify(ref))).size).toBe(chain.length);
      expect(Object.keys(CATALOGUE)).toContain(code);
      expect(isOk).toBe(code === "Ready");
      if (!isOk) expect(evidence).not.toEqual([]);
      expect([remedy, summary].filter((text) => text.trim() === "" || text.includes("undefined"))).toEqual([]);
      expect(given).toEqual(before);
    }),
    { numRuns: runs(1000) },
  );
});

test("the same facts give the same finding", () => {
  fc.assert(
    fc.property(facts, (given) => {
      const finding = why(given, NOW);
      expect(why(structuredClone(given), NOW)).toEqual(finding);
    }),
    { numRuns: runs(500) },
  );
});
