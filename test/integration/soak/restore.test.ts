/**
 * etcd is restored from a backup: claims that were made since are gone, and what they had is in its pool again, used. On a
 * cluster of its own, with a real etcd whose versions go back. @module
 */
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { freePorts } from "../../../dev/cluster/ports.ts";
import { REASON_HEADER, SANDBOX_NOT_FOUND } from "../../../packages/api/router/protocol.ts";
import { type Breakable, startBreakable } from "../breakable.ts";
import { createAll } from "../bulk.ts";
import { until } from "../kubectl.ts";
import { condition, type Loose, makeNamespace, type Namespace, ON_SIMULATED_NODES, sleeper } from "../namespace.ts";
import { aClaim, aPool, aSimulatedTemplate, controllerOf, untilFull } from "../pools.ts";
import { startChild } from "../processes.ts";

const CLAIMS = inject("isSoak") ? 50 : 10;
let world: Breakable;
beforeAll(async () => world = await startBreakable());
afterAll(() => world?.down());

/** A namespace with a full pool, before anybody has asked for anything. */
async function aFullPool(): Promise<Namespace> {
  const ns = await makeNamespace(world.kubectl);
  await ns.apply(aSimulatedTemplate("t"), aPool("p", CLAIMS, "t"));
  await untilFull(ns, "p");
  return ns;
}

/** Makes so many claims, waits until all are Ready, and returns the UIDs of their Sandboxes. */
async function claimAll(ns: Namespace, prefix: string): Promise<Set<string>> {
  await createAll(ns, Array.from({ length: CLAIMS }, (_, index) => aClaim(`${prefix}-${index}`, "p")));
  const isServed = (claim: Loose) => condition(claim, "Ready")?.status === "True";
  const unserved = async () => (await ns.list("sandboxclaim")).filter((claim) => !isServed(claim));
  await until(unserved, (claims) => claims.length === 0);
  const sandboxes = await ns.list("sandbox");
  const given = sandboxes.filter((sandbox) => controllerOf(sandbox)?.kind === "SandboxClaim");
  expect(given.length).toBe(CLAIMS);
  return new Set(given.map(({ metadata }) => metadata.uid));
}

/** Waits until nothing of `used` is there any more, and the pool is full nevertheless. */
async function untilReplaced(ns: Namespace, used: ReadonlySet<string>): Promise<void> {
  const left = async () => (await ns.list("sandbox")).filter(({ metadata }) => used.has(metadata.uid)).length;
  await until(left, (count) => count === 0);
  await untilFull(ns, "p");
}

test(
  "what claims have had since the backup is given to no other claim, but replaced",
  async () => {
    const ns = await aFullPool();
    const restore = await world.backUp();
    const used = await claimAll(ns, "before");
    await restore();
    expect(await ns.list("sandboxclaim")).toEqual([]);
    const given = await claimAll(ns, "after");
    expect([...given].filter((uid) => used.has(uid))).toEqual([]);
    await untilReplaced(ns, used);
  },
);

test("where no binder remembers, an operator deletes what no claim has", async () => {
  const ns = await aFullPool();
  const restore = await world.backUp();
  const used = await claimAll(ns, "before");
  await world.withoutBinders(async () => {
    await restore();
    await ns.kubectl("delete", "sandboxes", "-l", "agents.x-k8s.io/warm-pool-sandbox", "--wait=false");
  });
  const given = await claimAll(ns, "after");
  expect([...given].filter((uid) => used.has(uid))).toEqual([]);
  await untilReplaced(ns, used);
});

test("a router knows what was deleted or suspended since the backup as it is", async () => {
  const ns = await makeNamespace(world.kubectl);
  const names = ["deleted", "suspended"];
  await ns.apply(...names.map((name) => sleeper(name, {}, ON_SIMULATED_NODES)));
  for (const name of names) await ns.untilReason(name, "DependenciesReady");
  const restore = await world.backUp();
  const ask = await startRouter();
  const answers = () => Promise.all(names.map((name) => ask(ns, name)));
  await ns.kubectl("delete", "sandbox", "deleted");
  await ns.patch("sandbox", "suspended", { spec: { operatingMode: "Suspended" } });
  await until(answers, ([first, second]) => first?.reason === SANDBOX_NOT_FOUND && second?.status === 503);
  await restore();
  // Whatever answers at the addresses of simulated Pods: the router knows of them, and sends requests there.
  await until(
    answers,
    (all) => all.every(({ status, reason }) => status > 0 && status !== 503 && reason !== SANDBOX_NOT_FOUND),
  );
});

/** What came of a request: its status, and why the router itself has answered. */
interface RouterAnswer {
  status: number;
  reason: string | null;
}

/** Starts a router that wakes nothing; returns what sends a request for a sandbox. */
async function startRouter(): Promise<(ns: Namespace, name: string) => Promise<RouterAnswer>> {
  const [port = 0, side = 0] = await freePorts(2);
  const { kubeconfig } = world.kubectl;
  const flags = ["--kubeconfig", kubeconfig, "--port", `${port}`, "--authz-mode", "allow-all", "--no-wake"];
  const bind = ["--health-probe-bind-address", `127.0.0.1:${side}`, "--wake-timeout", "1s", "--dial-timeout", "1s"];
  const router = startChild(`restore-router-${port}`, ["packages/router/main.ts", ...flags, ...bind], world.logs);
  onTestFinished(() => router.stop());
  const ask = (path: string, headers = {}) =>
    fetch(path, { headers }).then(async (answer) => {
      await answer.body?.cancel();
      return { status: answer.status, reason: answer.headers.get(REASON_HEADER) };
    }, () => ({ status: 0, reason: null }));
  await until(() => ask(`http://127.0.0.1:${side}/readyz`), ({ status }) => status === 200);
  return (ns, name) =>
    ask(`http://127.0.0.1:${port}/`, { "X-Sandbox-ID": name, "X-Sandbox-Namespace": ns.name, "X-Sandbox-Port": "80" });
}
