/** The binder as a process on an API server in memory: its probes, its Lease and the loss of it, its rights, and its flags. @module */
import { expect, test } from "vitest";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { until } from "../eventually.ts";
import { startMain } from "../mainprocess.ts";
import { aClaim, aMember, aPool } from "../pools.ts";
import { rightOf, type Rule, rulesOf, wordsFor } from "../rights.ts";
import { send } from "../runtime/servers.ts";
import { aTemplate } from "../templates.ts";
import { isHandOver, isLease, ownerOf, serveCluster, start } from "./binder-world.ts";

/** All rights of deploy/binder/rbac.yaml except those for late binding and resizes, see deliver.test.ts and resize.test.ts. */
function rights(): string[] {
  const isOptional = ({ verbs, resources }: Rule) =>
    verbs.includes("delete") || resources.some((resource) => /secrets|admission|resize/.test(resource));
  return rulesOf("binder").filter((rule) => !isOptional(rule)).flatMap((
    { apiGroups: [group = ""], resources, verbs },
  ) => resources.flatMap((resource) => verbs.map((verb) => wordsFor({ verb, group, resource }))));
}

test("as the leader it serves, counts and answers its probes, with the rights of rbac.yaml and each of them; SIGTERM ends it with 0", async () => {
  const { world, kubeconfig, put, find, lease, claim, sandboxOf } = await serveCluster();
  // A claim whose binder was killed between its two writes.
  const [half] = await put(aClaim("half"));
  const annotations = { "agents.x-k8s.io/assigned-at": new Date().toISOString() };
  const given = aMember(9, { metadata: { ownerReferences: [ownerOf(half)], annotations } });
  await put(given, aClaim("warm"), aClaim("cold", { spec: { env: [{ name: "A", value: "1" }] } }));
  // Of a template that is not kept whole.
  const env = [{ name: "LARGE", value: "x".repeat(140 * 1024) }];
  const large = { spec: { containers: [{ name: "main", image: "busybox", env }] } };
  await put(
    aTemplate({ metadata: { name: "large" }, spec: { podTemplate: large, networkPolicyManagement: "Unmanaged" } }),
    aPool({ metadata: { name: "large", uid: "uid-large" }, spec: { sandboxTemplateRef: { name: "large" } } }),
    aClaim("of-large", { spec: { warmPoolRef: { name: "large" } } }),
    // Its template lacks its NetworkPolicy, which the binder asks for before it reports that.
    aTemplate({ metadata: { name: "fenced" }, spec: { networkPolicyManagement: "Managed" } }),
    aPool({ metadata: { name: "fenced", uid: "uid-fenced" }, spec: { sandboxTemplateRef: { name: "fenced" } } }),
    aClaim("fenced", { spec: { warmPoolRef: { name: "fenced" } } }),
  );
  let conflicts = 0;
  world.fault = ({ method, path }) =>
    method === "PUT" && path.endsWith("/warm/status") && conflicts++ === 0
      ? { status: 409, body: { message: "modified" } }
      : undefined;
  const binder = await start(kubeconfig, "--binder-lease-seconds", "20");
  await until(() => sandboxOf("warm") !== undefined && sandboxOf("half") !== undefined);
  expect(sandboxOf("warm")).toMatch(/^warm-[123]$/);
  expect(sandboxOf("half")).toBe(given.metadata.name);
  for (const name of ["cold", "of-large"]) {
    await until(() => find("agents.x-k8s.io/v1beta1", "Sandbox", name) !== undefined);
  }
  await until(() => findCondition(claim("fenced")?.status?.conditions, "Ready")?.reason === "ReconcilerError");
  const noted = () => claim("warm")?.metadata.annotations?.["agents.x-k8s.io/sandbox-name"];
  const told = () => find("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool", "warm")?.metadata.annotations;
  await until(() => noted() !== undefined && told()?.["agents.x-k8s.io/handed-over-at"] !== undefined);
  expect(lease()).toMatchObject({ holderIdentity: expect.stringMatching(/.+_.+/), leaseDurationSeconds: 20 });
  expect(binder.said("Listening")).toMatchObject([{ host: "127.0.0.1", port: binder.port }]);
  expect([await binder.get("/healthz"), await binder.get("/readyz")]).toEqual(["ok", "ok"]);
  for (const [kind, count] of [["warm", 1], ["cold", 2]]) {
    const counted = `\nhookbox_binder_claim_seconds_count{launch_type="${kind}"} ${count}\n`;
    await until(async () => (await binder.get("/metrics")).includes(counted));
  }
  const metrics = await binder.get("/metrics");
  expect(metrics).toContain("\nhookbox_binder_leading 1\n");
  for (const counted of ['method="PUT",code="200"', 'method="PUT",code="409"', 'method="WATCH",code="200"']) {
    expect(metrics).toContain(`hookbox_binder_requests_total{${counted}}`);
  }
  expect((await send(binder.port, "GET", "/debug")).status).toBe(404);
  expect(await binder.stop()).toBe(0);
  expect(lease()["holderIdentity"], "the next one need not wait").toBeFalsy();
  // Asked for by an owner reference that blocks deletion, not by a request.
  const blocking = (kind: string) => `update ${kind}.extensions.agents.x-k8s.io/finalizers`;
  const asked = world.requests.flatMap((request) => rightOf(request) ?? []).map(wordsFor);
  const all = [...asked, blocking("sandboxclaims"), blocking("sandboxwarmpools")];
  expect([...new Set(all)].sort()).toEqual([...new Set(rights())].sort());
});

test("a second binder stands by: it watches, and writes nothing; given the Lease, or holding it by name, it serves", async () => {
  const { world, kubeconfig, put, putLease, sandboxOf, writes } = await serveCluster();
  await putLease("another", 3600);
  await put(aClaim("job"));
  const binder = await start(kubeconfig);
  const kinds = ["sandboxtemplates", "sandboxwarmpools", "sandboxclaims", "sandboxes"];
  const watched = () => world.requests.flatMap(({ method, path }) => method === "WATCH" ? path.split("/").at(-1) : []);
  await until(() => kinds.every((kind) => watched().includes(kind)) && world.requests.filter(isLease).length > 1);
  const said = [await binder.get("/healthz"), await binder.get("/readyz"), await binder.get("/metrics")];
  expect(said).toEqual(["ok", "ok", expect.stringContaining("\nhookbox_binder_leading 0\n")]);
  expect(writes()).toEqual([]);
  await putLease("", 1);
  await until(() => sandboxOf("job") !== undefined);
  expect(await binder.stop()).toBe(0);
  await Promise.all([putLease("killed", 3600), put(aClaim("next"))]);
  await start(kubeconfig, "--identity", "killed");
  await until(() => sandboxOf("next") !== undefined);
});

test("it is Ready, and asks for the Lease, when it has listed everything", async () => {
  const { world, kubeconfig, put, lease, sandboxOf } = await serveCluster();
  await put(aClaim("job"));
  const { promise, resolve } = Promise.withResolvers<void>();
  let isHeld = false;
  world.hold = ({ method, path }) => {
    if (method !== "GET" || !path.endsWith("/sandboxes")) return undefined;
    isHeld = true;
    return promise;
  };
  const binder = await start(kubeconfig);
  await until(() => isHeld);
  expect([await binder.get("/healthz"), await binder.get("/readyz")]).toEqual(["ok", "not everything has been listed"]);
  expect(lease()).toBeUndefined();
  resolve();
  await until(() => sandboxOf("job") !== undefined);
  expect(await binder.get("/readyz")).toBe("ok");
});

test("a Lease that is lost ends the service of claims; got back, it goes on", async () => {
  const { world, kubeconfig, put, putLease, lease, sandboxOf, writes } = await serveCluster();
  await put(aClaim("early"));
  const binder = await start(kubeconfig);
  await until(() => sandboxOf("early") !== undefined);
  const ours = lease()["holderIdentity"];
  await putLease("another", 3600);
  await until(() => binder.said("No longer leading").length > 0);
  expect(await binder.get("/metrics")).toContain("\nhookbox_binder_leading 0\n");
  expect(await binder.get("/readyz"), "it stands by").toBe("ok");
  const before = writes().length;
  await put(aClaim("late"));
  const seen = world.requests.length;
  await until(() => world.requests.slice(seen).filter(isLease).length > 1);
  expect(writes().slice(before)).toEqual([]);
  await putLease("", 1);
  await until(() => sandboxOf("late") !== undefined);
  expect(lease()["holderIdentity"]).toBe(ours);
  expect(await binder.stop()).toBe(0);
});

test("without leader election the binder writes no Lease, and it allows labels and annotations only of the given domains", async () => {
  const { world, kubeconfig, put, sandboxOf } = await serveCluster();
  const adding = (name: string, map: "labels" | "annotations", domain: string) =>
    aClaim(name, { spec: { additionalPodMetadata: { [map]: { [`${domain}.example/x`]: "y" } } } });
  await put(adding("b", "labels", "b"), adding("a", "labels", "a"));
  await put(adding("d", "annotations", "a"), adding("e", "annotations", "e"), aClaim("c"));
  const flags = ["--allowed-label-domains", "a.example", "--allowed-annotation-domains", "e.example"];
  const binder = await start(kubeconfig, "--no-leader-election", ...flags);
  await until(() => ["a", "c", "e"].every((name) => sandboxOf(name) !== undefined));
  expect(await binder.stop()).toBe(0);
  expect([sandboxOf("b"), sandboxOf("d")]).toEqual([undefined, undefined]);
  expect([world.requests.filter(isHandOver).length, world.requests.filter(isLease)]).toEqual([3, []]);
});

test("it serves as many claims at once as it has workers, of one namespace half of them", async () => {
  const { world, kubeconfig, put, sandboxOf } = await serveCluster();
  const gates: (() => void)[] = [];
  let [held, most] = [0, 0];
  world.hold = async (request) => {
    if (!isHandOver(request)) return;
    most = Math.max(most, ++held);
    await new Promise<void>((fulfil) => gates.push(fulfil));
    held--;
  };
  const names = ["a", "b", "c"];
  await put(...names.map((name) => aClaim(name)));
  const binder = await start(kubeconfig, "--no-leader-election", "--binder-workers", "4");
  await until(() => gates.length >= 2);
  gates[0]?.();
  await until(() => gates.length >= 3);
  for (const open of gates) open();
  await until(() => names.every((name) => sandboxOf(name) !== undefined));
  expect(most).toBe(2);
  expect(new Set(names.map(sandboxOf)).size).toBe(3);
  expect(await binder.stop()).toBe(0);
});

test("what makes no sense, and a namespace that is not there, end it with one sentence; --help with its options", async () => {
  const { world, kubeconfig } = await serveCluster();
  world.fault = ({ method }) =>
    method === "POST" ? { status: 404, body: { message: 'namespaces "system" not found' } } : undefined;
  const flags = ["packages/binder/main.ts", "--kubeconfig", kubeconfig, "--namespace", "system"];
  const wrong: [string[], RegExp][] = [
    [["--port", "x"], /^Cannot use --port "x": .*\n$/],
    [["--binder-workers", "0"], /^Cannot use --binder-workers "0": .*\n$/],
    [["--log-level", "loud"], /^Cannot use --log-level "loud": .*\n$/],
    [["--no-binder"], /^Unknown option "--no-binder": .*\n$/],
    [[], /\nCannot make Lease system\/hookbox-binder: namespaces "system" not found\n$/],
  ];
  const ended = wrong.map(async ([more, words]) => {
    const binder = await startMain("node", [...flags, ...more], undefined);
    expect(await binder.ended).toBe(more.length > 0 ? 2 : 1);
    expect(binder.log()).toMatch(words);
  });
  const help = await startMain("node", [...flags, "--help"], undefined);
  expect(await help.ended).toBe(0);
  const named = [...help.output().matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining(["--kubeconfig", "--binder-workers"]));
  await Promise.all(ended);
});
