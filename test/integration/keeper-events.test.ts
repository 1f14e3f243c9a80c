/** What the keeper reports about our objects on a real API server: each Event once, even if keepers die or run twice. @module */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  bind,
  condition,
  events,
  giveSandbox,
  makeClaim,
  makePool,
  makeTemplate,
  publishOf,
  told,
  untilTold,
} from "./keeper-claims.ts";
import {
  begin,
  cluster,
  down,
  end,
  listed,
  makeSandbox,
  namespace,
  proxy,
  read,
  send,
  startKeeper,
  up,
} from "./keeper-world.ts";
import { run, until } from "./kubectl.ts";

/** Flags of a keeper that records no Events of Sandboxes: a test counts its requests. */
const OF_CLAIMS = ["--no-leader-election", "--disable-sandbox-events"];
const ADOPTED = 'Normal SandboxAdopted SandboxClaim/c: Adopted warm pool Sandbox "p-1"';
const isEvent = (line: string) => line.startsWith("POST") && line.endsWith(`/${namespace}/events`);
const posts = () => proxy.requests.filter(isEvent).length;
const marker = "Warning MultiplePods Sandbox/marker: multiple";
/** Shows that the keeper has come past everything that was there before: makes an Event of its own. */
async function passMarker(count: number): Promise<string[]> {
  await makeSandbox(["False", "MultiplePods", "multiple"], {}, "marker");
  const lines = await untilTold(count + 1);
  expect(lines.filter((line) => line !== marker)).toHaveLength(lines.length - 1);
  return lines.filter((line) => line !== marker);
}

beforeAll(up);
afterAll(down);
beforeEach(() => begin());
afterEach(end);

describe("a claim that is served", () => {
  test("has one Event, under the contract's names, for one request", async () => {
    startKeeper(...OF_CLAIMS);
    await listed();
    const claim = await makeClaim();
    await giveSandbox(claim, "p-1");
    await bind(claim, "p-1");
    expect(await untilTold(1)).toEqual([ADOPTED]);
    expect(await passMarker(1)).toEqual([ADOPTED]);
    expect(posts()).toBe(2);
    const [event] = await events();
    expect(event).toMatchObject({
      metadata: { name: expect.stringMatching(/^c\.[0-9a-f]{16}$/) },
      action: "Adoption",
      reportingController: "sandboxclaim-controller",
      reportingInstance: expect.stringMatching(/./),
      regarding: { apiVersion: "extensions.agents.x-k8s.io/v1beta1", uid: claim.metadata.uid, namespace },
    });
    expect(await run(cluster, ["-n", namespace, "describe", "sandboxclaim", "c"])).toContain("SandboxAdopted");
  });

  test("cold has another, and the launch type may come late", async () => {
    startKeeper();
    await listed();
    const claim = await makeClaim();
    await bind(claim, "c");
    expect(await passMarker(0)).toEqual([]);
    await giveSandbox(claim, "c", "cold");
    expect(await untilTold(2)).toContain('Normal SandboxProvisioned SandboxClaim/c: Created Sandbox "c"');
  });

  test("has one Event of two keepers", async () => {
    startKeeper(...OF_CLAIMS);
    startKeeper(...OF_CLAIMS);
    const watches = () =>
      Promise.resolve(proxy.requests.filter((line) => line.endsWith("/sandboxclaims watch")).length);
    await until(watches, (count) => count >= 2);
    await listed();
    const claim = await makeClaim();
    await giveSandbox(claim, "p-1");
    await bind(claim, "p-1");
    await until(() => Promise.resolve(posts()), (count) => count >= 2);
    expect(await passMarker(1)).toEqual([ADOPTED]);
  });

  test.for(["hold", "mute"] as const)(
    "has one Event if the keeper is killed while it records it (%s)",
    async (gate) => {
      const first = startKeeper(...OF_CLAIMS);
      await listed();
      const held = proxy.held();
      proxy.gate = (line) => isEvent(line) ? gate : "pass";
      const claim = await makeClaim();
      await giveSandbox(claim, "p-1");
      await bind(claim, "p-1");
      await held;
      await first.kill("SIGKILL");
      expect(await told()).toEqual(gate === "hold" ? [] : [ADOPTED]);
      proxy.gate = () => "pass";
      startKeeper(...OF_CLAIMS);
      await until(() => Promise.resolve(posts()), (count) => count >= 2);
      expect(await passMarker(1)).toEqual([ADOPTED]);
    },
  );

  test("has none if claims are silenced; others have theirs", async () => {
    startKeeper("--no-leader-election", "--disable-claim-events");
    await listed();
    const claim = await makeClaim();
    await giveSandbox(claim, "p-1");
    await bind(claim, "p-1");
    expect(await passMarker(0)).toEqual([]);
  });

  test("was served before the keeper's time: no Event if that is long ago", async () => {
    const claim = await makeClaim();
    await giveSandbox(claim, "p-1");
    await bind(claim, "p-1");
    const annotations = { "agents.x-k8s.io/assigned-at": new Date(Date.now() - 31 * 60_000).toISOString() };
    await send("PATCH", "sandboxes", "p-1", { metadata: { annotations } });
    startKeeper();
    await listed();
    expect(await passMarker(0)).toEqual([]);
  });
});

test("a claim that expires has two Events: when that is published, and when it is deleted", async () => {
  startKeeper();
  await listed();
  const lifecycle = { shutdownTime: "2026-01-01T00:00:00Z", shutdownPolicy: "DeleteForeground" };
  await makeClaim("c", { lifecycle });
  await publishOf("sandboxclaims", "c", { conditions: [condition("Ready", "False", "ClaimExpired")] });
  await until(() => read("sandboxclaims", "c"), (claim) => claim === undefined);
  await untilTold(2);
  expect((await passMarker(2)).sort()).toEqual([
    "Normal ClaimExpired SandboxClaim/c: Claim expired",
    "Normal ClaimExpired SandboxClaim/c: Deleting Claim (ShutdownPolicy=DeleteForeground)",
  ]);
});

test("a pool that cannot fill has a Warning, and a word when it can again, a restart in between or not", async () => {
  const message = "2/3 sandboxes are unschedulable past the 5m0s readiness grace period";
  const progress = (status: string, reason: string, words = "") =>
    publishOf("sandboxwarmpools", "p", { conditions: [condition("Progressing", status, reason, words)] });
  const stuck = `Warning WarmPoolNotProgressing SandboxWarmPool/p: ${message}`;
  const first = startKeeper();
  await listed();
  await makePool();
  await progress("True", "Filling");
  await progress("False", "Unschedulable", message);
  expect(await untilTold(1)).toEqual([stuck]);
  await first.kill("SIGKILL");
  startKeeper();
  await until(() => Promise.resolve(posts()), (count) => count >= 2);
  await progress("True", "Filling");
  await untilTold(2);
  expect(await passMarker(2)).toEqual([
    stuck,
    "Normal WarmPoolProgressing SandboxWarmPool/p: Warm pool is progressing again",
  ]);
});

test("a template whose policy is somebody else's has a Warning", async () => {
  startKeeper();
  await listed();
  await send("POST", "networkpolicies", undefined, {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "t-network-policy" },
    spec: { podSelector: {} },
  });
  await makeTemplate();
  expect(await untilTold(1)).toEqual([
    "Warning NetworkPolicyNotOwned SandboxTemplate/t: " +
    'refusing to update NetworkPolicy "t-network-policy" as it is not controlled by SandboxTemplate "t"',
  ]);
});
