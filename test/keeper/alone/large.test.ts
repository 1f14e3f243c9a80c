/** Large objects: what is kept of them, how they are asked for, and that they are kept for as they would be if they were small. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { liveBytes } from "../../heap.ts";
import { refusal } from "../../kube/fakeapi.ts";
import { putSandbox, SANDBOX, unresolvedOf } from "../keeping.ts";
import { asked, begin, end, keep, keeper, NO_POD, pass, server } from "../stage.ts";

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));
/** A Pod of tiny items: 3 bytes each as JSON, some 60 in memory. */
const podTemplate = (items: number) => ({
  podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }], tolerations: many(items, () => ({})) } },
});
const LARGE = 20_000;
const labels = (count: number) => Object.fromEntries(many(count, (i) => [`sandbox.users.io/${i}`, ""]));

beforeEach(begin);
afterEach(end);

test("no more is kept of large Sandboxes, claims and templates than who they are", async () => {
  let made = 0;
  const texts = many(12, (i) => {
    const metadata = { name: `n${i}`, namespace: "team-a", uid: `u${i}`, generation: 1, resourceVersion: "1" };
    const ready = { type: "Ready", status: "False", reason: NO_POD[1], message: NO_POD[2] };
    const conditions = [{ ...ready, lastTransitionTime: "2026-11-22T12:00:00Z" }];
    const additionalPodMetadata = { labels: labels(LARGE) };
    return {
      sandboxes: JSON.stringify({ metadata, spec: podTemplate(LARGE), status: { conditions } }),
      sandboxtemplates: JSON.stringify({ metadata, spec: podTemplate(LARGE) }),
      sandboxclaims: JSON.stringify({ metadata, spec: { warmPoolRef: { name: "none" }, additionalPodMetadata } }),
    };
  });
  const { send } = server;
  server.send = async (request) => {
    const kind = request.path.split("/").at(-1) as keyof (typeof texts)[number];
    if (request.method !== "GET" || !request.query?.["limit"] || texts[0]?.[kind] === undefined) {
      // What is asked for takes its time: all of it would be there at once.
      return await (request.query?.["limit"] ? send(request) : new Promise<never>(() => {}));
    }
    made++;
    const apiVersion = `${kind === "sandboxes" ? "" : "extensions."}agents.x-k8s.io/v1beta1`;
    const names = { sandboxes: "Sandbox", sandboxtemplates: "SandboxTemplate", sandboxclaims: "SandboxClaim" };
    const items = texts.map((text) => ({ apiVersion, kind: names[kind], ...JSON.parse(text[kind]) }));
    return { status: 200, body: { metadata: { resourceVersion: "1" }, items } };
  };
  const before = liveBytes();
  await keep(3);
  expect(made).toBe(3);
  expect((liveBytes() - before) / 36, "bytes for each").toBeLessThan(100_000);
});

describe("a large Sandbox", () => {
  test("is asked for when it is looked at, and told what keeps its Pod away", async () => {
    server.onDryRun = () => refusal(403, 'pods "demo" is forbidden: exceeded quota: few');
    putSandbox(server, NO_POD, { spec: podTemplate(LARGE) });
    await keep(1.5);
    const look = ["GET sandboxes/demo", "GET pods/demo", "POST team-a/pods dry", "PATCH sandboxes/demo"];
    // It has changed since then.
    expect(asked()).toEqual([...look, "GET sandboxes/demo"]);
    expect(unresolvedOf(server)).toMatchObject({ problems: [{ kind: "Pod", state: "refused" }] });
    server.onDryRun = () => ({ status: 201, body: {} });
    await pass(10);
    expect(unresolvedOf(server)).toBeUndefined();
  });

  test.for(["is gone", "is another one"])("that %s is forgotten", async (what) => {
    putSandbox(server, NO_POD, { spec: podTemplate(LARGE) });
    server.intercept = ({ method, path }) => {
      if (method !== "GET" || path !== SANDBOX) return undefined;
      const body = { ...server.get(SANDBOX), metadata: { name: "demo", namespace: "team-a", uid: "uid-next" } };
      return what === "is gone" ? refusal(404, "not found") : { status: 200, body };
    };
    await keep(60);
    expect(asked()).toEqual(["GET sandboxes/demo"]);
  });

  test("is asked for again, ever more seldom, while the API server says nothing of it", async () => {
    putSandbox(server, NO_POD, { spec: podTemplate(LARGE) });
    server.intercept = ({ method, path }) => method === "GET" && path === SANDBOX ? refusal(500, "no") : undefined;
    await keep(10);
    expect(asked()).toEqual(many(4, () => "GET sandboxes/demo"));
  });

  test("is judged as it is when its turn comes", async () => {
    putSandbox(server, NO_POD, { spec: podTemplate(LARGE) });
    await keep(0.9);
    putSandbox(server, ["True", "DependenciesReady", ""], { spec: podTemplate(LARGE) });
    await pass(60);
    expect(asked()).toEqual([]);
  });
});

test("three large objects are there at once, of all namespaces in turns", async () => {
  const put = (namespace: string, name: string) => {
    const path = `/apis/agents.x-k8s.io/v1beta1/namespaces/${namespace}/sandboxes/${name}`;
    const sandbox = putSandbox(server, NO_POD, { spec: podTemplate(LARGE) });
    server.put(path, { ...sandbox, metadata: { ...sandbox.metadata, namespace, name, uid: `${namespace}-${name}` } });
  };
  const order: string[] = [];
  let open = 0;
  let most = 0;
  server.intercept = async ({ method, path }) => {
    if (method !== "GET" || !/sandboxes\/[a-z]\d/.test(path)) return undefined;
    order.push(path.split("/").at(-1) ?? "");
    most = Math.max(most, ++open);
    await new Promise((done) => setTimeout(done, 100));
    open--;
    return refusal(404, "gone");
  };
  for (let i = 0; i < 8; i++) put("team-a", `a${i}`);
  put("team-b", "b0");
  server.remove(SANDBOX);
  await keep(5);
  expect(most).toBe(3);
  expect(order).toHaveLength(9);
  expect(order.indexOf("b0")).toBeLessThan(5);
});

test("a keeper that ends asks for nothing more", async () => {
  putSandbox(server, NO_POD, { spec: podTemplate(LARGE) });
  await keep(0.5);
  keeper.kill();
  await pass(60);
  expect(asked()).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
