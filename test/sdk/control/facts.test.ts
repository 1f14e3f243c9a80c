/** What a diagnosis reads: as little as it can, in as few rounds as it can, and nothing that is forbidden fails it. @module */
import { expect, onTestFinished, test, vi } from "vitest";
import type { Subject } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import type { Api } from "../../../packages/kube/api.ts";
import { explain, readFacts } from "../../../packages/sdk/control/facts.ts";
import { aCondition, ago, aPod, aWaitingSandbox, NOW, SUBJECT } from "../../api/diagnosis/facts.ts";
import { aClaim, aMember, aPool } from "../../pools.ts";
import { aTemplate } from "../../templates.ts";
import { serving } from "./serving.ts";

const CLAIM: Subject = { kind: "SandboxClaim", namespace: "team-a", name: "job" };
const POOL: Subject = { kind: "SandboxWarmPool", namespace: "team-a", name: "warm" };

const isReady = { conditions: [aCondition("Ready", "True", "DependenciesReady")] };
const EVENT = {
  metadata: {},
  involvedObject: { kind: "Pod", namespace: "team-a", name: "demo", uid: "uid-pod" },
  reason: "FailedMount",
  message: 'secret "s" not found',
  firstTimestamp: ago(9),
  lastTimestamp: null,
  series: { lastObservedTime: ago(1) },
};

test("what is Ready, or does not exist, costs one request", async () => {
  const { api, paths } = serving({ "sandboxclaims/job": aClaim("job", { status: isReady }) });
  expect(why(await readFacts(api, CLAIM), NOW).code).toBe("Ready");
  expect(why(await readFacts(api, SUBJECT), NOW).code).toBe("NotFound");
  expect(paths()).toEqual(["sandboxclaims/job", "sandboxes/demo"]);
  const ready = serving({ "sandboxes/demo": aWaitingSandbox({ status: isReady }) });
  expect(why(await readFacts(ready.api, SUBJECT), NOW).code).toBe("Ready");
  expect(ready.paths()).toEqual(["sandboxes/demo"]);
});

test("of what became Ready a moment ago the Pod is read, too: it may be between two crashes", async () => {
  const container = {
    name: "main",
    ready: true,
    restartCount: 4,
    state: { running: { startedAt: ago(5) } },
    lastState: { terminated: { exitCode: 3, startedAt: ago(50), finishedAt: ago(47) } },
  };
  const { api, paths } = serving({
    "sandboxclaims/job": aClaim("job", { status: { sandbox: { name: "demo" }, ...isReady } }),
    "sandboxes/demo": aWaitingSandbox({ status: isReady }),
    "pods/demo": aPod({ phase: "Running", containerStatuses: [container] }),
    "node-1": { metadata: { name: "node-1" } },
  });
  expect(why(await readFacts(api, CLAIM, undefined, NOW), NOW).code).toBe("CrashLoop");
  expect(why(await readFacts(api, SUBJECT, undefined, NOW), NOW).code).toBe("CrashLoop");
  const events = "events?involvedObject.name=demo";
  expect(paths()).toEqual([
    "sandboxclaims/job",
    "sandboxes/demo",
    "pods/demo",
    events,
    "sandboxes/demo",
    "pods/demo",
    events,
    "nodes/node-1",
  ]);
});

test("a Ready claim whose Sandbox does not follow it: its Events say why", async () => {
  const message = "Pod is Ready; spec.additionalPodMetadata of the claim is not applied yet";
  const status = { sandbox: { name: "demo" }, conditions: [aCondition("Ready", "True", "DependenciesReady", message)] };
  const words = "sandboxes.agents.x-k8s.io \"demo\" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding " +
    "'freeze' denied request: no changes";
  const event = {
    metadata: {},
    involvedObject: { kind: "SandboxClaim", namespace: "team-a", name: "job", uid: "uid-job" },
    reason: "SyncError",
    message: `Sync error: can't reconcile children for SandboxClaim team-a/job: ${words}`,
    firstTimestamp: ago(9),
    lastTimestamp: ago(1),
  };
  const world = { "sandboxclaims/job": aClaim("job", { metadata: { uid: "uid-job" }, status }) };
  const quiet = serving(world);
  expect(why(await readFacts(quiet.api, CLAIM), NOW).code).toBe("Ready");
  const { api } = serving({ ...world, "events?involvedObject.name=job": { items: [event] } });
  expect(why(await readFacts(api, CLAIM), NOW)).toMatchObject({
    code: "AdmissionPolicyDenied",
    object: { kind: "ValidatingAdmissionPolicy", name: "freeze" },
  });
});

test("a claim that was given a Sandbox: itself, then pool, Sandbox, Pod and Events at once, then the node", async () => {
  const status = { sandbox: { name: "demo" }, conditions: [aCondition("Ready", "False", "DependenciesNotReady")] };
  const { api, paths } = serving({
    "sandboxclaims/job": aClaim("job", { status }),
    "sandboxwarmpools/warm": aPool(),
    "sandboxes/demo": aWaitingSandbox(),
    "pods/demo": aPod(),
    "events?involvedObject.name=demo": { items: [EVENT] },
    nodes: { items: [] },
  });
  const facts = await readFacts(api, CLAIM);
  expect(paths()).toEqual([
    "sandboxclaims/job",
    "sandboxwarmpools/warm",
    "sandboxes/demo",
    "pods/demo",
    "events?involvedObject.name=demo",
    "nodes/node-1",
  ]);
  expect(facts.events).toEqual([{
    uid: "uid-pod",
    object: { kind: "Pod", namespace: "team-a", name: "demo" },
    reason: "FailedMount",
    message: 'secret "s" not found',
    first: ago(9),
    last: ago(1),
  }]);
  expect(facts.nodes).toEqual([]);
  expect(facts.unreadable).toBeUndefined();
});

test("a claim without a Sandbox: its pool's Events and template, and the binder's Lease, too", async () => {
  const { api, paths } = serving({ "sandboxclaims/job": aClaim("job"), "sandboxwarmpools/warm": aPool() });
  const facts = await readFacts(api, CLAIM);
  expect(paths()).toEqual([
    "sandboxclaims/job",
    "sandboxwarmpools/warm",
    "events?involvedObject.name=warm",
    "sandboxes/job",
    "pods/job",
    "events?involvedObject.name=job",
    "sandboxtemplates/python",
    "namespaces/hookbox-system/leases/hookbox-binder",
    "namespaces/default/leases/hookbox-binder",
    "leases?metadata.name=hookbox-binder",
  ]);
  expect(facts).toMatchObject({ template: null, sandbox: null, pod: null, binder: null });
  expect(why(facts, NOW).code).toBe("TemplateNotFound");
});

test("a claim is as old as it was when asked about, however long the API server takes", async () => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:08Z") });
  onTestFinished(() => void vi.useRealTimers());
  const { api } = serving({
    "sandboxclaims/job": aClaim("job", { metadata: { creationTimestamp: "2026-01-01T00:00:00Z" } }),
    "sandboxwarmpools/warm": aPool(),
    "sandboxtemplates/python": aTemplate(),
    "leases/hookbox-binder": { metadata: { namespace: "hookbox-system", name: "hookbox-binder" }, spec: {} },
  });
  const send: Api["send"] = async (request) => {
    await vi.advanceTimersByTimeAsync(5000);
    return await api.send(request);
  };
  expect((await explain({ ...api, send }, CLAIM)).code).toBe("Starting");
  expect((await explain({ ...api, send }, CLAIM)).code).toBe("BinderDown");
});

test("a claim that expires while it is read about has not expired, and all is read that it needs", async () => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:08Z") });
  onTestFinished(() => void vi.useRealTimers());
  const spec = { lifecycle: { shutdownTime: "2026-01-01T00:00:10Z" } };
  const { api } = serving({ "sandboxclaims/job": aClaim("job", { spec }) });
  const send: Api["send"] = async (request) => {
    await vi.advanceTimersByTimeAsync(5000);
    return await api.send(request);
  };
  expect((await explain({ ...api, send }, CLAIM)).code).toBe("WarmPoolNotFound");
});

test("the binder's Lease is looked for no further than it is found, or forbidden", async () => {
  const lease = { metadata: { namespace: "mine", name: "hookbox-binder" }, spec: { holderIdentity: "b1" } };
  const read = async (objects: Record<string, object | null>) => {
    const world = { "sandboxclaims/job": aClaim("job"), "sandboxwarmpools/warm": aPool(), ...objects };
    const { api, paths } = serving(world);
    const { binder, unreadable } = await readFacts(api, CLAIM);
    return { binder, unreadable, asked: paths().filter((path) => path.includes("leases")).length };
  };
  expect(await read({ "leases/hookbox-binder": lease })).toEqual({ binder: lease, unreadable: undefined, asked: 1 });
  const elsewhere = { "leases?metadata.name=hookbox-binder": { items: [lease] } };
  expect(await read(elsewhere)).toEqual({ binder: lease, unreadable: undefined, asked: 3 });
  const unreadable = [{ what: "leases", message: expect.stringContaining("forbidden") }];
  expect(await read({ "leases/hookbox-binder": null })).toEqual({ binder: undefined, unreadable, asked: 1 });
  expect(await read({ leases: null })).toEqual({ binder: undefined, unreadable, asked: 3 });
});

test("a pool: its template, its members, and the Pod of the worst of them", async () => {
  const members = [aMember(1), aMember(2, { state: "overQuota" })];
  const { api, paths } = serving({
    "sandboxwarmpools/warm": aPool({ status: { conditions: [aCondition("Progressing", "True", "Filling")] } }),
    "sandboxtemplates/python": aTemplate(),
    sandboxes: { items: members },
  });
  const facts = await readFacts(api, POOL);
  const worst = members[1]?.metadata.name;
  expect(paths().map((path) => path.replace(/=[0-9a-f]{8}$/, "=HASH"))).toEqual([
    "sandboxwarmpools/warm",
    "sandboxes?agents.x-k8s.io/warm-pool-sandbox=HASH",
    "events?involvedObject.name=warm",
    "sandboxtemplates/python",
    `pods/${worst}`,
    `events?involvedObject.name=${worst}`,
    "resourcequotas",
  ]);
  expect(facts.sandbox?.metadata.name).toBe(worst);
});

test("a Pod that no node takes: nodes, and the volumes that it wants", async () => {
  const pod = aPod({}, { nodeName: "", volumes: [{ name: "v", persistentVolumeClaim: { claimName: "v-demo" } }] });
  const { api, paths } = serving({ "sandboxes/demo": aWaitingSandbox(), "pods/demo": pod });
  const facts = await readFacts(api, SUBJECT);
  expect(paths().slice(3)).toEqual([
    "nodes",
    "persistentvolumeclaims",
    "storageclasses",
    "events?involvedObject.name=v-demo",
  ]);
  expect(facts).toMatchObject({ nodes: [], volumeClaims: [], storageClasses: [] });
});

test("what is forbidden is noted, once, and the rest is read", async () => {
  const { api } = serving({
    "sandboxes/demo": aWaitingSandbox(),
    "pods/demo": null,
    "events?involvedObject.name=demo": null,
  });
  const facts = await readFacts(api, SUBJECT);
  expect(facts.pod).toBeUndefined();
  expect(facts.unreadable).toEqual([
    { what: "pods", message: "pods/demo is forbidden" },
    { what: "events", message: "team-a/events is forbidden" },
  ]);
  const { evidence } = why(facts, NOW);
  expect(evidence.map(({ where }) => where)).toEqual(
    expect.arrayContaining(["cannot read pods", "cannot read events"]),
  );
});

test("a kind that the cluster does not have is not an object that does not exist", async () => {
  const api: Api = {
    send: () => Promise.resolve({ status: 404, body: { message: "the server could not find the requested resource" } }),
    watch: () => Promise.reject(new Error("Cannot watch: nobody is to")),
  };
  const finding = why(await readFacts(api, SUBJECT), NOW);
  expect(finding.code).toBe("NotReady");
  expect(finding.evidence[0]?.text).toBe("the server could not find the requested resource");
});

test("an object that is not as the API says is reported, not trusted", async () => {
  const { api } = serving({ "sandboxes/demo": { kind: "Sandbox", metadata: { name: "demo" } } });
  const facts = await readFacts(api, SUBJECT);
  expect(facts.sandbox).toBeUndefined();
  expect(facts.unreadable).toEqual([{ what: "sandboxes", message: "it is not as the API describes it" }]);
});

test("a signal goes along with every request; an API server that does not answer is an error", async () => {
  const { api, requests } = serving({ "sandboxes/demo": aWaitingSandbox() });
  const { signal } = new AbortController();
  await readFacts(api, SUBJECT, signal);
  expect(requests.length).toBeGreaterThan(2);
  expect(requests.filter((request) => request.signal !== signal)).toEqual([]);
  const down: Api = { ...api, send: () => Promise.reject(new Error("Cannot reach it")) };
  await expect(readFacts(down, SUBJECT)).rejects.toThrow("Cannot reach it");
});
