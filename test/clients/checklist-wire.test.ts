/** The contract's checklist, items 1 to 5: what the API server serves, and how a claim is bound. @module */
import { expect, test } from "vitest";
import { followClaims } from "../integration/history.ts";
import { until } from "../integration/kubectl.ts";
import { condition, type Loose, makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "../integration/pools.ts";
import { needsClient, startProgram } from "./program.ts";
import { rawRequests } from "./raw.ts";
import { versionsUpTo } from "./seen.ts";
import "../integration/suite.ts";

needsClient();

/** On no node: what needs it never gets Ready. */
const NOWHERE = { nodeSelector: { "example.com/no": "such-node" } };

test("1. claims and Sandboxes: v1beta1 with status, list and watch by name, from a version, from 0, and 410", async () => {
  const ns = await makeNamespace();
  for (const [group, resource] of [["agents", "sandboxes"], ["extensions.agents", "sandboxclaims"]]) {
    const { resources } = JSON.parse(await ns.kubectl("get", "--raw", `/apis/${group}.x-k8s.io/v1beta1`));
    const names = resources.map(({ name }: Loose) => name);
    expect(names).toEqual(expect.arrayContaining([resource, `${resource}/status`]));
  }
  const raw = await rawRequests(ns);
  // Without a pool: what is here is what the test has written.
  await ns.apply(aClaim("a", "none"), aClaim("b", "none"));
  const b = await untilReady(ns, "b", "WarmPoolNotFound");
  const byName = { fieldSelector: "metadata.name=b" };
  const { body: list } = await raw.send("GET", "sandboxclaims", undefined, { query: byName });
  expect(list.items.map(({ metadata }: Loose) => metadata.name)).toEqual(["b"]);

  const fromZero = await raw.watch("sandboxclaims", { ...byName, resourceVersion: "0" }, 1);
  expect(fromZero).toMatchObject([{ type: "ADDED", object: { metadata: { name: "b", uid: b.metadata.uid } } }]);

  const { resourceVersion } = (await ns.get("sandboxclaim", "b")).metadata;
  const later = raw.watch("sandboxclaims", { ...byName, resourceVersion }, 2);
  await ns.kubectl("annotate", "sandboxclaim", "a", "b", "example.com/touched=yes");
  await ns.kubectl("delete", "sandboxclaim", "b");
  expect((await later).map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
    "MODIFIED b",
    "DELETED b",
  ]);

  const tooOld = await raw.watch("sandboxclaims", { ...byName, resourceVersion: "1" }, 1);
  expect(tooOld).toMatchObject([{ type: "ERROR", object: { kind: "Status", code: 410 } }]);
});

test("2. POST of a claim answers uid, resourceVersion and the pool's name as sent; a name that is taken is 409", async () => {
  const ns = await makeNamespace();
  const raw = await rawRequests(ns);
  const body = aClaim("c", "a-pool.that-has.dots");
  const { status, body: made } = await raw.send("POST", "sandboxclaims", undefined, { body });
  expect(status).toBe(201);
  expect([made.metadata.uid, made.metadata.resourceVersion]).toEqual([expect.any(String), expect.any(String)]);
  expect(made.spec).toMatchObject({ warmPoolRef: { name: "a-pool.that-has.dots" } });
  expect((await raw.send("POST", "sandboxclaims", undefined, { body })).status).toBe(409);
  const { body: read } = await raw.send("GET", "sandboxclaims", "c");
  expect(read.metadata.uid).toBe(made.metadata.uid);
  expect(read.spec).toEqual(made.spec);
});

test("3. create_sandbox with adopt_existing on a Ready claim: no write; deleted and made anew: a new uid", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"), aTemplate("slow", {}, NOWHERE), aPool("never", 0, "slow"));
  await ns.apply(aPool("other", 0, "t"));
  await untilFull(ns, "p");
  const history = await followClaims(ns);
  const program = await startProgram(ns, "named");
  const first = await program.next();
  const before = await settled(ns, "named");
  program.goOn();
  expect(await program.next()).toEqual(first);
  expect((await ns.get("sandboxclaim", "named")).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  expect(uidsOf(await versionsUpTo(history, before))).toEqual([before.metadata.uid]);

  const options = { warmpool: "never", claim_name: "waits", sandbox_ready_timeout: 600 };
  const waiter = await startProgram(ns, "create", options);
  await untilReady(ns, "waits", "DependenciesNotReady");
  await ns.kubectl("delete", "sandboxclaim", "waits");
  await ns.apply(aClaim("waits", "never"));
  expect(await waiter.next()).toMatchObject({ error: "SandboxMetadataError" });
  expect(uidsOf(await versionsUpTo(history, await ns.get("sandboxclaim", "waits"))).length).toBe(2);
});

test("4. DELETE of a claim honours preconditions.uid; a missing claim is 404", async () => {
  const ns = await makeNamespace();
  const raw = await rawRequests(ns);
  await ns.apply(aClaim("c", "none"));
  const { uid } = (await ns.get("sandboxclaim", "c")).metadata;
  const remove = async (wanted: string) => {
    const body = { preconditions: { uid: wanted } };
    return (await raw.send("DELETE", "sandboxclaims", "c", { body })).status;
  };
  expect(await remove("00000000-0000-0000-0000-000000000000")).toBe(409);
  expect((await ns.get("sandboxclaim", "c")).metadata.uid).toBe(uid);
  expect(await remove(uid)).toBe(200);
  expect(await ns.get("sandboxclaim", "c")).toBeUndefined();
  expect(await remove(uid)).toBe(404);
});

test.for([["warm", {}], ["cold", { env: [{ name: "WHO", value: "me" }] }]] as const)(
  "5. binding (%s) is one status write with name, podIPs and Ready; conditions and sandbox are never null",
  async ([, spec]) => {
    const ns = await makeNamespace();
    await ns.apply(aTemplate("t", { envVarsInjectionPolicy: "Allowed" }), aPool("p", 1, "t"));
    await untilFull(ns, "p");
    const history = await followClaims(ns);
    await ns.apply(aClaim("c", "p", spec));
    const versions = await versionsUpTo(history, await untilReady(ns, "c"));
    const shown = versions.filter(({ status }) => status !== undefined);
    for (const { status } of shown) {
      expect(status.conditions).toBeInstanceOf(Array);
      expect(status.sandbox ?? {}).toBeInstanceOf(Object);
      expect(status.sandbox).not.toBeNull();
    }
    const named = shown.find(({ status }) => status.sandbox?.podIPs);
    expect(named.status.sandbox).toEqual({ name: expect.any(String), podIPs: [expect.any(String)] });
    expect(condition(named, "Ready")).toMatchObject({ status: "True" });
  },
);

/** Waits until the claim is bound and nobody writes to it any more. */
async function settled(ns: Namespace, claim: string): Promise<Loose> {
  const version = async () => (await ns.get("sandboxclaim", claim)).metadata.resourceVersion;
  await ns.until("sandboxclaim", claim, ({ metadata }) => metadata.annotations["agents.x-k8s.io/sandbox-name"]);
  await until(async () => {
    const before = await version();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return [before, await version()];
  }, ([before, after]) => before === after);
  return await ns.get("sandboxclaim", claim);
}

function uidsOf(versions: Loose[]): string[] {
  return [...new Set(versions.map(({ metadata }) => metadata.uid))];
}
