/** Whatever the API server accepts and whatever is observed: the hook answers, and never deletes a volume. @module */
import { expect, test } from "vitest";
import { syncSandbox } from "../../../../hooks/sandbox/sync.ts";
import { deletionReasons } from "../../../../hooks/sandbox/deletionreasons.ts";
import { childRules } from "../../../../hooks/sandbox/childrules.ts";
import { evidence, statusRules } from "../../../../hooks/sandbox/statusrules.ts";
import { guardStatus } from "../../../../packages/webhook/statusrules.ts";
import { guardAnswer, guardResync } from "../../../../packages/webhook/guard.ts";
import { compositeAnswerSchema, kindKey, listAll } from "../../../../packages/webhook/metacontroller.ts";
import type { KubeObject } from "../../../../packages/api/objects/objects.ts";
import { aChild, aRequest, aSandbox, NOW } from "../../../sandboxes.ts";
import fc from "../../../properties.ts";

const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,70}[a-z0-9])?$/);
const labels = fc.dictionary(
  fc.constantFrom(
    "app",
    "a",
    "agents.x-k8s.io/claim-uid",
    "agents.x-k8s.io/created-by",
    "extensions.agents.x-k8s.io/y",
  ),
  fc.stringMatching(/^[a-z0-9]{0,5}$/),
);
const port = fc.record({
  containerPort: fc.constantFrom(53, 80, 8080),
  protocol: fc.constantFrom("TCP", "UDP", "SCTP"),
  name: fc.option(fc.constantFrom("web", "dns"), { nil: undefined }),
}, { requiredKeys: ["containerPort"] });
const container = fc.record({
  name: fc.constantFrom("main", "side"),
  image: fc.constant("busybox"),
  ports: fc.array(port, { maxLength: 4 }),
  restartPolicy: fc.constantFrom("Always", undefined),
}, { requiredKeys: ["name"] });
const volumeTemplate = fc.record({
  metadata: fc.option(
    fc.record({ name: fc.oneof(name, fc.constantFrom("", "data")), labels }, { requiredKeys: [] }),
    { nil: undefined },
  ),
  spec: fc.constant({ accessModes: ["ReadWriteOnce"] }),
}, { requiredKeys: ["spec"] });
const instant = fc.date({ min: new Date("2000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString());
const spec = fc.record({
  podTemplate: fc.record({
    metadata: fc.record({ labels, annotations: labels }, { requiredKeys: [] }),
    spec: fc.record({
      containers: fc.array(container, { maxLength: 3 }),
      initContainers: fc.array(container, { maxLength: 2 }),
      volumes: fc.array(fc.record({ name: fc.constantFrom("data", "tmp") }), { maxLength: 2 }),
    }, { requiredKeys: ["containers"] }),
  }, { requiredKeys: ["spec"] }),
  volumeClaimTemplates: fc.array(volumeTemplate, { maxLength: 3 }),
  operatingMode: fc.constantFrom("Running", "Suspended"),
  service: fc.boolean(),
  shutdownTime: instant,
  shutdownPolicy: fc.constantFrom("Delete", "Retain"),
}, { requiredKeys: ["podTemplate", "operatingMode", "shutdownPolicy"] });
const condition = fc.record({
  type: fc.constantFrom("Ready", "Suspended", "PodScheduled", "Finished", "example.com/Other"),
  status: fc.constantFrom("True", "False", "Unknown"),
  reason: fc.constantFrom("SandboxExpired", "DependenciesReady", "Other"),
  message: fc.string(),
  lastTransitionTime: fc.constant("2026-11-21T10:00:00Z"),
});
const status = fc.record({
  conditions: fc.array(condition, { maxLength: 4 }),
  service: fc.string(),
  selector: fc.string(),
  nodeName: fc.string(),
}, { requiredKeys: [] });
const unresolved = fc.oneof(
  fc.string(),
  fc.record({
    generation: fc.constantFrom(1, 2),
    problems: fc.array(fc.record({
      kind: fc.constantFrom("PersistentVolumeClaim", "Pod", "Service"),
      name: fc.constantFrom("demo", "data-demo"),
      state: fc.constantFrom("taken", "invalid", "refused"),
      message: fc.string(),
    })),
  }).map((value) => JSON.stringify(value)),
).map((text) => ({ "agents.x-k8s.io/unresolved": text }));

const podStatus = fc.record({
  phase: fc.constantFrom("Pending", "Running", "Succeeded", "Failed", "Unknown", ""),
  podIPs: fc.array(fc.record({ ip: fc.ipV4() }), { maxLength: 2 }),
  conditions: fc.array(fc.record({
    type: fc.constantFrom("Ready", "PodScheduled", "Initialized"),
    status: fc.constantFrom("True", "False", "Unknown", "odd"),
    reason: fc.constantFrom("", "Unschedulable"),
  }, { requiredKeys: ["type", "status"] })),
}, { requiredKeys: [] });
const child = fc.record({
  kind: fc.constantFrom("Pod", "Service", "PersistentVolumeClaim"),
  metadata: fc.record({ name: fc.oneof(fc.constantFrom("demo", "data-demo"), name), labels }, {
    requiredKeys: ["name"],
  }),
  spec: fc.record({ nodeName: fc.string(), ports: fc.array(fc.record({ port: fc.nat() })) }, { requiredKeys: [] }),
  status: podStatus,
  lastApplied: fc.option(
    fc.record({ metadata: fc.constant({ labels: { a: "b" } }), spec: fc.constant({ clusterIP: "None" }) }, {
      requiredKeys: [],
    }),
    { nil: undefined },
  ),
}, { requiredKeys: ["kind", "metadata"] });
const metadata = fc.record({ name, labels, annotations: unresolved, generation: fc.constantFrom(1, 2) }, {
  requiredKeys: ["name"],
});

const request = fc.record({
  metadata: fc.oneof(metadata, fc.constant({})),
  spec,
  status: fc.option(status, { nil: undefined }),
  children: fc.array(child, { maxLength: 6 }),
}).map(({ metadata, spec, status, children }) =>
  aRequest(
    aSandbox({ metadata, spec, ...(status ? { status } : {}) }),
    children.map(({ kind, lastApplied, ...rest }) =>
      aChild(kind, { ...rest, ...(lastApplied ? { lastApplied } : {}) })
    ),
  )
);
const sync = (observed: ReturnType<typeof aRequest>) => syncSandbox(observed, NOW, { clusterDomain: "cluster.local" });
const key = (object: Pick<KubeObject, "apiVersion" | "kind"> & { metadata: { name: string } }) =>
  `${kindKey(object)}/${object.metadata.name}`;

test("it answers by the protocol, and the guard lets every answer pass", () => {
  fc.assert(fc.property(request, (observed) => {
    const { deletions, ...desired } = sync(observed);
    expect(compositeAnswerSchema.safeParse(desired).error).toBeUndefined();
    const verdict = guardAnswer(observed, desired.children, deletions ?? {}, NOW, deletionReasons, childRules);
    expect("refusal" in verdict && verdict.refusal).toBe(false);
    const rules = statusRules({ clusterDomain: "cluster.local" });
    expect(guardStatus(observed, desired.status, NOW, evidence, rules)).toBeUndefined();
    expect(guardResync(desired.resyncAfterSeconds)).toBeUndefined();
  }));
});

test("it never deletes a volume", () => {
  fc.assert(fc.property(request, (observed) => {
    const desired = new Set(sync(observed).children.map(key));
    const volumes = listAll(observed.children).filter(({ kind }) => kind === "PersistentVolumeClaim");
    expect(volumes.map(key).filter((volume) => !desired.has(volume))).toEqual([]);
  }));
});

test("it never changes a live Pod's image: no answer carries a template's spec for a Pod that exists", () => {
  fc.assert(fc.property(request, (observed) => {
    const pods = Object.keys(observed.children["Pod.v1"] ?? {});
    const answered = sync(observed).children.filter(({ kind, metadata }) =>
      kind === "Pod" && pods.includes(`team-a/${metadata.name}`)
    );
    expect(answered.filter(({ spec }) => spec !== undefined && "containers" in (spec as object))).toEqual([]);
  }));
});

test("Ready is True only with one Ready Pod that has an address", () => {
  fc.assert(fc.property(request, (observed) => {
    const { status, children } = sync(observed);
    if (status.conditions?.find(({ type }) => type === "Ready")?.status !== "True") return;
    expect(status.podIPs?.length).toBeGreaterThan(0);
    expect(children.filter(({ kind }) => kind === "Pod")).toHaveLength(1);
  }));
});
