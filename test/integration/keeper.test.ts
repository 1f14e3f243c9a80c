/** The keeper as a process, killed and started again, on a real API server: expiry, leader election, rights. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { pathOf } from "../../packages/kube/api.ts";
import {
  ACCOUNT,
  admin,
  begin,
  cluster,
  down,
  end,
  folder,
  listed,
  logs,
  makeSandbox,
  namespace,
  proxy,
  publish,
  read,
  READY,
  send,
  startKeeper,
  SYSTEM,
  up,
} from "./keeper-world.ts";
import { attempt, until } from "./kubectl.ts";

const EXPIRED: [string, string, string] = ["False", "SandboxExpired", "Sandbox has expired"];
const DUE = { shutdownPolicy: "Delete", shutdownTime: "2026-01-01T00:00:00Z" };
const untilGone = (name = "s") => until(() => read("sandboxes", name), (sandbox) => sandbox === undefined);
const isDeletion = (line: string) => line.startsWith("DELETE") && line.endsWith(`/${namespace}/sandboxes/s`);
const deletions = () => proxy.requests.filter(isDeletion).length;

beforeAll(up);
afterAll(down);
beforeEach(() => begin());
afterEach(end);

describe("expiry", () => {
  test("is not acted upon before it is published; published while no keeper runs, the next one deletes", async () => {
    await makeSandbox(READY, DUE);
    const first = startKeeper();
    await listed();
    // Another one, made later and published, shows when the keeper has had its time.
    await makeSandbox(EXPIRED, DUE, "t");
    await untilGone("t");
    expect(deletions()).toBe(0);
    await first.kill("SIGKILL");
    await publish(EXPIRED);
    startKeeper();
    await untilGone();
    expect(deletions()).toBe(1);
  });

  test("survives a kill between the published status and the arrival of the request", async () => {
    const first = startKeeper();
    await listed();
    const held = proxy.held();
    proxy.gate = (line) => isDeletion(line) ? "hold" : "pass";
    await makeSandbox(EXPIRED, DUE);
    await held;
    await first.kill("SIGKILL");
    expect(await read("sandboxes", "s")).toBeDefined();
    proxy.gate = () => "pass";
    startKeeper();
    await untilGone();
    expect(deletions()).toBe(2);
  });

  test("survives a kill between the request and its answer, and a finalizer's delay", async () => {
    const first = startKeeper();
    await listed();
    const held = proxy.held();
    proxy.gate = (line) => isDeletion(line) ? "mute" : "pass";
    await makeSandbox(READY, DUE);
    await send("PATCH", "sandboxes", "s", { metadata: { finalizers: ["example.com/hold"] } });
    await publish(EXPIRED);
    await held;
    await first.kill("SIGKILL");
    expect((await read("sandboxes", "s")).metadata.deletionTimestamp).toBeTypeOf("string");
    proxy.requests.length = 0;
    startKeeper();
    await listed();
    await send("PATCH", "sandboxes", "s", { metadata: { finalizers: null } });
    await untilGone();
    expect(deletions()).toBe(0);
  });

  test("goes on after every connection has broken", async () => {
    await makeSandbox(READY, DUE);
    startKeeper();
    await listed();
    proxy.cut();
    await publish(EXPIRED);
    await untilGone();
    expect(logs()).toContain("Watch interrupted");
  });

  test("Retain is left alone, and so is what has been extended since then", async () => {
    await makeSandbox(EXPIRED, { ...DUE, shutdownPolicy: "Retain" });
    startKeeper();
    await listed();
    const held = proxy.held();
    proxy.gate = (line) => isDeletion(line) ? "hold" : "pass";
    await send("PATCH", "sandboxes", "s", { spec: { shutdownPolicy: "Delete" } });
    expect(deletions(), "the hook has not seen it yet").toBe(0);
    const { metadata: { resourceVersion, uid } } = await publish(EXPIRED);
    await held;
    await send("PATCH", "sandboxes", "s", { spec: { shutdownTime: "2100-01-01T00:00:00Z" } });
    // What was held back now arrives, as late as it can.
    const late = await admin.send({
      method: "DELETE",
      path: pathOf({ resource: "sandboxes", namespace, name: "s" }),
      body: { preconditions: { uid, resourceVersion } },
    });
    expect(late.status).toBe(409);
    expect(await read("sandboxes", "s")).toBeDefined();
  });
});

describe("leader election", () => {
  const ELECTION = ["--lease-seconds", "3"];
  // A busy machine may lose Leases of three seconds: the same keeper leads once more then.
  const leaders =
    () => [...new Set([...logs().matchAll(/"Leading".*?"identity":"([^"]+)"/g)].map(([, identity]) => identity))];
  const untilLeaders = (count: number) => until(() => Promise.resolve(leaders()), (found) => found.length >= count);
  const lease = () => read("leases", "hookbox-keeper", SYSTEM);

  test("one leads, another takes over when it is killed, and a clean stop gives the Lease back at once", async () => {
    const first = startKeeper(...ELECTION);
    await untilLeaders(1);
    const [port = 0] = await freePorts(1);
    const second = startKeeper(...ELECTION, "--port", String(port));
    const answer = async (route: string) => await (await fetch(`http://127.0.0.1:${port}${route}`)).text();
    expect(await until(() => answer("/readyz").catch(String), (text) => text === "ok"), "a standby is ready").toBe(
      "ok",
    );
    expect(await answer("/metrics")).toContain("hookbox_keeper_leading 0");
    await makeSandbox(READY, DUE);
    await first.kill("SIGKILL");
    await publish(EXPIRED);
    const identities = await untilLeaders(2);
    expect(identities).toHaveLength(2);
    await untilGone();
    expect(await answer("/metrics")).toContain("hookbox_keeper_leading 1");
    expect(await answer("/metrics")).toContain('hookbox_keeper_actions_total{action="deleted"} 1');
    expect((await lease()).spec).toMatchObject({ holderIdentity: identities[1], leaseDurationSeconds: 3 });
    await second.stop();
    expect((await lease()).spec.holderIdentity).toBeUndefined();
    expect(logs()).toContain('"message":"Stopped"');
  });
});

test("the rights end where the needs end", async () => {
  writeFileSync(join(folder, namespace, "keeper.log"), "");
  const can = async (...args: string[]) => {
    const { stdout } = await attempt(cluster, ["auth", "can-i", ...args, `--as=${ACCOUNT}`]);
    return `${args.join(" ")}: ${stdout.trim()}`;
  };
  const allowed = [
    "delete sandboxes.agents.x-k8s.io",
    `get leases.coordination.k8s.io/hookbox-keeper -n ${SYSTEM}`,
    `list deployments.apps -n ${SYSTEM}`,
    // Whether a Pod needs the policy of a template that is gone.
    "list pods",
    // By dry runs, but for the deletion: the admission policy holds it to that.
    "create networkpolicies.networking.k8s.io",
    "update networkpolicies.networking.k8s.io",
    "delete networkpolicies.networking.k8s.io",
  ];
  const denied = [
    "list deployments.apps -n default",
    "delete pods",
    "update pods",
    "watch pods",
    "delete services",
    "deletecollection networkpolicies.networking.k8s.io",
    "update sandboxwarmpools.extensions.agents.x-k8s.io",
    "patch sandboxwarmpools.extensions.agents.x-k8s.io --subresource=status",
    "update sandboxtemplates.extensions.agents.x-k8s.io",
    "delete sandboxtemplates.extensions.agents.x-k8s.io",
    "patch sandboxclaims.extensions.agents.x-k8s.io",
    "update sandboxclaims.extensions.agents.x-k8s.io",
    "patch sandboxclaims.extensions.agents.x-k8s.io --subresource=status",
    "list namespaces",
    "update namespaces",
    "get secrets",
    "update sandboxes.agents.x-k8s.io",
    "patch sandboxes.agents.x-k8s.io --subresource=status",
    `get leases.coordination.k8s.io/another -n ${SYSTEM}`,
    `delete leases.coordination.k8s.io/hookbox-keeper -n ${SYSTEM}`,
    "get leases.coordination.k8s.io/hookbox-keeper -n default",
  ];
  const all = [...allowed, ...denied];
  const answers = await Promise.all(all.map((question) => can(...question.split(" "))));
  expect(answers).toEqual(all.map((question, index) => `${question}: ${index < allowed.length ? "yes" : "no"}`));
});
