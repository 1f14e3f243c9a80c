/** The keeper as a process on an API server in memory: its probes, its Lease and the loss of it, and its flags. @module */
import { expect, test } from "vitest";
import type { ApiRequest } from "../../packages/kube/api.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import { serveApi } from "../kube/servedapi.ts";
import { aClaim, aCondition, aPool, CLAIM, POOL, TEMPLATE } from "../keeper/extensions.ts";
import { SANDBOX } from "../keeper/keeping.ts";
import { type MainProcess, startMain } from "../mainprocess.ts";
import { send } from "../runtime/servers.ts";
import { aSandbox } from "../sandboxes.ts";
import { aPolicy, aTemplate } from "../templates.ts";
import { until } from "../eventually.ts";
import { putRefused } from "./refusedsandbox.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/hookbox-keeper";
const POLICY = "/apis/networking.k8s.io/v1/namespaces/team-a/networkpolicies/python-network-policy";
const PAST = "2026-11-21T11:00:00Z";

const isLease = ({ path }: ApiRequest) => path.includes("/leases");
/** What the keeper has changed, or tried to: Leases and what the API server only has to try out aside. */
const writes = (api: FakeApi) =>
  api.requests.filter((request) => request.method !== "GET" && !isLease(request) && !request.query?.["dryRun"]);
const leaseOf = (api: FakeApi) => api.get(LEASE)?.["spec"] as { holderIdentity?: string; leaseDurationSeconds: number };

/** Puts a Sandbox whose time is over, and which has said so. */
function putExpired(api: FakeApi, name = "demo"): string {
  const path = SANDBOX.replace(/demo$/, name);
  const conditions = [aCondition("Ready", "False", "SandboxExpired")];
  const spec = { shutdownPolicy: "Delete", shutdownTime: PAST };
  api.put(path, { ...aSandbox({ metadata: { name, uid: `uid-${name}` }, spec, status: { conditions } }) });
  return path;
}

/** Puts a claim whose time is over. */
function putExpiredClaim(api: FakeApi): void {
  const conditions = [aCondition("Ready", "False", "ClaimExpired", { observedGeneration: 1 })];
  const lifecycle = { shutdownTime: PAST, shutdownPolicy: "Delete" };
  api.put(CLAIM, { ...aClaim({ spec: { lifecycle }, status: { conditions } }) });
}

interface Started extends MainProcess {
  port: number;
  get(path: string): Promise<string>;
}

/** Starts packages/keeper/main.ts with a port for its probes, and without a binder. */
async function start(kubeconfig: string, ...flags: string[]): Promise<Started> {
  return await startWhole(kubeconfig, "--no-binder", ...flags);
}

async function startWhole(kubeconfig: string, ...flags: string[]): Promise<Started> {
  const [port = 0] = await freePorts(1);
  const args = [
    "packages/keeper/main.ts",
    "--kubeconfig",
    kubeconfig,
    "--namespace",
    "system",
    "--port",
    `${port}`,
    ...flags,
  ];
  const keeper = await startMain("node", args, "Starting");
  return { ...keeper, port, get: async (path) => (await send(port, "GET", path)).text };
}

test("as the leader it acts, counts and answers its probes; SIGTERM ends it with 0 and gives the Lease back", async () => {
  const { api, kubeconfig } = await serveApi(undefined, "keeper", "binder");
  putExpired(api);
  putExpiredClaim(api);
  api.put(POOL, { ...aPool() });
  api.put(TEMPLATE, { ...aTemplate({ spec: { networkPolicyManagement: "Unmanaged" } }) });
  const [unknown, known] = [putRefused(api, "b"), putRefused(api, "a")];
  const keeper = await start(kubeconfig, "--lease-seconds", "7", "--allowed-label-domains", "a.example");
  await until(() => !api.get(SANDBOX) && !api.get(CLAIM));
  expect(leaseOf(api)).toMatchObject({ holderIdentity: expect.stringMatching(/.+_.+/), leaseDurationSeconds: 7 });
  await until(() => writes(api).some(({ method, path }) => method === "POST" && path.endsWith("/events")));
  expect(keeper.said("Listening")).toMatchObject([{ host: "127.0.0.1", port: keeper.port }]);
  expect([await keeper.get("/healthz"), await keeper.get("/readyz")]).toEqual(["ok", "ok"]);
  const metrics = await keeper.get("/metrics");
  expect(metrics).toContain("\nhookbox_keeper_leading 1\n");
  expect(metrics).toContain('\nhookbox_keeper_actions_total{action="deleted"} 2\n');
  for (const counted of ['method="DELETE",code="200"', 'method="WATCH",code="200"', 'method="POST",code="201"']) {
    expect(metrics).toContain(`hookbox_keeper_requests_total{${counted}}`);
  }
  expect(metrics).toMatch(/\nagent_sandbox_claim_creation_total|\nhookbox_pool_[a-z_]+\{/);
  await until(() => known() !== undefined);
  expect([known(), unknown()], "labels of domains that --allowed-label-domains has or lacks").toEqual([
    expect.stringContaining("change freeze"),
    undefined,
  ]);
  expect((await send(keeper.port, "GET", "/debug")).status).toBe(404);
  expect((await send(keeper.port, "POST", "/healthz")).status).toBe(404);
  expect(await keeper.stop()).toBe(0);
  expect(leaseOf(api).holderIdentity, "the next one need not wait").toBeUndefined();
  await expect(send(keeper.port, "GET", "/healthz")).rejects.toThrow("ECONNREFUSED");
});

test("a Lease that is lost ends the requests under way, and what comes of them; got back, the work goes on", async () => {
  const { api, kubeconfig, left } = await serveApi(undefined, "keeper", "binder");
  const held = Promise.withResolvers<undefined>();
  api.intercept = ({ method }) => method === "DELETE" ? held.promise : undefined;
  putExpired(api);
  const keeper = await start(kubeconfig, "--lease-seconds", "3");
  await until(() => writes(api).length > 0);
  const ours = leaseOf(api).holderIdentity;
  expect(await keeper.get("/metrics")).toContain("\nagent_sandboxes{");
  api.put(LEASE, { spec: { holderIdentity: "another", leaseDurationSeconds: 3600 } });
  await until(() => keeper.said("No longer leading").length > 0);
  expect(left).toEqual([`DELETE ${SANDBOX}`]);
  const metrics = await keeper.get("/metrics");
  expect(metrics).toContain("\nhookbox_keeper_leading 0\n");
  expect(metrics, "it no longer knows of any").not.toContain("\nagent_sandboxes{");
  expect(await keeper.get("/readyz"), "it stands by").toBe("ok");
  // What the request has done after all is not reported: it is for the next leader to find out.
  held.resolve(undefined);
  api.intercept = () => undefined;
  const before = writes(api).length;
  const late = putExpired(api, "late");
  const looks = () => api.requests.filter((request) => isLease(request) && request.method === "GET").length;
  const seen = looks();
  await until(() => looks() > seen + 1);
  expect(writes(api).slice(before)).toEqual([]);
  expect(api.get(late)).toBeDefined();
  api.put(LEASE, { spec: { holderIdentity: "", leaseDurationSeconds: 1 } });
  await until(() => !api.get(late));
  expect(leaseOf(api).holderIdentity).toBe(ours);
  expect(await keeper.stop()).toBe(0);
});

test("a second keeper stands by: ready, and not leading", async () => {
  const { api, kubeconfig } = await serveApi(undefined, "keeper", "binder");
  api.put(LEASE, { spec: { holderIdentity: "another", leaseDurationSeconds: 3600 } });
  putExpired(api);
  const keeper = await start(kubeconfig);
  await until(() => api.requests.some(isLease));
  expect([await keeper.get("/healthz"), await keeper.get("/readyz")]).toEqual(["ok", "ok"]);
  expect(await keeper.get("/metrics")).toContain("\nhookbox_keeper_leading 0\n");
  expect(await keeper.stop()).toBe(0);
  expect(api.requests.filter((request) => !isLease(request)), "not even a look").toEqual([]);
  expect(leaseOf(api).holderIdentity, "it gives back nothing that is another's").toBe("another");
});

test("it has a binder in its process, fed by its watches, which serves claims while both Leases are held", async () => {
  const { api, kubeconfig } = await serveApi(undefined, "keeper", "binder");
  const binderLease = LEASE.replace("hookbox-keeper", "hookbox-binder");
  const another = { spec: { holderIdentity: "another", leaseDurationSeconds: 3600 } };
  const free = { spec: { holderIdentity: "", leaseDurationSeconds: 1 } };
  const looksAt = (lease: string) => api.requests.filter(({ path }) => path === lease).length;
  const leading = async (process: string) =>
    (await keeper.get("/metrics")).includes(`\nhookbox_${process}_leading 1\n`);
  const putClaim = (name: string) => {
    api.put(CLAIM.replace(/job$/, name), { ...aClaim({ metadata: { name, uid: `uid-${name}` } }) });
    return () => api.get(SANDBOX.replace(/demo$/, name));
  };
  api.put(LEASE, another);
  api.put(binderLease, another);
  api.put(POOL, { ...aPool() });
  const template = api.put(TEMPLATE, { ...aTemplate() });
  const [{ metadata, ...policy }, uid] = [aPolicy(), template.metadata.uid];
  const owner = { kind: "SandboxTemplate", apiVersion: template.apiVersion, name: "python", uid, controller: true };
  api.put(POLICY, { ...policy, metadata: { ...metadata, annotations: {}, ownerReferences: [owner] } });
  const early = putClaim("early");
  const keeper = await startWhole(kubeconfig, "--lease-seconds", "3");
  await until(() => looksAt(LEASE) > 1);
  expect([looksAt(binderLease), api.watches], "it stands by").toEqual([0, 0]);
  api.put(LEASE, free);
  await until(async () => await leading("keeper") && looksAt(binderLease) > 1);
  expect([await leading("binder"), early()]).toEqual([false, undefined]);
  api.put(binderLease, free);
  await until(() => early() !== undefined);
  expect(early()?.metadata.ownerReferences).toMatchObject([{ kind: "SandboxClaim", uid: "uid-early" }]);
  expect(
    [await leading("binder"), api.watches],
    "a watch for each kind, NetworkPolicies, SyncError Events, and the Deployments of hooks",
  ).toEqual(
    [true, 7],
  );
  expect(await keeper.get("/metrics")).toMatch(/\nhookbox_binder_requests_total\{method="POST",code="201"\} 1\n/);
  api.put(LEASE, another);
  await until(async () => !await leading("binder") && !await leading("keeper"));
  const late = putClaim("late");
  const seen = looksAt(LEASE);
  await until(() => looksAt(LEASE) > seen + 1);
  expect(late()).toBeUndefined();
  expect((api.get(binderLease)?.["spec"] as { holderIdentity?: string }).holderIdentity, "given back").toBeUndefined();
  expect(await keeper.stop()).toBe(0);
});

test("without election there is no Lease, and claims may have no Events; a keeper that has not seen all is not ready", async () => {
  const { api, kubeconfig } = await serveApi(undefined, "keeper", "binder");
  const listed = Promise.withResolvers<undefined>();
  api.intercept = ({ method, path }) =>
    method === "GET" && path.endsWith("/sandboxtemplates") ? listed.promise : undefined;
  putExpiredClaim(api);
  putExpired(api);
  const keeper = await start(kubeconfig, "--no-leader-election", "--disable-claim-events");
  await until(() => !api.get(CLAIM) && !api.get(SANDBOX));
  expect(await keeper.get("/readyz")).toBe("not ready");
  listed.resolve(undefined);
  await until(async () => await keeper.get("/readyz") === "ok");
  expect(await keeper.stop()).toBe(0);
  expect(api.requests.filter(isLease)).toEqual([]);
  expect(writes(api).filter(({ method }) => method !== "DELETE")).toEqual([]);
  expect(api.get(POOL)).toBeUndefined();
});

test("what makes no sense, and a namespace that is not there, end it with one sentence", async () => {
  const { api, kubeconfig } = await serveApi(undefined, "keeper", "binder");
  const refused = { status: 404, body: { message: 'namespaces "system" not found' } };
  api.intercept = ({ method }) => method === "POST" ? refused : undefined;
  const flags = ["packages/keeper/main.ts", "--kubeconfig", kubeconfig, "--namespace", "system"];
  const [nowhere, wrong] = [
    await startMain("node", flags, undefined),
    await startMain("node", [...flags, "--port", "x"], undefined),
  ];
  expect([await nowhere.ended, await wrong.ended]).toEqual([1, 2]);
  expect(nowhere.log()).toMatch(/\nCannot make Lease system\/hookbox-keeper: namespaces "system" not found\n$/);
  expect(wrong.log()).toMatch(/^Cannot use --port "x": .*\n$/);
});

test("one that leads anew while hardly anybody answers goes on, and so does its binder", async () => {
  const { api, kubeconfig } = await serveApi(undefined, "keeper", "binder");
  const NAMESPACE = "/api/v1/namespaces/hookbox-system";
  let isAway = false;
  api.put(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name: "hookbox-system" } });
  api.intercept = ({ path }) => isAway && path === NAMESPACE ? new Promise<undefined>(() => {}) : undefined;
  const args = ["packages/keeper/main.ts", "--kubeconfig", kubeconfig, "--lease-seconds", "3"];
  const keeper = await startMain("node", args, "Starting");
  const leading = (lease: string) => keeper.said("Leading").filter((line) => line["lease"] === lease).length;
  // A busy machine may lose Leases of three seconds by itself: it leads more often then.
  const haveLed = (keepers: number, binders: number) =>
    until(() => leading("hookbox-keeper") > keepers && leading("hookbox-binder") > binders);
  await haveLed(0, 0);
  isAway = true;
  const lease = LEASE.replace("/system/", "/hookbox-system/");
  api.put(lease, { spec: { holderIdentity: "another", leaseDurationSeconds: 1 } });
  await haveLed(leading("hookbox-keeper"), leading("hookbox-binder"));
  putExpired(api);
  await until(() => !api.get(SANDBOX));
  expect(await keeper.stop()).toBe(0);
});
