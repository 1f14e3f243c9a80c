/** The sandbox that has an address, and what it may reach: also while watches are behind, and addresses are used again. @module */
import { expect, onTestFinished, test } from "vitest";
import { type Sandboxes, watchSandboxes } from "../../packages/egress/sandboxes.ts";
import { listAndWatch } from "../../packages/kube/watch.ts";
import { until } from "../eventually.ts";
import { createFakeApi, type FakeApi } from "../kube/fakeapi.ts";
import { CLAIMS, PODS, putClaim, putPod, putSandbox, putTemplate, SANDBOXES } from "./stage.ts";

const IP = "10.0.0.7";
const ID = { name: "box", uid: "sandbox-1" };

function aNamespace(): FakeApi {
  const api = createFakeApi();
  putTemplate(api, { allow: "pypi.org, example.com" });
  putClaim(api, { allow: "pypi.org" });
  putSandbox(api, "claim-1");
  putPod(api, { podIP: IP });
  return api;
}

/** Watches, and has seen what is there. */
async function watching(api: FakeApi): Promise<Sandboxes> {
  const stop = new AbortController();
  const sandboxes = watchSandboxes(api, "team-a");
  const running = sandboxes.watches.map(({ collection, handler }) =>
    listAndWatch(api, collection, handler, { log: () => {}, signal: stop.signal })
  );
  onTestFinished(async () => {
    stop.abort();
    api.endWatches();
    await Promise.all(running);
  });
  await until(() => sandboxes.hasSynced());
  return sandboxes;
}

const hosts = (entries: object[] | undefined) => entries?.map((entry) => (entry as { hosts: string }).hosts);

test("the Pod of a sandbox, its claim, and what both say", async () => {
  const sandboxes = await watching(aNamespace());
  expect(await sandboxes.at(IP)).toEqual({ ...ID, claim: { name: "session", uid: "claim-1" } });
  const policy = await sandboxes.policyOf(ID);
  expect(policy).toMatchObject({ headers: [] });
  if (typeof policy === "string") throw new Error(policy);
  expect(hosts(policy.allow)).toEqual(["pypi.org", "example.com"]);
  expect(hosts(policy.narrowed)).toEqual(["pypi.org"]);
});

test("what no watch has shown yet is asked for", async () => {
  const api = aNamespace();
  const blind = watchSandboxes(api, "team-a");
  expect(await blind.at(IP)).toMatchObject(ID);
  expect(await blind.policyOf(ID)).toMatchObject({ narrowed: [{ hosts: "pypi.org" }] });
});

test("an address that nobody has, and one of a Pod that is no sandbox", async () => {
  const api = aNamespace();
  api.put(`${PODS}/other`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "other" },
    status: { podIP: "10.0.0.8" },
  });
  const sandboxes = await watching(api);
  expect(await sandboxes.at("10.0.0.9")).toBe("no sandbox has the address 10.0.0.9");
  expect(await sandboxes.at("10.0.0.8")).toBe("no sandbox has the address 10.0.0.8");
});

test.each<[string, object, { deletionTimestamp?: string }]>([
  ["is being deleted", { podIP: IP }, { deletionTimestamp: "2026-01-01T00:00:00Z" }],
  ["has failed", { podIP: IP, phase: "Failed" }, {}],
  ["has ended", { podIP: IP, phase: "Succeeded" }, {}],
])("a Pod that %s has no address any more", async (_, status, meta) => {
  const api = aNamespace();
  putPod(api, status, meta);
  const sandboxes = await watching(api);
  expect(await sandboxes.at(IP)).toBe(`no sandbox has the address ${IP}`);
});

test("an address that another Pod has by now is not the first one's, even if no watch has shown that", async () => {
  const api = aNamespace();
  const sandboxes = await watching(api);
  const shown = api.get(`${PODS}/box`)!;
  // The deletion and the new Pod are in the API server, and in no watch.
  api.intercept = ({ path }) => path === `${PODS}/box` ? { status: 404, body: {} } : undefined;
  expect(await sandboxes.at(IP)).toBe(`no sandbox has the address ${IP}`);
  api.intercept = ({ path }) =>
    path === `${PODS}/box` ? { status: 200, body: { ...shown, status: { podIP: "10.0.0.99" } } } : undefined;
  expect(await sandboxes.at(IP)).toBe(`no sandbox has the address ${IP}`);
});

test("two Pods with one address are nobody", async () => {
  const api = aNamespace();
  putPod(api, { podIP: IP }, { name: "twin", uid: "pod-2" });
  const sandboxes = await watching(api);
  expect(await sandboxes.at(IP)).toBe(`several Pods have the address ${IP}`);
});

test("a Sandbox that was replaced by one of the same name is another one", async () => {
  const api = aNamespace();
  putSandbox(api, "claim-1", "sandbox-2");
  const sandboxes = await watching(api);
  expect(await sandboxes.at(IP)).toBe(`no sandbox has the address ${IP}`);
  expect(await sandboxes.policyOf(ID)).toBe("Sandbox box is gone");
});

test("a claim counts from the moment it has the sandbox, though the watch still shows the pool", async () => {
  const api = aNamespace();
  putSandbox(api);
  const sandboxes = await watching(api);
  expect(await sandboxes.policyOf(ID)).not.toHaveProperty("narrowed");
  const late = { ...api.get(`${SANDBOXES}/box`)! };
  const claimed = {
    ...late,
    metadata: {
      ...late.metadata,
      ownerReferences: [{
        apiVersion: "extensions.agents.x-k8s.io/v1beta1",
        kind: "SandboxClaim",
        name: "session",
        uid: "claim-1",
        controller: true,
      }],
    },
  };
  api.intercept = ({ path }) => path === `${SANDBOXES}/box` ? { status: 200, body: claimed } : undefined;
  const id = await sandboxes.at(IP);
  if (typeof id === "string") throw new Error(id);
  expect(await sandboxes.policyOf(id)).toMatchObject({ narrowed: [{ hosts: "pypi.org" }] });
});

test("a claim that is gone, or another one of its name, allows nothing", async () => {
  const api = aNamespace();
  putClaim(api, {}, "claim-2");
  const sandboxes = await watching(api);
  expect(await sandboxes.policyOf(ID)).toBe("SandboxClaim session is gone");
  api.remove(`${CLAIMS}/session`);
  expect(await sandboxes.policyOf(ID)).toBe("SandboxClaim session is gone");
});

test("a Sandbox without a template has the annotations itself", async () => {
  const api = aNamespace();
  putSandbox(api, "claim-1", "sandbox-1", { allow: "pypi.org, other.example" });
  const sandboxes = await watching(api);
  expect(await sandboxes.policyOf(ID)).toMatchObject({ allow: [{ hosts: "pypi.org" }, { hosts: "other.example" }] });
});

test("a change of a template counts for the next request", async () => {
  const api = aNamespace();
  const sandboxes = await watching(api);
  putTemplate(api, { headers: "api.example Authorization=s/k" });
  await until(async () => {
    const policy = await sandboxes.policyOf(ID);
    return typeof policy !== "string" && policy.headers.length === 1;
  });
});

test("an API server that does not answer is an error, and no permission", async () => {
  const api = aNamespace();
  const sandboxes = await watching(api);
  api.intercept = () => ({ status: 500, body: { message: "no leader" } });
  await expect(sandboxes.at(IP)).rejects.toThrow("no leader");
});

test("the other proxies of the namespace are its Pods with this name, and not those that end", async () => {
  const api = aNamespace();
  const proxy = (name: string, podIP: string, meta: object = {}) =>
    api.put(`${PODS}/${name}`, {
      metadata: { name, labels: { "app.kubernetes.io/name": "egress-proxy" }, ...meta },
      status: { podIP, podIPs: [{ ip: podIP }, { ip: "fd00::1" }] },
    });
  proxy("one", "10.0.1.1");
  proxy("two", "10.0.1.2");
  proxy("three", "10.0.1.3", { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const sandboxes = await watching(api);
  expect(sandboxes.otherProxies("one")).toEqual(["10.0.1.2"]);
});
