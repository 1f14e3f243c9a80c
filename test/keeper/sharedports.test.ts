import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { podSharesPorts, portsState, serviceSharesPorts, silencingPatch } from "../../packages/keeper/mergetrap.ts";
import { LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import { aChild, aSandbox, NOW } from "../sandboxes.ts";
import { createFakeApi, type FakeApi, refusal } from "../kube/fakeapi.ts";
import { type Keeper, POD, putSandbox, SERVICE, startKeeper } from "./keeping.ts";

const UDP = "UDP";
const READY: [string, string, string] = ["True", "DependenciesReady", "Pod is Ready"];
const OURS = {
  ownerReferences: [{ apiVersion: "v1", kind: "Sandbox", name: "demo", uid: "uid-demo", controller: true }],
};

interface Case {
  name: string;
  reason: string;
  /** Ports of each container: number and protocol. */
  containers: [number, string?][][];
  init?: { sidecar: boolean; ports: [number, string?][] };
  pod: boolean;
  service: boolean;
}

const cases: Case[] = [
  { name: "no ports", reason: "nothing to merge", containers: [[]], pod: false, service: false },
  { name: "two numbers", reason: "no collision", containers: [[[53], [54]]], pod: false, service: false },
  {
    name: "one number, two protocols",
    reason: "both lists are merged by number",
    containers: [[[53], [53, UDP]]],
    pod: true,
    service: true,
  },
  {
    name: "one port twice",
    reason: "the Service names a port once",
    containers: [[[53], [53, "TCP"]]],
    pod: true,
    service: false,
  },
  {
    name: "one number in two containers",
    reason: "each container has its own list, the Service has one",
    containers: [[[53]], [[53, UDP]]],
    pod: false,
    service: true,
  },
  {
    name: "one port in two containers",
    reason: "no collision",
    containers: [[[53]], [[53]]],
    pod: false,
    service: false,
  },
  {
    name: "a sidecar",
    reason: "its ports are the Service's, too",
    containers: [[[53]]],
    init: { sidecar: true, ports: [[53, UDP]] },
    pod: false,
    service: true,
  },
  {
    name: "an init container",
    reason: "its ports are not the Service's but its list is the Pod's",
    containers: [[[53]]],
    init: { sidecar: false, ports: [[80], [80, UDP]] },
    pod: true,
    service: false,
  },
];

const portsOf = (ports: [number, string?][]) =>
  ports.map(([containerPort, protocol]) => ({ containerPort, ...(protocol ? { protocol } : {}) }));

test.for(cases)("podSharesPorts(), serviceSharesPorts(): $name", ({ containers, init, pod, service, reason }) => {
  const spec = {
    containers: containers.map((ports, index) => ({ name: `c${index}`, ports: portsOf(ports) })),
    initContainers: init
      ? [{ name: "init", ports: portsOf(init.ports), ...(init.sidecar ? { restartPolicy: "Always" } : {}) }]
      : [],
  };
  expect([podSharesPorts(spec), serviceSharesPorts(spec)], reason).toEqual([pod, service]);
});

const SHARING = {
  podTemplate: { spec: { containers: [{ name: "dns", ports: portsOf([[53], [53, UDP]]) }] } },
};

describe("portsState()", () => {
  const state = (status: object | undefined, over: object = {}) =>
    portsState(aSandbox({ spec: SHARING, ...over, ...(status ? { status } : {}) }));

  test("is nothing until the status has shown the Pod", () => {
    expect(state(undefined)).toBeUndefined();
    expect(state({ podIPs: [] })).toBeUndefined();
    for (const status of [{ podIPs: ["10.0.0.1"] }, { nodeName: "n" }, { selector: "a=b" }]) {
      expect(state(status)).toBeTypeOf("string");
    }
  });

  test("is nothing for other Sandboxes and those that are being deleted", () => {
    expect(state({ nodeName: "n" }, { spec: {} })).toBeUndefined();
    expect(state({ nodeName: "n" }, { metadata: { deletionTimestamp: NOW.toISOString() } })).toBeUndefined();
  });

  test("changes with the Pod, not with readiness", () => {
    const conditions = [{ type: "Ready", status: "True", reason: "R", message: "", lastTransitionTime: "" }];
    const first = state({ nodeName: "n", podIPs: ["10.0.0.1"] });
    expect(state({ nodeName: "n", podIPs: ["10.0.0.1"], conditions })).toBe(first);
    expect(state({ nodeName: "n", podIPs: ["10.0.0.2"] })).not.toBe(first);
    expect(state({ nodeName: "n" })).not.toBe(first);
  });
});

describe("silencingPatch()", () => {
  const applied = { apiVersion: "v1", kind: "X", metadata: { name: "demo" }, spec: { clusterIP: "None", ports: [1] } };
  const textOf = (patch: object | undefined) =>
    (patch as { metadata: { annotations: Record<string, string> } })?.metadata.annotations[LAST_APPLIED_ANNOTATION];

  test("takes the spec from a Pod, the ports from a Service, and fits one version", () => {
    const metadata = { resourceVersion: "7" };
    const pod = silencingPatch(aChild("Pod", { lastApplied: applied, metadata }));
    expect(textOf(pod)).toBe('{"apiVersion":"v1","kind":"X","metadata":{"name":"demo"}}');
    expect(pod).toMatchObject({ metadata });
    const service = silencingPatch(aChild("Service", { lastApplied: applied, metadata }));
    expect(textOf(service)).toBe(
      '{"apiVersion":"v1","kind":"X","metadata":{"name":"demo"},"spec":{"clusterIP":"None"}}',
    );
  });

  test("has nothing to do where that is not in it", () => {
    const { spec: _, ...silent } = applied;
    expect(silencingPatch(aChild("Pod", { lastApplied: silent }))).toBeUndefined();
    expect(silencingPatch(aChild("Pod"))).toBeUndefined();
    const portless = { ...silent, spec: { clusterIP: "None" } };
    expect(silencingPatch(aChild("Service", { lastApplied: portless }))).toBeUndefined();
  });

  test("does not guess at an annotation that is broken", () => {
    const metadata = { annotations: { [LAST_APPLIED_ANNOTATION]: "{" } };
    expect(() => silencingPatch(aChild("Pod", { metadata }))).toThrow(SyntaxError);
  });
});

describe("sharedPortsReconciler()", () => {
  let server: FakeApi;
  let keeper: Keeper;
  const applied = { apiVersion: "v1", kind: "Pod", spec: { ports: [1], x: 1 } };
  const seen = { spec: SHARING, status: { selector: "a=b", service: "demo" } };
  const patches = () => server.requests.filter(({ method }) => method === "PATCH").map(({ path }) => path);

  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
    server = createFakeApi();
    server.put(POD, aChild("Pod", { lastApplied: applied, metadata: OURS }));
    server.put(SERVICE, aChild("Service", { lastApplied: applied, metadata: OURS }));
  });
  afterEach(() => {
    keeper.kill();
    vi.useRealTimers();
  });

  async function keep(): Promise<void> {
    keeper = startKeeper(server);
    await vi.advanceTimersByTimeAsync(10);
  }

  test("acts once on Pod and Service, and not again after a restart", async () => {
    putSandbox(server, READY, seen);
    await keep();
    expect(patches()).toEqual([POD, SERVICE]);
    putSandbox(server, READY, { ...seen, status: { ...seen.status, nodeName: "n" } });
    keeper.kill();
    await keep();
    expect(patches()).toEqual([POD, SERVICE]);
  });

  test("acts on the next Pod", async () => {
    putSandbox(server, READY, { ...seen, status: { ...seen.status, nodeName: "n" } });
    await keep();
    server.remove(POD);
    putSandbox(server, READY, seen);
    await vi.advanceTimersByTimeAsync(10);
    server.put(POD, aChild("Pod", { lastApplied: applied, metadata: OURS }));
    putSandbox(server, READY, { ...seen, status: { ...seen.status, nodeName: "n" } });
    await vi.advanceTimersByTimeAsync(10);
    expect(patches()).toEqual([POD, SERVICE, POD]);
  });

  test("leaves a Pod that is not ours", async () => {
    server.put(POD, aChild("Pod", { lastApplied: applied, metadata: { ownerReferences: [] } }));
    putSandbox(server, READY, { ...seen, status: { selector: "a=b" } });
    await keep();
    expect(patches()).toEqual([]);
  });

  test("reads again where the Pod has changed since then", async () => {
    putSandbox(server, READY, seen);
    let conflicts = 0;
    server.intercept = ({ method }) => method === "PATCH" && ++conflicts <= 2 ? refusal(409, "changed") : undefined;
    await keep();
    expect(patches()).toEqual([POD, POD, POD, SERVICE]);
    expect(server.get(POD)?.metadata.annotations?.[LAST_APPLIED_ANNOTATION]).toBe('{"apiVersion":"v1","kind":"Pod"}');
  });
});
