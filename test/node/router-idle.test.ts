/** Idleness on a real node: the router suspends what nobody uses, lets be what works or is held, and wakes it again. @module */
import { type AddressInfo, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { dirname } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readRecord } from "../../dev/cluster/state.ts";
import { until } from "../integration/kubectl.ts";
import { condition, type Loose, makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "../integration/pools.ts";
import { type Router, startRouter } from "./router.ts";
import {
  aRuntime,
  ask,
  execute,
  FILES,
  isReady,
  kill,
  needsRuntime,
  ofRouter,
  routers,
  SERVING,
  startDetached,
} from "./runtimepods.ts";
import { hasRealNode, suite } from "../integration/suite.ts";

const IDLE = { "idle-seconds": "5" };
/** Looks at a busy or held Sandbox after which one may say that it stays up. */
const LOOKS = 4;

interface Stage {
  ns: Namespace;
  router: Router;
}

async function start(): Promise<Stage> {
  return {
    ns: await makeNamespace(),
    router: await startRouter("--idle-check-interval", "500ms", "--log-level", "debug"),
  };
}

/** Waits until the router has let a Sandbox be so often, for one reason after another. */
async function untilLetBe({ ns, router }: Stage, name: string, because: RegExp): Promise<void> {
  const looks = () => router.said(ns.name, name).filter((line) => because.test(line.because ?? ""));
  await until(() => Promise.resolve(looks().length), (count) => count >= LOOKS);
  expect((await ns.get("sandbox", name)).spec.operatingMode).toBe("Running");
  expect(await ns.get("pod", name)).toMatchObject({ status: { phase: "Running" } });
}

/** Waits until a Sandbox is suspended and its Pod gone. Returns what the router left as the reason. */
async function untilSuspended({ ns }: Stage, name: string): Promise<Loose> {
  const sandbox = await ns.until("sandbox", name, ({ spec }) => spec.operatingMode === "Suspended");
  await ns.until("pod", name, (pod) => pod === undefined);
  await ns.untilReason(name, "SandboxSuspended");
  return JSON.parse(routers(sandbox, "suspended") ?? "null");
}

describe.runIf(hasRealNode)("an idle sandbox", () => {
  beforeAll(needsRuntime);

  test("is suspended, says why and when, wakes up for a request, and is deleted when its time has come", async () => {
    const stage = await start();
    const { ns, router } = stage;
    await ns.apply(aRuntime("unused", IDLE));
    const ready = await ns.until("sandbox", "unused", (sandbox) => isReady(sandbox));
    const { lastTransitionTime } = condition(ready, "Ready");
    const told = await untilSuspended(stage, "unused");
    expect(told).toMatchObject({
      reason: "Idle",
      note: expect.stringMatching(/^no traffic for \d+ s, and nothing runs$/),
    });
    expect(Date.parse(told.at) - Date.parse(lastTransitionTime)).toBeGreaterThanOrEqual(5000);
    const events = await until(() => ns.list("event"), (all) => all.some(isSuspension));
    expect(events.filter(isSuspension)).toMatchObject([{
      regarding: { name: "unused" },
      note: `Suspended: ${told.note}`,
    }]);
    expect(await router.metric("sandbox_router_suspensions_total", ns.name)).toBe(1);

    expect(await ask(router, ns, "unused", { port: FILES, path: "/v1/health" })).toMatchObject({ status: 200 });
    const woken = await ns.get("sandbox", "unused");
    expect(woken.spec.operatingMode).toBe("Running");
    expect(routers(woken, "suspended")).toBeUndefined();
    expect(routers(woken, "woken-at")).toMatch(/^\d{4}-/);

    await ns.patch("sandbox", "unused", { metadata: { annotations: ofRouter({ "idle-delete-seconds": "1" }) } });
    await untilGone(ns, "sandbox", "unused");
    await untilGone(ns, "pod", "unused");
  });

  test("is none as long as a command works in it without any traffic", async () => {
    const stage = await start();
    const { ns, router } = stage;
    await ns.apply(aRuntime("busy", IDLE));
    const id = await startDetached(router, ns, "busy", ["/bin/sleep", "86400"]);
    await untilLetBe(stage, "busy", /^1 commands, terminals or streams$/);
    await kill(router, ns, "busy", id);
    expect(await untilSuspended(stage, "busy")).toMatchObject({ reason: "Idle" });
  });

  test("is none as long as somebody holds a Lease on it", async () => {
    const stage = await start();
    const { ns } = stage;
    await ns.apply(aLease("hold", "held"), aRuntime("held", IDLE));
    await untilLetBe(stage, "held", /^it is held by a Lease$/);
    await ns.kubectl("delete", "lease", "hold");
    expect(await untilSuspended(stage, "held")).toMatchObject({ reason: "Idle" });
  });

  test("is what computes for nobody, after max-active-seconds and not before", async () => {
    const stage = await start();
    const { ns, router } = stage;
    await ns.apply(aRuntime("hung", IDLE));
    // What a command leaves behind counts for none: only its use of the CPU shows it.
    await execute(router, ns, "hung", `sh -c "while :; do :; done >/dev/null 2>&1 &"`);
    await untilLetBe(
      stage,
      "hung",
      /^it uses \d+\.\d+ cores$|^\d+ processes of it want the CPU$|^its runtime does not answer in time$/,
    );
    await ns.patch("sandbox", "hung", { metadata: { annotations: ofRouter({ "max-active-seconds": "5" }) } });
    const told = await untilSuspended(stage, "hung");
    expect(told).toMatchObject({ reason: "MaxActive", note: expect.stringMatching(/which is as long as it may work/) });
  });

  test("is one whose background job only waits, and none whose job works or counts for its template, until it ends", async () => {
    const stage = await start();
    const { ns, router } = stage;
    const podTemplate = { metadata: { annotations: ofRouter({ ...IDLE, "idle-jobs": "0" }) } };
    const plain = ["waiting", "computing", "receiving"];
    await ns.apply(
      aTemplate("t", { podTemplate }, SERVING),
      aPool("p", 1, "t"),
      aClaim("c", "p"),
      ...plain.map((name) => aRuntime(name, IDLE)),
    );
    const counted = (await untilReady(ns, "c")).status.sandbox.name;
    const { address, port } = await startSender();
    const leave = (name: string, job: string) =>
      execute(router, ns, name, `sh -c '${job} > /dev/null 2>&1 & echo $! > pid'`);
    await leave("waiting", "sleep 86400");
    await leave(counted, "sleep 86400");
    // The job only waits for its children, which work for a moment each.
    await leave("computing", `sh -c "while :; do head -c 30000000 /dev/zero; sleep 0.05; done"`);
    await leave("receiving", `nc ${address} ${port}`);
    await Promise.all([
      untilSuspended(stage, "waiting"),
      untilLetBe(stage, "computing", /^it uses \d+\.\d+ cores$|^\d+ processes of it want the CPU$/),
      untilLetBe(stage, "receiving", /^it sends and receives \d+ kB\/s$/),
      untilLetBe(stage, counted, /^1 background jobs$/),
    ]);
    await Promise.all(["computing", "receiving", counted].map(async (name) => {
      await execute(router, ns, name, "sh -c 'kill $(cat pid)'");
      expect(await untilSuspended(stage, name)).toMatchObject({ reason: "Idle" });
    }));
  });

  test("of a claim is suspended by what its template says; members of the pool wait, however long", async () => {
    const stage = await start();
    const { ns, router } = stage;
    const podTemplate = { metadata: { annotations: ofRouter(IDLE) } };
    await ns.apply(aTemplate("t", { podTemplate }, SERVING), aPool("p", 1, "t"));
    await untilFull(ns, "p");
    const [member] = await ns.list("sandbox");
    // If another Sandbox, which became Ready later, is suspended, the member's idle time is over.
    await ns.apply(aRuntime("beside", IDLE));
    await untilSuspended(stage, "beside");
    expect((await ns.get("sandbox", member.metadata.name)).spec.operatingMode).toBe("Running");
    await ns.apply(aClaim("c", "p"));
    const { status } = await untilReady(ns, "c");
    expect(status.sandbox.name).toBe(member.metadata.name);
    const told = await untilSuspended(stage, status.sandbox.name);
    expect(told.reason).toBe("Idle");
    const { annotations } = (await ns.get("sandbox", status.sandbox.name)).metadata;
    const assignedAt = Date.parse(annotations["agents.x-k8s.io/assigned-at"]);
    expect(Date.parse(told.at) - assignedAt, "it has its whole idle time").toBeGreaterThanOrEqual(4000);
    await untilReady(ns, "c", "SandboxSuspended");
    expect(await ask(router, ns, status.sandbox.name, { port: FILES, path: "/v1/health" })).toMatchObject({
      status: 200,
    });
    await untilReady(ns, "c");
  });
});

function isSuspension({ reason, reportingController }: Loose): boolean {
  return reason === "SuspendedIdle" && reportingController === "hookbox-router";
}

async function untilGone(ns: Namespace, kind: string, name: string): Promise<void> {
  await ns.until(kind, name, (object) => object === undefined);
}

/** Listens where Pods can connect, and sends each client 200 kB per second, for which it needs hardly any CPU time. */
async function startSender(): Promise<{ address: string; port: number }> {
  const { bridge = "" } = readRecord(dirname(suite.kubeconfig))?.network ?? {};
  const { address } = networkInterfaces()[bridge]!.find(({ family }) => family === "IPv4")!;
  // A job has no standard input, so its client ends its own side at once.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const timer = setInterval(() => socket.write(new Uint8Array(20_000)), 100);
    socket.resume().on("error", () => {}).once("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  onTestFinished(() => void server.close());
  return { address, port: (server.address() as AddressInfo).port };
}

function aLease(name: string, sandbox: string): Loose {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, labels: ofRouter({ holds: sandbox }) },
    spec: { holderIdentity: "somebody" },
  };
}
