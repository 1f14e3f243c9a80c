/**
 * The published Python client against the cluster: create, list, get, delete, and what create_sandbox takes. For its
 * shutdown_after_seconds see item 15 of the checklist. @module
 */
import { expect, test } from "vitest";
import { until } from "../integration/kubectl.ts";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aClaim, aPool, aTemplate, controllerOf, untilFull, untilReady } from "../integration/pools.ts";
import { needsClient, runProgram, startProgram } from "./program.ts";
import "../integration/suite.ts";

needsClient();

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
const VOLUME = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
};

/** A namespace with a template that allows all, and a pool of it that is full. */
async function withPool(replicas: number): Promise<Namespace> {
  const ns = await makeNamespace();
  const policies = { envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed" };
  await ns.apply(aTemplate("t", policies), aPool("p", replicas, "t"));
  await untilFull(ns, "p");
  return ns;
}

test("create_sandbox, warm: the client knows claim, Sandbox, Pod, address and status of a pool's member", async () => {
  const ns = await withPool(1);
  const [member] = await ns.list("sandbox");
  const told = await runProgram(ns, "create", { warmpool: "p", labels: { "example.com/user": "ann" } });
  const [claim] = await ns.list("sandboxclaim");
  const pod = await ns.get("pod", member.metadata.name);
  expect(told).toEqual({
    claim: claim.metadata.name,
    sandbox: member.metadata.name,
    pod: member.metadata.name,
    ip: pod.status.podIP,
    hash: pod.metadata.labels[KEY("sandbox-name-hash")],
    fqdn: null,
    status: ["SandboxReady", expect.any(String)],
  });
  expect(claim.metadata.labels).toMatchObject({ "example.com/user": "ann", [KEY("created-by")]: "python-client" });
  expect(claim.metadata.annotations[KEY("client-first-requested-at")]).toMatch(/^\d{4}-.*\+00:00$/);
});

test("create_sandbox with env: cold, named like the claim, with the variables", async () => {
  const ns = await withPool(1);
  const told = await runProgram(ns, "create", { warmpool: "p", env: { WHO: "me", LANG: "C.UTF-8" } });
  expect(told).toMatchObject({ sandbox: told.claim, pod: told.claim });
  const pod = await ns.get("pod", told.pod);
  expect(pod.spec.containers[0].env).toEqual([{ name: "WHO", value: "me" }, { name: "LANG", value: "C.UTF-8" }]);
  expect((await ns.get("sandbox", told.sandbox)).metadata.labels[KEY("launch-type")]).toBe("cold");
});

test("create_sandbox with volume_claim_templates: a volume of its own, gone with the claim", async () => {
  const ns = await withPool(0);
  const told = await runProgram(ns, "create", { warmpool: "p", volume_claim_templates: [VOLUME] });
  const [volume] = await ns.list("persistentvolumeclaim");
  expect(volume.metadata.name).toBe(`data-${told.sandbox}`);
  expect(controllerOf(volume)).toMatchObject({ kind: "Sandbox", name: told.sandbox });
  await ns.kubectl("delete", "sandboxclaim", told.claim);
  await until(() => ns.list("persistentvolumeclaim"), (left) => left.length === 0);
});

test("create_sandbox with pod_labels and pod_annotations: on the Pod, which stays the pool's", async () => {
  const ns = await withPool(1);
  const [before] = await ns.list("pod");
  const told = await runProgram(ns, "create", {
    warmpool: "p",
    pod_labels: { "sandbox.users.io/team": "red" },
    pod_annotations: { "example.com/session": "42" },
  });
  const pod = await ns.until("pod", told.pod, ({ metadata }) => metadata.annotations["example.com/session"] === "42");
  expect(pod.metadata.labels).toMatchObject({ "sandbox.users.io/team": "red" });
  expect(pod.metadata.uid).toBe(before.metadata.uid);
});

test("list, get, delete, delete_all: what one client makes another one finds; what is deleted takes all with it", async () => {
  const ns = await withPool(2);
  const program = await startProgram(ns, "lifecycle");
  const lists = await program.next();
  const { first, second } = lists;
  expect(lists).toEqual({
    first,
    second,
    active: expect.arrayContaining([first, second]),
    all: expect.arrayContaining([first, second]),
    anns: [first],
    pool: "p",
  });
  expect(await program.next()).toMatchObject({ claim: first, status: ["SandboxReady", expect.any(String)] });
  expect(await program.next()).toEqual({ active: false });
  expect(await program.next()).toEqual({ left: [] });
  expect(await program.next()).toMatchObject({ error: "SandboxNotFoundError" });
  await program.ended();
  await until(() => ns.list("sandboxclaim"), (left) => left.length === 0);
  const isPools = (kind: string) => kind === "SandboxWarmPool";
  await until(() => ns.list("sandbox"), (left) => left.every((sandbox) => isPools(controllerOf(sandbox)?.kind ?? "")));
  await untilFull(ns, "p");
});

test("leaving the context manager deletes what the client made and found, and keeps what it named", async () => {
  const ns = await withPool(3);
  await ns.apply(aClaim("found", "p"));
  await untilReady(ns, "found");
  const program = await startProgram(ns, "session");
  const { made, named, found } = await program.next();
  expect([named, found]).toEqual(["named", "found"]);
  expect((await ns.list("sandboxclaim")).map(({ metadata }) => metadata.name).sort()).toEqual(
    [found, named, made].sort(),
  );
  program.goOn();
  await program.ended();
  expect((await ns.list("sandboxclaim")).map(({ metadata }) => metadata.name)).toEqual(["named"]);
});

test("the asynchronous client: sandboxes of their own, warm and cold at once, errors, and its end", async () => {
  const ns = await withPool(2);
  const members = (await ns.list("sandbox")).map(({ metadata }) => metadata.name);
  const program = await startProgram(ns, "asynchronous");
  const { sandboxes } = await program.next();
  const [first, second, cold] = sandboxes;
  expect(members.sort()).toEqual([first.sandbox, second.sandbox].sort());
  expect(cold.sandbox).toBe(cold.claim);
  for (const { pod, ip, status } of sandboxes) {
    expect((await ns.get("pod", pod)).status.podIP).toBe(ip);
    expect(status[0]).toBe("SandboxReady");
  }
  expect(await program.next()).toEqual({ all: sandboxes.map(({ claim }: { claim: string }) => claim).sort() });
  expect(await program.next()).toMatchObject({ error: "SandboxWarmPoolNotFoundError" });
  const left = async () => (await ns.list("sandboxclaim")).map(({ metadata }) => metadata.name).sort();
  expect(await left()).toEqual([second.claim, cold.claim].sort());
  program.goOn();
  await program.ended();
  expect(await left()).toEqual([]);
});
