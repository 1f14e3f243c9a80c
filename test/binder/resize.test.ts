/** A claim that asks for resources gets a member that is resized while it runs, or a new Sandbox; its status says which. @module */
import { afterEach, expect, test } from "vitest";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import type { ApiRequest } from "../../packages/kube/api.ts";
import { aTemplate } from "../templates.ts";
import { aPool, COUNTED } from "../pools.ts";
import { aWorld, once } from "./world.ts";

const resources = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } };
const podSpec = { containers: [{ name: "main", image: "python", resources }, { name: "side", image: "side" }] };
const BOUNDS = { "agents.x-k8s.io/claim-resources": "cpu=250m..4,memory=256Mi..8Gi" };
const template = (spec: object = podSpec, annotations: object = BOUNDS) =>
  aTemplate({ metadata: { annotations }, spec: { podTemplate: { spec }, volumeClaimTemplatesPolicy: "Allowed" } });
const asking = (text: string, over: object = {}) => ({
  metadata: { annotations: { "agents.x-k8s.io/resources": text } },
  ...over,
});
const CPU_2 = asking("cpu=2");
const WANTED = { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } };

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

/** What an API server and a kubelet say to a resize. */
interface Kubelet {
  /** Status of the container, or of the answer with this code. */
  says: (body: Body, isDry: boolean) => { status?: object; code?: number; message?: string; uid?: string };
}
type Body = { spec: { containers: { name: string; resources: object }[] } };

const resizes = (body: Body) => ({ status: { containerStatuses: [{ ...body.spec.containers[0] }] } });
const waits = () => ({ status: { containerStatuses: [{ name: "main", resources }] } });
const pending = (reason: string, more: object = {}) => () => ({
  status: {
    containerStatuses: [{ name: "main", resources }],
    conditions: [{ type: "PodResizePending", status: "True", reason, message: "Node has not enough", ...more }],
  },
});

/** A world with members and a kubelet. `sent` gets each resize, as `dry` or `real`. */
async function begin(members: number[], kubelet: Kubelet["says"], made = template()) {
  const sent: string[] = [];
  const says = { now: kubelet };
  world = await aWorld({ template: made });
  await world.members(members, { applied: { spec: { podTemplate: { spec: podSpec } } } });
  const around = async (request: ApiRequest, send: () => Promise<{ status: number; body: unknown }>) => {
    const [, name = ""] = /\/pods\/([^/]+)\/resize$/.exec(request.path) ?? [];
    if (name === "") return await send();
    const isDry = request.query?.["dryRun"] === "All";
    sent.push(`${isDry ? "dry" : "real"} ${name}`);
    expect([request.method, request.patch]).toEqual(["PATCH", "strategic"]);
    const { status, code = 200, message, uid = sandbox(name)?.metadata.uid } = says.now(request.body as Body, isDry);
    if (code !== 200) return { status: code, body: { message } };
    const ownerReferences = [{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true }];
    return { status: 200, body: { metadata: { name, generation: 3, ownerReferences }, status } };
  };
  await world.binder(undefined, around);
  return { sent, says, around };
}

const sandbox = (name: string) => world.sandboxes().find(({ metadata }) => metadata.name === name);
const first = (name: string) => sandbox(name)?.spec.podTemplate.spec.containers[0]?.resources;
function resized(): string | undefined {
  const found = findCondition(world.claims()[0]?.status?.conditions, "ResizedInPlace");
  return found && `${found.status} ${found.reason} ${found.message}`;
}

test("a member is resized when it is bound, and the claim is Ready when its kubelet has done so", async () => {
  let isDone = false;
  const { sent } = await begin([1, 2], (body) => isDone ? resizes(body) : waits());
  const versions = world.versionsOf("c");
  await world.claim("c", CPU_2);
  await world.clock.advance(2000);
  expect([world.shares(), world.ready()]).toEqual([{ c: ["warm-1"] }, { c: undefined }]);
  expect(sent.slice(0, 3)).toEqual(["dry warm-1", "real warm-1", "real warm-1"]);
  expect(sent.length).toBeLessThan(14);
  isDone = true;
  await world.clock.advance(600);
  expect(world.shown()).toEqual({ c: "warm-1" });
  expect(versions.filter((text) => text?.startsWith("True"))).toHaveLength(1);
  expect(resized()).toBe("True Resized A pool member was resized while it ran: cpu=2, memory=1Gi");
  expect(first("warm-1")).toEqual(WANTED);
  expect(sandbox("warm-1")?.spec.podTemplate.spec.containers[1]).toEqual({ name: "side", image: "side" });
  const before = sent.length;
  await world.clock.advance(60_000);
  expect(sent).toHaveLength(before);
});

test("a claim without resources asks for no resize, and has no condition about one", async () => {
  const { sent } = await begin([1], resizes);
  await world.claim("c");
  await world.clock.advance(0);
  expect([world.shown(), sent, resized()]).toEqual([{ c: "warm-1" }, [], undefined]);
  expect(sandbox("warm-1")?.metadata.annotations).not.toHaveProperty("agents.x-k8s.io/resized");
  expect(first("warm-1")).toEqual(resources);
});

const FORBIDDEN =
  'pods "warm-1" is forbidden: User "b" cannot patch resource "pods/resize" in API group "" in the namespace';

test.for<[string, ReturnType<Kubelet["says"]>, string]>([
  ["a policy refuses it", { code: 422, message: "The local node cannot resize" }, "The local node cannot resize"],
  ["the binder may not", { code: 403, message: FORBIDDEN }, "the binder may not resize Pods of namespace team-a"],
  ["the API server is older", { code: 404, message: "the server could not find the requested resource" }, "could not"],
  ["a webhook is broken", { code: 500, message: "failed calling webhook" }, "failed calling webhook"],
  ["the Pod is another's", { uid: "other" }, "Pod warm-1 does not belong to the Sandbox"],
])("if %s, the claim gets a Sandbox of its own, and the pool keeps its members", async ([, answer, words]) => {
  const { sent } = await begin([1, 2], () => answer);
  await world.claim("c", asking("cpu=2,memory=4Gi"));
  await world.clock.advance(0);
  expect([world.shares(), sent]).toEqual([{ c: ["c"] }, ["dry warm-1"]]);
  expect(first("c")).toEqual({ limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "1", memory: "4Gi" } });
  expect(world.sandboxes().map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(["warm-1", "warm-2"]));
  await world.store.put({ ...sandbox("c"), status: sandbox("warm-1")?.status } as never);
  await world.clock.advance(0);
  expect(resized()).toMatch(/^False ColdStart A new sandbox was started: cpu=2, memory=4Gi\. /);
  expect(resized()).toContain(words);
});

test("a refusal counts for the pool's other claims with the same wish, for a minute", async () => {
  const { sent, says } = await begin([1, 2, 3], () => ({ code: 422, message: "no" }));
  for (const name of ["a", "b", "c"]) await world.claim(name, CPU_2);
  await world.clock.advance(0);
  expect([world.shares(), sent.length]).toEqual([{ a: ["a"], b: ["b"], c: ["c"] }, 1]);
  await world.claim("d", asking("cpu=3"));
  await world.clock.advance(0);
  expect(sent).toHaveLength(2);
  await world.clock.advance(61_000);
  says.now = resizes;
  await world.claim("e", CPU_2);
  await world.clock.advance(0);
  expect(world.shares()["e"]).toEqual(["warm-1"]);
});

test("if only its Pod is missing, the next claim asks again", async () => {
  const { sent, says } = await begin([1], () => ({ code: 404, message: 'pods "warm-1" not found' }));
  await world.claim("a", CPU_2);
  await world.clock.advance(0);
  says.now = resizes;
  await world.claim("b", CPU_2);
  await world.clock.advance(0);
  expect([world.shares(), sent.length]).toEqual([{ a: ["a"], b: ["warm-1"] }, 3]);
});

test.for(["Infeasible", "Deferred"])(
  "a member that is %s is deleted, and the claim gets a new Sandbox",
  async (reason) => {
    const { sent } = await begin([1, 2], (body, isDry) => isDry ? resizes(body) : pending(reason)());
    const versions = world.versionsOf("c");
    await world.claim("c", CPU_2);
    await world.clock.advance(1000);
    expect([world.shares(), sent]).toEqual([{ c: ["c"] }, ["dry warm-1", "real warm-1"]]);
    expect([sandbox("warm-1"), sandbox("warm-2") !== undefined]).toEqual([undefined, true]);
    expect(sandbox("c")?.metadata.annotations?.["agents.x-k8s.io/not-resized"]).toBe(`${reason}: Node has not enough`);
    expect(versions.filter((text) => text?.includes("warm-1"))).toEqual([]);
  },
);

test("a condition of an earlier resize says nothing, and the claim waits for its own", async () => {
  const { says } = await begin(
    [1],
    (body, isDry) => isDry ? resizes(body) : pending("Infeasible", { observedGeneration: 2 })(),
  );
  await world.claim("c", CPU_2);
  await world.clock.advance(1000);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  says.now = resizes;
  await world.clock.advance(600);
  expect(world.shown()).toEqual({ c: "warm-1" });
});

test.for<[string, ReturnType<Kubelet["says"]>]>([
  ["does not resize in ten seconds", waits()],
  ["has lost its Pod", { code: 404, message: 'pods "warm-1" not found' }],
  ["cannot be asked", { code: 429, message: "too many requests" }],
])("a member that %s is deleted, and the claim gets a new Sandbox", async ([, answer]) => {
  await begin([1, 2], (body, isDry) => isDry ? resizes(body) : answer);
  await world.claim("c", CPU_2);
  await world.clock.advance(9000);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: undefined }]);
  await world.clock.advance(2000);
  expect(world.shares()).toEqual({ c: ["c"] });
});

test("while the API server is busy, the claim waits, and keeps its chance of a member", async () => {
  const { says } = await begin([1], () => ({ code: 429, message: "too many requests" }));
  await world.claim("c", CPU_2);
  await world.clock.advance(1000);
  expect(world.shares()).toEqual({ c: [] });
  says.now = resizes;
  await world.clock.advance(10_000);
  expect(world.shown()).toEqual({ c: "warm-1" });
});

test("a new binder goes on with the resize that another one has begun", async () => {
  const { sent, says, around } = await begin([1], waits);
  await world.claim("c", CPU_2);
  await world.clock.advance(1000);
  await world.stop();
  says.now = resizes;
  const asked = sent.length;
  await world.binder(undefined, around);
  await world.clock.advance(1000);
  expect([world.shown(), sent.slice(asked)]).toEqual([{ c: "warm-1" }, ["real warm-1"]]);
  expect(resized()).toMatch(/^True Resized/);
});

test("a member that another binder has bound to the claim is not deleted", async () => {
  await begin([1], (body, isDry) => isDry ? resizes(body) : waits());
  await world.claim("c", CPU_2);
  await world.clock.advance(9000);
  const claim = world.claims()[0];
  const conditions = [{
    type: "Ready",
    status: "True",
    reason: "R",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }];
  await world.store.put({ ...claim, status: { conditions, sandbox: { name: "warm-1" } } } as never);
  await world.clock.advance(60_000);
  expect(sandbox("warm-1")).toBeDefined();
});

test.for<[string, object, object]>([
  ["more than the template allows", asking("cpu=5"), template()],
  ["another resource", asking("nvidia.com/gpu=1"), template()],
  ["any from a template that allows none", CPU_2, template(podSpec, {})],
])("a claim that asks for %s gets nothing, and its status says why", async ([, over, made]) => {
  const { sent } = await begin([1], resizes, made as ReturnType<typeof template>);
  await world.claim("c", over);
  await world.clock.advance(3000);
  expect([world.shares(), sent]).toEqual([{ c: [] }, []]);
  expect(world.ready()["c"]).toMatch(/^False InvalidConfiguration /);
});

test("what a claim asks for is checked again when its Sandbox is written: an annotation leaves the generation", async () => {
  const pool = aPool({ status: COUNTED, spec: { claimDefaults: { lifecycle: { ttlSecondsAfterFinished: 60 } } } });
  world = await aWorld({ template: template(), pool });
  await world.members([1], { applied: { spec: { podTemplate: { spec: podSpec } } } });
  const isDefaulting = once(({ method, path }: ApiRequest) => method === "PATCH" && path.endsWith("/sandboxclaims/c"));
  await world.binder(undefined, async (request, send) => {
    if (isDefaulting(request)) {
      const [claim] = world.claims();
      const annotations = { "agents.x-k8s.io/resources": "cpu=99" };
      await world.store.put({ ...claim, metadata: { ...claim?.metadata, annotations } } as never);
    }
    return await send();
  });
  await world.claim("c", CPU_2);
  await world.clock.advance(3000);
  expect([world.shares(), world.asked.filter((line) => line.includes("resize"))]).toEqual([{ c: [] }, []]);
  expect(world.ready()["c"]).toContain("the claim asks for 99");
});

test.for<[string, object, object]>([
  ["its container restarts when it is resized", CPU_2, {
    containers: [{
      ...podSpec.containers[0],
      resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }],
    }],
  }],
  [
    "it brings a volume",
    asking("cpu=2", { spec: { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] } }),
    podSpec,
  ],
])("if %s, the claim gets a Sandbox of its own without a question", async ([, over, spec]) => {
  const { sent } = await begin([1], resizes, template(spec));
  await world.claim("c", over);
  await world.clock.advance(3000);
  expect([world.shares(), sent]).toEqual([{ c: ["c"] }, []]);
  expect(first("c")).toEqual(WANTED);
  expect(sandbox("c")?.metadata.annotations?.["agents.x-k8s.io/not-resized"]).toContain("no running member can have");
});

test("a claim is changed while a member is being resized for it: the Sandbox keeps what it was bound with", async () => {
  const { says } = await begin([1], waits);
  const stored = await world.claim("c", CPU_2);
  await world.clock.advance(500);
  const [claim] = world.claims();
  const annotations = { ...claim?.metadata.annotations, "agents.x-k8s.io/resources": "cpu=4" };
  await world.store.put({ ...stored, metadata: { ...claim?.metadata, annotations } } as never);
  says.now = resizes;
  await world.clock.advance(1000);
  expect([world.shown(), first("warm-1")]).toEqual([{ c: "warm-1" }, WANTED]);
  expect(resized()).toContain("cpu=2");
});
