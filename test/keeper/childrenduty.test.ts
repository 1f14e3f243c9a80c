import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ApiRequest } from "../../keeper/api.ts";
import { aChild, NOW } from "../sandboxes.ts";
import { createFakeApi, type FakeApi, refusal } from "./fakeapi.ts";
import { type Keeper, POD, putSandbox, PVC, SANDBOX, SERVICE, startKeeper, unresolvedOf } from "./keeping.ts";

const NO_POD: [string, string, string] = ["False", "DependenciesNotReady", "Pod does not exist"];
const PENDING: [string, string, string] = ["False", "DependenciesNotReady", "Pod exists with phase: Pending"];
const READY: [string, string, string] = ["True", "DependenciesReady", "Pod is Ready"];
const ERROR: [string, string, string] = ["False", "ReconcilerError", "Error seen: x"];
const SUSPENDED: [string, string, string] = ["False", "SandboxSuspended", "Sandbox is suspended"];
const ADOPTABLE = { labels: { "agents.x-k8s.io/adoptable": "true" } };
const OURS = {
  ownerReferences: [{ apiVersion: "v1", kind: "Sandbox", name: "demo", uid: "uid-demo", controller: true }],
};
const VOLUMES = { volumeClaimTemplates: [{ metadata: { name: "home" }, spec: {} }] };
const TAKEN = { kind: "Pod", name: "demo", state: "taken" };

let server: FakeApi;
let keeper: Keeper;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  server = createFakeApi();
});
afterEach(() => {
  keeper.kill();
  vi.useRealTimers();
});

/** Starts the keeper on what is there, and lets `seconds` go by. */
async function keep(seconds: number): Promise<void> {
  keeper = startKeeper(server);
  await pass(seconds);
}

async function pass(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}

/** Requests since the list, in short. */
function asked(): string[] {
  const short = ({ method, path, query }: ApiRequest) =>
    `${method} ${path.split("/").slice(-2).join("/")}${query?.["dryRun"] ? " dry" : ""}`;
  return server.requests.slice(1).map(short);
}

describe("what costs nothing", () => {
  test.for([["Ready", READY], ["pending", PENDING]] as const)("a Sandbox that is %s", async ([, ready]) => {
    putSandbox(server, [...ready]);
    await keep(600);
    expect(asked()).toEqual([]);
  });

  test("one whose Pod comes within a second, however busy its status", async () => {
    putSandbox(server, NO_POD);
    await keep(0.5);
    putSandbox(server, NO_POD, { status: { selector: "a=b" } });
    await pass(0.4);
    putSandbox(server, PENDING);
    await pass(600);
    expect(asked()).toEqual([]);
  });
});

describe("a Pod that is somebody else's", () => {
  test("leaves word after a second, and once", async () => {
    putSandbox(server, NO_POD);
    server.put(POD, aChild("Pod"));
    await keep(0.9);
    expect(asked()).toEqual([]);
    await pass(0.2);
    expect(asked()).toEqual(["GET pods/demo", "PATCH sandboxes/demo"]);
    expect(unresolvedOf(server)).toEqual({
      generation: 1,
      problems: [{ ...TAKEN, message: expect.stringContaining("cannot adopt unowned pod") }],
    });
    putSandbox(server, ERROR);
    await pass(60);
    expect(asked().filter((request) => request.startsWith("PATCH"))).toHaveLength(1);
    expect(keeper.actions).toEqual(["annotated"]);
  });

  test("is looked at again after 1, 2, 4 … 30 s, and the word goes with it", async () => {
    putSandbox(server, NO_POD);
    server.put(POD, aChild("Pod"));
    const times: number[] = [];
    server.intercept = ({ path }) => {
      if (path === POD) times.push((Date.now() - NOW.getTime()) / 1000);
      return undefined;
    };
    await keep(100);
    expect(times.map(Math.round)).toEqual([1, 2, 4, 8, 16, 32, 62, 92]);
    server.remove(POD);
    await pass(30);
    expect(unresolvedOf(server)).toBeUndefined();
    expect(keeper.actions).toEqual(["annotated", "annotation removed"]);
  });

  test("is looked at afresh for another generation", async () => {
    putSandbox(server, NO_POD);
    server.put(POD, aChild("Pod"));
    await keep(40);
    server.requests.length = 1;
    putSandbox(server, ERROR, { metadata: { generation: 2 } });
    await pass(1.1);
    expect(asked()).toEqual(["GET pods/demo", "PATCH sandboxes/demo"]);
    expect(unresolvedOf(server)).toMatchObject({ generation: 2 });
  });

  test("is not written on a Sandbox that has changed meanwhile", async () => {
    putSandbox(server, NO_POD);
    server.put(POD, aChild("Pod"));
    server.intercept = ({ path }) => {
      if (path === POD) putSandbox(server, READY);
      return undefined;
    };
    await keep(1.1);
    expect(unresolvedOf(server)).toBeUndefined();
    expect(keeper.actions).toEqual([]);
  });

  test("is named on a suspended Sandbox, too, looked for once", async () => {
    const over = { spec: { operatingMode: "Suspended", service: true, ...VOLUMES }, suspended: "True" };
    putSandbox(server, SUSPENDED, over);
    await keep(600);
    expect(asked()).toEqual(["GET pods/demo"]);
    server.put(POD, aChild("Pod", { metadata: ADOPTABLE }));
    putSandbox(server, SUSPENDED, { ...over, metadata: { generation: 2 } });
    await pass(1.1);
    expect(unresolvedOf(server)).toEqual({
      generation: 2,
      problems: [{ ...TAKEN, message: 'pod "demo" exists and is not controlled by sandbox "demo"' }],
    });
    expect(server.get(POD)?.metadata.labels).toEqual(ADOPTABLE.labels);
    putSandbox(server, SUSPENDED, { ...over, suspended: "False", metadata: { generation: 2 } });
    server.remove(POD);
    await pass(1.1);
    expect(unresolvedOf(server)).toBeUndefined();
  });
});

describe("adoption", () => {
  test.for([["Pod", POD], ["Service", SERVICE], ["PersistentVolumeClaim", PVC]] as const)(
    "labels an adoptable %s and writes nothing on the Sandbox",
    async ([kind, path]) => {
      putSandbox(server, NO_POD, { spec: { service: true, ...VOLUMES } });
      for (const [other, otherPath] of [["Pod", POD], ["Service", SERVICE], ["PersistentVolumeClaim", PVC]] as const) {
        const name = otherPath.split("/").at(-1);
        server.put(otherPath, aChild(other, { metadata: { name, ...(other === kind ? ADOPTABLE : OURS) } }));
      }
      const { resourceVersion } = server.get(path)?.metadata ?? {};
      await keep(1.1);
      const body = { metadata: { resourceVersion, labels: { "controller-uid": "uid-demo" } } };
      expect(server.requests.filter(({ method }) => method === "PATCH")).toEqual([{ method: "PATCH", path, body }]);
      expect(server.get(path)?.metadata.labels).toEqual({ ...ADOPTABLE.labels, "controller-uid": "uid-demo" });
      await pass(100);
      expect(keeper.actions).toEqual(["adopted"]);
    },
  );

  test("looks again where the Pod has changed meanwhile", async () => {
    putSandbox(server, NO_POD);
    server.put(POD, aChild("Pod", { metadata: ADOPTABLE }));
    server.intercept = ({ method }) => {
      if (method === "PATCH" && server.requests.length === 3) server.put(POD, aChild("Pod", { metadata: OURS }));
      return undefined;
    };
    await keep(10);
    expect(server.get(POD)?.metadata.labels).not.toHaveProperty("controller-uid");
    expect(asked()).toEqual(["GET pods/demo", "PATCH pods/demo", "GET pods/demo"]);
    expect(unresolvedOf(server)).toBeUndefined();
  });
});

describe("a Pod that does not exist", () => {
  test("is tried as Metacontroller would make it, and nothing is made", async () => {
    putSandbox(server, NO_POD);
    await keep(1.1);
    expect(asked()).toEqual(["GET pods/demo", "POST team-a/pods dry"]);
    const { body, query } = server.requests[2] ?? {};
    expect(query).toEqual({ dryRun: "All", fieldManager: "hookbox-keeper" });
    expect(body).toMatchObject({
      kind: "Pod",
      metadata: {
        name: "demo",
        labels: { "controller-uid": "uid-demo", "agents.x-k8s.io/sandbox-name-hash": expect.any(String) },
        annotations: { "metacontroller.k8s.io/last-applied-configuration": expect.stringContaining("uid-demo") },
      },
    });
    expect(unresolvedOf(server)).toBeUndefined();
    await pass(600);
    expect(asked(), "after 1, 2, 4 … 512 s").toHaveLength(20);
  });

  test("leaves the API server's words, and takes them back when it is made possible", async () => {
    putSandbox(server, NO_POD);
    server.onDryRun = () => refusal(403, 'pods "demo" is forbidden: exceeded quota');
    await keep(1.1);
    const problem = {
      kind: "Pod",
      name: "demo",
      state: "refused",
      message: 'pods "demo" is forbidden: exceeded quota',
    };
    expect(unresolvedOf(server)).toEqual({ generation: 1, problems: [problem] });
    server.onDryRun = () => refusal(500, "etcd has no leader");
    await pass(5);
    expect(unresolvedOf(server), "what is not known changes nothing").toMatchObject({ problems: [problem] });
    server.onDryRun = () => ({ status: 201, body: {} });
    await pass(30);
    expect(unresolvedOf(server)).toBeUndefined();
  });

  test("is named beside a volume and a Service, in order", async () => {
    putSandbox(server, NO_POD, { spec: { service: true, ...VOLUMES } });
    server.onDryRun = ({ path }) => refusal(422, `no ${path.split("/").at(-1)}`);
    await keep(1.1);
    expect(unresolvedOf(server)).toEqual({
      generation: 1,
      problems: [
        { kind: "PersistentVolumeClaim", name: "home-demo", state: "invalid", message: "no persistentvolumeclaims" },
        { kind: "Pod", name: "demo", state: "invalid", message: "no pods" },
        { kind: "Service", name: "demo", state: "invalid", message: "no services" },
      ],
    });
  });
});

describe("the word that the keeper left", () => {
  const UNREADABLE = { annotations: { "agents.x-k8s.io/unresolved": "somebody's hand" } };

  test("goes from a Sandbox whose children are all ours", async () => {
    putSandbox(server, READY, { metadata: UNREADABLE });
    server.put(POD, aChild("Pod", { metadata: OURS }));
    await keep(1.1);
    expect(server.get(SANDBOX)?.metadata.annotations).toEqual({});
    server.requests.length = 1;
    await pass(600);
    expect(asked()).toEqual([]);
  });

  test("is taken back again soon where the Sandbox has changed meanwhile", async () => {
    putSandbox(server, READY, { metadata: UNREADABLE });
    server.put(POD, aChild("Pod", { metadata: OURS }));
    server.intercept = ({ method }) => method === "PATCH" ? refusal(409, "it has been modified") : undefined;
    await keep(1.1);
    server.intercept = () => undefined;
    await pass(1);
    expect(server.get(SANDBOX)?.metadata.annotations).toEqual({});
  });

  test("goes from an expired Sandbox without a look", async () => {
    putSandbox(server, ["False", "SandboxExpired", ""], { metadata: UNREADABLE });
    await keep(0);
    expect(asked()).toEqual(["PATCH sandboxes/demo"]);
    expect(server.get(SANDBOX)?.metadata.annotations).toEqual({});
  });

  test("is tried again with back-off where writing fails", async () => {
    putSandbox(server, ["False", "SandboxExpired", ""], { metadata: UNREADABLE });
    server.intercept = ({ method }) => method === "PATCH" ? refusal(500, "no") : undefined;
    await keep(8);
    expect(asked()).toHaveLength(4);
  });
});

test("a Sandbox with volumes is looked at every 5 minutes once all its children are ours", async () => {
  putSandbox(server, PENDING, { spec: VOLUMES });
  server.put(POD, aChild("Pod", { metadata: OURS }));
  server.put(PVC, aChild("PersistentVolumeClaim", { metadata: { name: "home-demo", ...OURS } }));
  await keep(290);
  expect(asked().toSorted()).toEqual(["GET persistentvolumeclaims/home-demo", "GET pods/demo"]);
  await pass(20);
  expect(asked()).toHaveLength(4);
});
