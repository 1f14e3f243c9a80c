/** Where children are missing: what the keeper asks for, when it leaves word, when it takes it back. @module */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aChild } from "../sandboxes.ts";
import { asked, begin, end, keep, NO_POD, OURS, pass, READY, requests, server, VOLUMES } from "./stage.ts";
import { refusal } from "../kube/fakeapi.ts";
import { POD, putSandbox, PVC, SANDBOX, unresolvedOf } from "./keeping.ts";

const PENDING: [string, string, string] = ["False", "DependenciesNotReady", "Pod exists with phase: Pending"];

beforeEach(begin);
afterEach(end);

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

describe("a Pod that does not exist", () => {
  test("is tried as Metacontroller would make it, and nothing is made", async () => {
    putSandbox(server, NO_POD);
    await keep(1.1);
    expect(asked()).toEqual(["GET pods/demo", "POST team-a/pods dry"]);
    const { body, query } = requests()[1] ?? {};
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

  test("is named with a volume and a Service, in order", async () => {
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

  test("is taken back again soon where the Sandbox has changed since then", async () => {
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

describe("a Sandbox that asks for many volumes", () => {
  const volumes = (count: number) => ({
    volumeClaimTemplates: Array.from({ length: count }, (_, i) => ({ metadata: { name: `v${i}` }, spec: {} })),
  });

  test("has eight requests open at once", async () => {
    let open = 0;
    let most = 0;
    server.intercept = async () => {
      most = Math.max(most, ++open);
      await new Promise((done) => setTimeout(done, 10));
      open--;
      return undefined;
    };
    putSandbox(server, NO_POD, { spec: volumes(60) });
    await keep(0.9);
    most = 0;
    await pass(1);
    expect(most).toBe(8);
    expect(asked().filter((request) => /^GET (?!sandboxes)/.test(request))).toHaveLength(61);
  });

  test("reports the first three that are refused, and few others are tried", async () => {
    server.onDryRun = ({ path }) => refusal(403, `${path} is forbidden: exceeded quota: small`);
    // Answers come in another order at each look.
    let turn = 0;
    server.intercept = () => new Promise((done) => setTimeout(done, (turn++ * 7) % 5 * 10, undefined));
    putSandbox(server, NO_POD, { spec: volumes(60) });
    await keep(1.9);
    const look = asked();
    expect(look.filter((request) => request.endsWith("dry")).length).toBeLessThan(20);
    const named = (unresolvedOf(server) as { problems: { name: string }[] }).problems.map(({ name }) => name);
    expect(named).toEqual(["v0-demo", "v1-demo", "v2-demo", "demo"]);
    await pass(60);
    expect(asked().filter((request) => request.startsWith("PATCH"))).toHaveLength(1);
  });

  test("is looked at for as many as the hook makes", async () => {
    putSandbox(server, NO_POD, { spec: volumes(10_000) });
    await keep(1.1);
    expect(asked().filter((request) => /^GET (?!sandboxes)/.test(request))).toHaveLength(65);
  });
});
