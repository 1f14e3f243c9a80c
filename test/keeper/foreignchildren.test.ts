/** Children that exist and are not the Sandbox's: named, or adopted. @module */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aChild, NOW } from "../sandboxes.ts";
import { asked, begin, end, keep, keeper, NO_POD, OURS, pass, READY, requests, server, VOLUMES } from "./stage.ts";
import { POD, putSandbox, PVC, SERVICE, unresolvedOf } from "./keeping.ts";

const ERROR: [string, string, string] = ["False", "ReconcilerError", "Error seen: x"];
const SUSPENDED: [string, string, string] = ["False", "SandboxSuspended", "Sandbox is suspended"];
const ADOPTABLE = { labels: { "agents.x-k8s.io/adoptable": "true" } };
const TAKEN = { kind: "Pod", name: "demo", state: "taken" };

beforeEach(begin);
afterEach(end);

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

  test("is not written on a Sandbox that has changed since then", async () => {
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

  test("looks again where the Pod has changed since then", async () => {
    putSandbox(server, NO_POD);
    server.put(POD, aChild("Pod", { metadata: ADOPTABLE }));
    server.intercept = ({ method }) => {
      if (method === "PATCH" && requests().length === 2) server.put(POD, aChild("Pod", { metadata: OURS }));
      return undefined;
    };
    await keep(10);
    expect(server.get(POD)?.metadata.labels).toEqual(OURS.labels);
    expect(asked()).toEqual(["GET pods/demo", "PATCH pods/demo", "GET pods/demo"]);
    expect(unresolvedOf(server)).toBeUndefined();
  });
});
